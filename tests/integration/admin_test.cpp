// The admin client and the making of the state topic on a real broker: see destination_cluster.hpp for what it needs.
#include "base/broker_error.hpp"
#include "tests/support/destination_cluster.hpp"

using namespace mirrord;
using namespace mirrord::test;

TEST_CASE("the admin client creates, grows and describes topics", "[integration][admin]") {
  if (!available()) return;
  run([](asio::any_io_executor executor) -> asio::awaitable<void> {
    const auto admin = open_admin(executor);
    client::topic_creation creation;
    creation.name = fresh_topic();
    creation.partitions = 2;
    creation.config = {{"retention.ms", "123456"}};
    require_ok(co_await admin->create_topic(creation, in(seconds(20))));

    const auto again = co_await admin->create_topic(creation, in(seconds(20)));
    REQUIRE(again.has_error());
    CHECK(again.error().code == errc::broker);
    CHECK(is(again.error().broker_code, kafka_error::topic_already_exists));
    CHECK_THAT(again.error().broker_text, Catch::Contains(creation.name));

    require_ok(co_await admin->create_partitions(creation.name, 3, in(seconds(20))));
    const auto shrunk = co_await admin->create_partitions(creation.name, 1, in(seconds(20)));
    REQUIRE(shrunk.has_error());
    CHECK(is(shrunk.error().broker_code, kafka_error::invalid_partitions));

    const auto configs = co_await admin->describe_topic_configs(creation.name, in(seconds(20)));
    REQUIRE(configs.has_value());
    const client::config_entry* retention = client::find(*configs, "retention.ms");
    REQUIRE(retention != nullptr);
    CHECK(retention->value == "123456");
    CHECK(retention->source == client::config_source::dynamic_topic);
    const client::config_entry* policy = client::find(*configs, "cleanup.policy");
    REQUIRE(policy != nullptr);
    CHECK(policy->value == "delete");
    CHECK(policy->source == client::config_source::built_in_default);
    CHECK(client::find(*configs, "no.such.config") == nullptr);

    const auto broker = co_await admin->describe_broker_configs(broker_id{1}, in(seconds(20)));
    REQUIRE(broker.has_value());
    REQUIRE(client::find(*broker, "broker.id") != nullptr);
    CHECK(client::find(*broker, "auto.create.topics.enable")->value == "false");
    CHECK(client::find(*broker, "auto.create.topics.enable")->source == client::config_source::static_broker);

    client::topic_creation refused;
    refused.name = fresh_topic();
    refused.config = {{"cleanup.policy", "nonsense"}};
    const auto invalid = co_await admin->create_topic(std::move(refused), in(seconds(20)));
    REQUIRE(invalid.has_error());
    CHECK(is(invalid.error().broker_code, kafka_error::invalid_config));

    const auto missing = co_await admin->describe_topic_configs(fresh_topic(), in(seconds(20)));
    REQUIRE(missing.has_error());
    CHECK(is(missing.error().broker_code, kafka_error::unknown_topic_or_partition));

    const auto late = co_await admin->describe_topic_configs(creation.name, in(milliseconds(0)));
    CHECK(late.error().code == errc::timed_out);
    co_await admin->close();
    const auto closed = co_await admin->describe_topic_configs(creation.name, in(seconds(1)));
    CHECK(closed.error().code == errc::cancelled);
  });
}

TEST_CASE("without a broker admin calls end in time and say why", "[integration][admin]") {
  connection_settings direct = nobody();
  connection_settings tunnelled = nobody();
  tunnelled.security_protocol = security_protocol::sasl_plaintext;
  tunnelled.sasl_mechanism = sasl_mechanism::scram_sha_256;
  tunnelled.sasl_username = "mirror";
  tunnelled.sasl_password = "mirror-secret";
  const auto test = [](asio::any_io_executor executor, connection_settings connection) -> asio::awaitable<void> {
    const auto admin = client::admin::open(executor, connection, "destination").value();
    const auto began = std::chrono::steady_clock::now();
    const auto answer = co_await admin->describe_topic_configs("orders", in(milliseconds(1500)));
    const auto took = std::chrono::steady_clock::now() - began;
    REQUIRE(answer.has_error());
    INFO(answer.error().message());
    CHECK((answer.error().code == errc::unreachable || answer.error().code == errc::timed_out));
    CHECK_THAT(answer.error().context, Catch::Contains("refused"));
    CHECK(took >= milliseconds(1000));
    CHECK(took < seconds(4));
    const auto closing = std::chrono::steady_clock::now();
    co_await admin->close();
    CHECK(std::chrono::steady_clock::now() - closing < seconds(3));
  };
  run(test, direct);
  run(test, tunnelled);
}

TEST_CASE("closing the admin client ends its calls", "[integration][admin]") {
  run([](asio::any_io_executor executor) -> asio::awaitable<void> {
    const auto admin = client::admin::open(executor, nobody(), "destination").value();
    const auto answer = std::make_shared<std::optional<errc>>();
    const auto ask = [](client::admin& a, std::shared_ptr<std::optional<errc>> out) -> asio::awaitable<void> {
      const auto configs = co_await a.describe_topic_configs("orders", in(seconds(60)));
      *out = configs.error().code;
    };
    asio::co_spawn(executor, ask(*admin, answer), [](std::exception_ptr e) { CHECK_FALSE(e); });
    REQUIRE(co_await client::sleep_for(milliseconds(50)));
    co_await admin->close();
    REQUIRE(co_await client::sleep_for(milliseconds(1)));
    CHECK(*answer == errc::cancelled);
  });
}

TEST_CASE("the state topic is created once and checked afterwards", "[integration][state_store]") {
  if (!available()) return;
  run([](asio::any_io_executor executor) -> asio::awaitable<void> {
    const auto admin = open_admin(executor);
    const std::string topic = fresh_topic();
    const state_topic_settings wanted{.partitions = 7, .replication_factor = -1};
    const auto made = co_await ensure_state_topic(*admin, shape_of, topic, wanted, in(seconds(20)));
    INFO((made ? std::string() : made.error().message()));
    REQUIRE(made.has_value());
    CHECK(*made == 7);
    const auto again = co_await ensure_state_topic(*admin, shape_of, topic, wanted, in(seconds(20)));
    REQUIRE(again.has_value());
    const auto other_count = co_await ensure_state_topic(*admin, shape_of, topic, state_topic_settings{.partitions = 50, .replication_factor = -1}, in(seconds(20)));
    REQUIRE(other_count.has_error());
    CHECK(other_count.error().code == errc::invalid);

    client::topic_creation deleting;
    deleting.name = fresh_topic();
    deleting.partitions = 7;
    require_ok(co_await admin->create_topic(deleting, in(seconds(20))));
    const auto wrong = co_await ensure_state_topic(*admin, shape_of, deleting.name, wanted, in(seconds(20)));
    REQUIRE(wrong.has_error());
    CHECK(wrong.error().code == errc::invalid);
    CHECK_THAT(wrong.error().context, Catch::Contains("cleanup.policy=delete"));
    co_await admin->close();
  });
}
