// Stories of a cluster: who is asked, what is shared, and what happens when brokers move or go away.
#include "client/cluster.hpp"

#include "tests/support/fake_broker.hpp"

#include <boost/asio/co_spawn.hpp>

#include <catch2/catch.hpp>

#include <functional>
#include <list>
#include <string>
#include <vector>

using namespace mirrord;
using namespace mirrord::client;
using namespace std::chrono_literals;
using asio::awaitable;

namespace {

// A broker that answers ApiVersions and Metadata on any number of connections until the test ends.
class metadata_broker {
 public:
  explicit metadata_broker(asio::io_context& io) : broker(io) {}

  // To be played beside the test's own coroutine, which stops it.
  awaitable<void> run() {
    while (!stopped) {
      std::shared_ptr<fake::peer> p;
      try {
        p = co_await broker.accept();
      } catch (const boost::system::system_error&) {
        co_return;
      }
      peers.push_back(p);
      asio::co_spawn(co_await asio::this_coro::executor, serve(p), [](std::exception_ptr) {});
    }
  }

  void stop() {
    stopped = true;
    broker.shut();
    drop();
  }

  void drop() {
    for (const auto& p : peers) p->close();
    peers.clear();
  }

  // Says that this broker has the ids `nodes`, all at its own address.
  wire::metadata_response answer() const {
    wire::metadata_response r;
    r.cluster_id = cluster_id;
    r.controller_id = nodes.empty() ? -1 : nodes.front();
    for (const std::int32_t id : nodes) {
      wire::metadata_response_broker b;
      b.node_id = id;
      b.host = address.host.empty() ? broker.address().host : address.host;
      b.port = address.host.empty() ? broker.address().port : address.port;
      r.brokers.push_back(b);
    }
    r.topics = topics;
    return r;
  }

  void add_topic(const std::string& name, std::int32_t leader_id, std::int32_t epoch) {
    wire::metadata_response_topic t;
    t.name = name;
    t.topic_id.bytes[0] = 1;
    t.partitions.emplace_back();
    t.partitions.back().leader_id = leader_id;
    t.partitions.back().leader_epoch = epoch;
    topics.push_back(std::move(t));
  }

  fake::broker broker;
  std::string cluster_id = "one";
  std::vector<std::int32_t> nodes{1};
  endpoint address;  // advertised; empty: this broker's own
  std::vector<wire::metadata_response_topic> topics;
  std::vector<wire::metadata_request> asked;
  std::list<std::shared_ptr<fake::peer>> peers;
  std::chrono::milliseconds answer_after{0};
  std::int16_t error_code = 0;
  int connections = 0;
  int drop_next = 0;  // that many metadata requests end their connection instead of being answered
  bool stopped = false;

 private:
  awaitable<void> serve(std::shared_ptr<fake::peer> p) {
    ++connections;
    co_await fake::answer_api_versions(p, fake::usual_versions());
    for (;;) {
      const auto [header, request] = co_await p->read<wire::metadata_request>();
      asked.push_back(request);
      if (answer_after.count() > 0) co_await fake::pause(answer_after);
      if (drop_next > 0) {
        --drop_next;
        p->close();
        co_return;
      }
      auto r = answer();
      r.error_code = error_code;
      co_await p->answer(header, std::move(r));
    }
  }
};

double middle() { return 0.5; }

// One cluster client, brokers, and the story, which closes the client at its end.
struct scene {
  fake::stage stage;
  metadata_broker first{stage.io};
  metadata_broker second{stage.io};
  connection_settings settings = first.broker.settings();

  void play(std::function<awaitable<void>(cluster&)> story) {
    cluster c(stage.io.get_executor(), settings, middle);
    auto tell = [&]() -> awaitable<void> {
      std::exception_ptr failure;
      try {
        co_await story(c);
      } catch (...) {
        failure = std::current_exception();
      }
      co_await c.close();
      first.stop();
      second.stop();
      if (failure) std::rethrow_exception(failure);
    };
    std::vector<awaitable<void>> parts;
    parts.push_back(tell());
    parts.push_back(first.run());
    parts.push_back(second.run());
    stage.play(std::move(parts));
  }
};

const topic_partition orders_0{"orders", 0};

}  // namespace

TEST_CASE("a refresh begins at a bootstrap server and never creates topics", "[cluster]") {
  scene s;
  s.first.add_topic("orders", 1, 5);
  s.play([&](cluster& c) -> awaitable<void> {
    std::vector<std::string> topics{"orders"};
    const auto done = co_await c.refresh(std::move(topics));
    REQUIRE(done.has_value());
    CHECK(c.metadata().cluster_id() == "one");
    CHECK(c.metadata().find_leader(orders_0).value() == leader{broker_id{1}, 5});
    REQUIRE(s.first.asked.size() == 1);
    CHECK(s.first.asked[0].topics->at(0).name == "orders");
    CHECK_FALSE(s.first.asked[0].allow_auto_topic_creation);

    const auto all = co_await c.refresh_all();
    CHECK(all.has_value());
    CHECK_FALSE(s.first.asked[1].topics.has_value());
  });
}

TEST_CASE("after the first answer the advertised addresses count", "[cluster]") {
  scene s;
  s.first.address = s.second.broker.address();
  s.second.address = s.second.broker.address();
  s.play([&](cluster& c) -> awaitable<void> {
    const auto once = co_await c.refresh_all();
    CHECK(once.has_value());
    const auto again = co_await c.refresh_all();
    CHECK(again.has_value());
    CHECK(s.first.asked.size() == 1);
    CHECK(s.second.asked.size() == 1);
  });
}

TEST_CASE("refreshes that come at once share one question", "[cluster]") {
  scene s;
  s.first.answer_after = 10ms;
  s.play([&](cluster& c) -> awaitable<void> {
    int done = 0;
    auto ask = [&](std::string topic) -> awaitable<void> {
      std::vector<std::string> topics{topic};
      const auto answered = co_await c.refresh(std::move(topics));
      CHECK(answered.has_value());
      ++done;
    };
    const auto executor = co_await asio::this_coro::executor;
    for (int i = 0; i < 5; ++i) asio::co_spawn(executor, ask("t" + std::to_string(i)), [](std::exception_ptr) {});
    while (done < 5) co_await fake::pause(1ms);
    // The first left at once, for what came with it; the others left together when it was back.
    REQUIRE(s.first.asked.size() == 2);
    CHECK(s.first.asked[0].topics->size() == 1);
    CHECK(s.first.asked[1].topics->size() == 4);
  });
}

TEST_CASE("the leader is asked for once, and again when it has moved", "[cluster]") {
  scene s;
  s.first.add_topic("orders", 1, 5);
  s.play([&](cluster& c) -> awaitable<void> {
    const auto once = co_await c.leader_of(orders_0);
    CHECK(once.value() == leader{broker_id{1}, 5});
    const auto again = co_await c.leader_of(orders_0);
    CHECK(again.value() == leader{broker_id{1}, 5});
    CHECK(s.first.asked.size() == 1);

    s.first.topics.clear();
    s.first.add_topic("orders", 2, 6);
    c.leader_moved(orders_0, 5);
    const auto later = co_await c.leader_of(orders_0);
    CHECK(later.value() == leader{broker_id{2}, 6});
    CHECK(s.first.asked.size() == 2);

    const topic_partition missing{"missing", 0};
    const auto nobody = co_await c.leader_of(missing);
    CHECK(nobody.error().code == errc::not_found);
  });
}

TEST_CASE("lanes are connections of their own, shared by all who ask for one", "[cluster]") {
  scene s;
  s.play([&](cluster& c) -> awaitable<void> {
    const broker_id one{1};
    const auto refreshed = co_await c.refresh_all();
    CHECK(refreshed.has_value());
    std::vector<std::shared_ptr<connection>> got;
    auto ask = [&](std::int32_t lane) -> awaitable<void> {
      const auto opened = co_await c.connection_to(one, lane);
      REQUIRE(opened.has_value());
      got.push_back(*opened);
    };
    const auto executor = co_await asio::this_coro::executor;
    for (int i = 0; i < 3; ++i) asio::co_spawn(executor, ask(0), [](std::exception_ptr) {});
    while (got.size() < 3) co_await fake::pause(1ms);
    CHECK(got[0] == got[1]);
    CHECK(got[0] == got[2]);
    co_await ask(1);
    CHECK(got[3] != got[0]);
    co_await ask(0);
    CHECK(got[4] == got[0]);
    CHECK(s.first.connections == 3);  // bootstrap and two lanes
    CHECK(c.totals().opened == 3);
  });
}

TEST_CASE("a broker that nobody lists is unreachable", "[cluster]") {
  scene s;
  s.play([&](cluster& c) -> awaitable<void> {
    const auto nobody = co_await c.connection_to(broker_id{9}, 0);
    REQUIRE(nobody.has_error());
    CHECK(nobody.error().code == errc::unreachable);
    CHECK(s.first.asked.size() == 1);
  });
}

TEST_CASE("a lost connection is opened again, not faster than the back-off", "[cluster]") {
  scene s;
  s.settings.reconnect_backoff = 40ms;
  s.play([&](cluster& c) -> awaitable<void> {
    const auto before = co_await c.connection_to(broker_id{1}, 0);
    REQUIRE(before.has_value());
    const auto opened_at = std::chrono::steady_clock::now();
    s.first.drop();
    const bool ended = co_await (*before)->closed();
    CHECK(ended);
    const auto after = co_await c.connection_to(broker_id{1}, 0);
    REQUIRE(after.has_value());
    CHECK(*after != *before);
    CHECK(std::chrono::steady_clock::now() - opened_at >= 35ms);
  });
}

TEST_CASE("while a broker is away each attempt fails, later and later, and in between whoever asks is told at once", "[cluster]") {
  scene s;
  s.settings.reconnect_backoff = 10ms;
  s.settings.reconnect_backoff_max = 40ms;
  s.play([&](cluster& c) -> awaitable<void> {
    const auto once = co_await c.refresh_all();
    CHECK(once.has_value());
    s.first.stop();
    const auto begun = std::chrono::steady_clock::now();
    int told = 0;
    while (c.totals().failed < 5) {
      const auto nobody = co_await c.connection_to(broker_id{1}, 0);
      REQUIRE(nobody.has_error());
      CHECK(nobody.error().code == errc::unreachable);
      ++told;
      const bool slept = co_await sleep_for(1ms);
      CHECK(slept);
    }
    CHECK(told > 5);
    CHECK(std::chrono::steady_clock::now() - begun >= 110ms);  // 10 + 20 + 40 + 40 between five attempts
    CHECK(c.totals().failed == 5);
  });
}

TEST_CASE("when the brokers are gone the bootstrap servers are asked again", "[cluster]") {
  scene s;
  s.first.address = s.second.broker.address();
  s.play([&](cluster& c) -> awaitable<void> {
    const auto once = co_await c.refresh_all();
    CHECK(once.has_value());
    s.second.stop();
    s.first.nodes = {4};
    s.first.address = {};
    const auto again = co_await c.refresh_all();
    CHECK(again.has_value());
    CHECK(c.metadata().brokers().contains(broker_id{4}));
    const auto later = co_await c.connection_to(broker_id{4}, 0);
    CHECK(later.has_value());
  });
}

TEST_CASE("a broker that comes back elsewhere is followed without its old back-off", "[cluster]") {
  scene s;
  s.settings.reconnect_backoff = 60s;
  s.settings.reconnect_backoff_max = 60s;
  s.first.address = {"127.0.0.1", 1};
  s.play([&](cluster& c) -> awaitable<void> {
    const auto once = co_await c.connection_to(broker_id{1}, 0);
    CHECK(once.has_error());
    s.first.address = s.second.broker.address();
    s.second.address = s.second.broker.address();
    // The bootstrap connection was let go of; a broker in back-off must not stand in its way.
    const auto refreshed = co_await c.refresh_all();
    CHECK(refreshed.has_value());
    const auto found = co_await c.connection_to(broker_id{1}, 0);
    CHECK(found.has_value());
  });
}

TEST_CASE("a metadata question survives a lost connection", "[cluster]") {
  scene s;
  s.first.drop_next = 2;
  s.play([&](cluster& c) -> awaitable<void> {
    const auto once = co_await c.refresh_all();
    CHECK(once.has_value());
    CHECK(s.first.asked.size() == 3);
    s.first.drop_next = 3;
    const auto lost = co_await c.refresh_all();
    REQUIRE(lost.has_error());
    CHECK(lost.error().code == errc::connection_lost);
  });
}

TEST_CASE("a broker that hangs costs a metadata question three seconds where there is another one", "[cluster]") {
  scene s;
  s.first.nodes = {1, 2};
  s.play([&](cluster& c) -> awaitable<void> {
    const auto once = co_await c.connection_to(broker_id{1}, control_lane);
    REQUIRE(once.has_value());
    const auto begun = std::chrono::steady_clock::now();
    const auto asked = s.first.asked.size();
    s.first.answer_after = 8s;
    auto refresh = c.refresh_all();
    task_group waiting(s.stage.io.get_executor());
    waiting.spawn([](awaitable<result<void>> question) -> awaitable<void> {
      const auto refreshed = co_await std::move(question);
      CHECK(refreshed.has_value());
    }(std::move(refresh)));
    while (s.first.asked.size() == asked) {
      const bool slept = co_await sleep_for(1ms);
      CHECK(slept);
    }
    s.first.answer_after = 0ms;
    const bool ended = co_await waiting.join();
    CHECK(ended);
    const auto took = std::chrono::steady_clock::now() - begun;
    CHECK(took >= 3s);
    CHECK(took < 7s);
    CHECK(s.first.asked.size() == asked + 2);
  });
}

TEST_CASE("a broker that owes answers is not asked for metadata while there is another", "[cluster]") {
  scene s;
  s.first.nodes = {1, 2};
  s.play([&](cluster& c) -> awaitable<void> {
    for (const std::int32_t hanging : {1, 2}) {
      const auto other = co_await c.connection_to(broker_id{3 - hanging}, control_lane);
      REQUIRE(other.has_value());
      const auto connection = co_await c.connection_to(broker_id{hanging}, control_lane);
      REQUIRE(connection.has_value());
      const auto asked = s.first.asked.size();
      s.first.answer_after = 2s;
      auto owed = (*connection)->start_call(wire::metadata_request{}, 10s);
      while (s.first.asked.size() == asked) {
        const bool slept = co_await sleep_for(1ms);
        CHECK(slept);
      }
      s.first.answer_after = 0ms;
      const auto refreshed = co_await c.refresh_all();
      CHECK(refreshed.has_value());
      CHECK_FALSE(owed.done());
      (*connection)->close();
    }
  });
}

TEST_CASE("another cluster behind the address is refused", "[cluster]") {
  scene s;
  s.play([&](cluster& c) -> awaitable<void> {
    const auto once = co_await c.refresh_all();
    CHECK(once.has_value());
    s.first.cluster_id = "two";
    const auto refused = co_await c.refresh_all();
    REQUIRE(refused.has_error());
    CHECK(refused.error().code == errc::invalid);
    CHECK(c.metadata().cluster_id() == "one");
  });
}

TEST_CASE("a cluster can ask us to begin at the bootstrap servers again", "[cluster]") {
  scene s;
  s.play([&](cluster& c) -> awaitable<void> {
    const auto once = co_await c.refresh_all();
    CHECK(once.has_value());
    s.first.error_code = 129;
    const auto told = co_await c.refresh_all();
    CHECK(told.error().broker_code == 129);
    CHECK(c.metadata().brokers().empty());
    s.first.error_code = 0;
    const auto again = co_await c.refresh_all();
    CHECK(again.has_value());
    CHECK(c.metadata().brokers().size() == 1);
  });
}

TEST_CASE("bootstrap servers that are none are named", "[cluster]") {
  scene s;
  s.settings.bootstrap_servers = {"kafka"};
  s.play([&](cluster& c) -> awaitable<void> {
    const auto bad = co_await c.refresh_all();
    CHECK(bad.error().code == errc::invalid);
    CHECK(bad.error().message().find("bootstrap.servers") != std::string::npos);
  });
}

TEST_CASE("close ends what is under way, and everything afterwards is cancelled", "[cluster]") {
  scene s;
  s.first.answer_after = 5s;
  s.play([&](cluster& c) -> awaitable<void> {
    std::vector<errc> ended;
    auto refresh = [&]() -> awaitable<void> {
      const auto r = co_await c.refresh_all();
      ended.push_back(r.error().code);
    };
    auto connect = [&]() -> awaitable<void> {
      const auto r = co_await c.connection_to(broker_id{1}, 0);
      ended.push_back(r.error().code);
    };
    const auto executor = co_await asio::this_coro::executor;
    asio::co_spawn(executor, refresh(), [](std::exception_ptr) {});
    asio::co_spawn(executor, connect(), [](std::exception_ptr) {});
    co_await fake::pause(20ms);
    co_await c.close();
    co_await fake::pause(1ms);
    REQUIRE(ended.size() == 2);
    CHECK(ended[0] == errc::cancelled);
    CHECK(ended[1] == errc::cancelled);

    co_await refresh();
    co_await connect();
    const auto any = co_await c.any_connection();
    CHECK(any.error().code == errc::cancelled);
    const auto nobody = co_await c.leader_of(orders_0);
    CHECK(nobody.error().code == errc::cancelled);
    CHECK(ended[2] == errc::cancelled);
    CHECK(ended[3] == errc::cancelled);
    co_await c.close();
  });
}

TEST_CASE("close does not wait for a back-off or for a connect that nobody answers", "[cluster]") {
  scene s;
  s.settings.reconnect_backoff = 60s;
  s.settings.reconnect_backoff_max = 60s;
  s.first.address = {"127.0.0.1", 1};
  s.play([&](cluster& c) -> awaitable<void> {
    const auto once = co_await c.connection_to(broker_id{1}, 0);
    CHECK(once.has_error());
    bool ended = false;
    auto connect = [&]() -> awaitable<void> {
      const auto r = co_await c.connection_to(broker_id{1}, 0);
      ended = r.has_error();
    };
    asio::co_spawn(co_await asio::this_coro::executor, connect(), [](std::exception_ptr) {});
    co_await fake::pause(5ms);
    co_await c.close();
    co_await fake::pause(1ms);
    CHECK(ended);
  });
}
