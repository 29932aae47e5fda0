// The state store when the broker, the topic or the permissions fail: see destination_cluster.hpp for what it needs.
#include "base/broker_error.hpp"
#include "tests/support/destination_cluster.hpp"

using namespace mirrord;
using namespace mirrord::test;

TEST_CASE("a state topic that was made anew is a failure and no empty state", "[integration][state_store]") {
  if (!available()) return;
  run([](asio::any_io_executor executor) -> asio::awaitable<void> {
    const std::string topic = fresh_topic();
    co_await create_compacted(executor, topic);
    const auto store = open_store(executor, topic, "one");
    require_ok(co_await store->load());
    co_await write_many(executor, *store, 20, 20, 0);
    std::vector<error> reported;
    store->on_failure([&](const error& e) { reported.push_back(e); });

    delete_topic(topic);
    co_await create_compacted(executor, topic);
    for (int i = 0; i < 1000 && !store->failed(); ++i) REQUIRE(co_await client::sleep_for(milliseconds(10)));
    REQUIRE(store->failed().has_value());
    INFO(store->failed()->message());
    CHECK(reported.size() == 1);
    CHECK(store->view().size() == 20);
    const auto refused = co_await store->write(numbered_key(1), fill_plan_value{1});
    REQUIRE(refused.has_error());
    co_await store->close();
  });
}

TEST_CASE("without a broker the state store gives up in time and says why", "[integration][state_store]") {
  run([](asio::any_io_executor executor) -> asio::awaitable<void> {
    state_store_options options;
    options.topic = state_topic_name;
    options.partitions = partitions;
    options.instance = "one";
    options.load_stall_timeout = milliseconds(1500);
    const auto store = state_store::open(executor, nobody(), std::move(options)).value();
    const auto began = std::chrono::steady_clock::now();
    const auto loaded = co_await store->load();
    REQUIRE(loaded.has_error());
    INFO(loaded.error().message());
    CHECK((loaded.error().code == errc::unreachable || loaded.error().code == errc::timed_out));
    CHECK_THAT(loaded.error().context, Catch::Contains("refused"));
    CHECK(std::chrono::steady_clock::now() - began < seconds(20));
    const auto closing = std::chrono::steady_clock::now();
    co_await store->close();
    CHECK(std::chrono::steady_clock::now() - closing < seconds(4));
  });
}

TEST_CASE("a missing state topic and refused credentials are told apart", "[integration][state_store]") {
  if (!available()) return;
  run([](asio::any_io_executor executor) -> asio::awaitable<void> {
    connection_settings connection = destination();
    if (uses_sasl(connection.security_protocol)) {
      connection.sasl_password = "not the password";
      const auto admin = client::admin::open(executor, connection, "destination").value();
      const auto answer = co_await admin->describe_topic_configs("orders", in(seconds(3)));
      REQUIRE(answer.has_error());
      INFO(answer.error().message());
      CHECK(answer.error().code == errc::authentication_failed);
      CHECK_THAT(answer.error().message(), !Catch::Contains("not the password"));
      co_await admin->close();
    }
    state_store_options options;
    options.topic = fresh_topic();
    options.partitions = partitions;
    options.instance = "one";
    options.load_stall_timeout = seconds(3);
    const auto store = state_store::open(executor, destination(), std::move(options)).value();
    const auto loaded = co_await store->load();
    REQUIRE(loaded.has_error());
    INFO(loaded.error().message());
    CHECK((loaded.error().code == errc::not_found || loaded.error().code == errc::broker || loaded.error().code == errc::timed_out));
    co_await store->close();
  });
}

TEST_CASE("a lost broker ends state writes in time and its return lets them go on", "[integration][state_store]") {
  const std::string kill = environment("MIRRORD_TEST_DESTINATION_KILL");
  const std::string restart = environment("MIRRORD_TEST_DESTINATION_RESTART");
  if (!available() || kill.empty() || restart.empty()) return;
  run([&](asio::any_io_executor executor) -> asio::awaitable<void> {
    const std::string topic = fresh_topic();
    co_await create_compacted(executor, topic);
    state_store_options options;
    options.topic = topic;
    options.partitions = partitions;
    options.instance = "one";
    options.write_timeout = seconds(3);
    const auto store = state_store::open(executor, destination(), std::move(options)).value();
    const auto witness = open_store(executor, topic, "two");
    require_ok(co_await store->load());
    require_ok(co_await witness->load());
    require_ok(co_await store->write(numbered_key(1), fill_plan_value{1}));

    REQUIRE(std::system(kill.c_str()) == 0);
    for (int n = 2; n < 5; ++n) {
      const auto began = std::chrono::steady_clock::now();
      const auto lost = co_await store->write(numbered_key(n), fill_plan_value{n});
      REQUIRE(lost.has_error());
      INFO(lost.error().message());
      CHECK((lost.error().code == errc::timed_out || lost.error().code == errc::unreachable || lost.error().code == errc::connection_lost));
      CHECK(std::chrono::steady_clock::now() - began < seconds(5));
    }
    REQUIRE(std::system(restart.c_str()) == 0);

    result<void> written = fail(errc::timed_out, "not tried");
    for (int attempt = 0; attempt < 10 && !written; ++attempt) written = co_await store->write(numbered_key(1), fill_plan_value{100});
    require_ok(written);
    CHECK_FALSE(store->failed().has_value());
    for (int i = 0; i < 1000 && witness->view().find(numbered_key(1)) != fill_plan_value{100}; ++i) REQUIRE(co_await client::sleep_for(milliseconds(10)));
    CHECK(witness->view().find(numbered_key(1)) == fill_plan_value{100});
    co_await store->close();
    co_await witness->close();
  });
}

TEST_CASE("a state store that is dropped without close ends too", "[integration][state_store]") {
  if (!available()) return;
  run([](asio::any_io_executor executor) -> asio::awaitable<void> {
    const std::string topic = fresh_topic();
    co_await create_compacted(executor, topic);
    const auto began = std::chrono::steady_clock::now();
    {
      const auto idle = open_store(executor, topic, "one");
    }
    {
      const auto store = open_store(executor, topic, "two");
      require_ok(co_await store->load());
      require_ok(co_await store->write(numbered_key(1), fill_plan_value{1}));
    }
    CHECK(std::chrono::steady_clock::now() - began < seconds(10));
  });
}

TEST_CASE("who may not use the state topic is told so at once", "[integration][state_store]") {
  const std::string stranger = environment("MIRRORD_TEST_DESTINATION_STRANGER");
  if (!available() || stranger.empty()) return;
  run([&](asio::any_io_executor executor) -> asio::awaitable<void> {
    const std::string topic = fresh_topic();
    co_await create_compacted(executor, topic);
    connection_settings connection = destination();
    connection.sasl_username = stranger.substr(0, stranger.find(':'));
    connection.sasl_password = stranger.substr(stranger.find(':') + 1);
    state_store_options options;
    options.topic = topic;
    options.partitions = partitions;
    options.instance = "stranger";
    const auto store = state_store::open(executor, connection, std::move(options)).value();
    const auto began = std::chrono::steady_clock::now();
    const auto loaded = co_await store->load();
    REQUIRE(loaded.has_error());
    INFO(loaded.error().message());
    CHECK(loaded.error().code == errc::broker);
    CHECK((is(loaded.error().broker_code, kafka_error::topic_authorization_failed) ||
           is(loaded.error().broker_code, kafka_error::cluster_authorization_failed)));  // the writer may be first
    CHECK(std::chrono::steady_clock::now() - began < seconds(10));
    co_await store->close();
  });
}
