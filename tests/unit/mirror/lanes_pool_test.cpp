// Stories of the producer pool: ids come from a broker of the fake cluster, claims go to a state store on librdkafka's
// own mock cluster, which keeps the state topic in memory.
#include "lanes_stage.hpp"

#include "mirror/kafka_producer_pool.hpp"
#include "wire/transactions.hpp"

#include <librdkafka/rdkafka.h>
#include <librdkafka/rdkafka_mock.h>

using namespace mirrord;
using namespace mirrord::mirror;
using namespace mirrord::mirror::lanes;

namespace {

constexpr const char* state_topic = "__mirror_state";
constexpr std::int32_t state_partitions = 2;

class mock_cluster {
 public:
  mock_cluster() {
    char text[512] = {};
    rd_kafka_conf_t* conf = rd_kafka_conf_new();
    rd_kafka_conf_set_log_cb(conf, nullptr);
    client_.reset(rd_kafka_new(RD_KAFKA_PRODUCER, conf, text, sizeof text));
    if (!client_) throw std::runtime_error(text);
    cluster_.reset(rd_kafka_mock_cluster_new(client_.get(), 1));
    if (!cluster_ || rd_kafka_mock_topic_create(cluster_.get(), state_topic, state_partitions, 1) != RD_KAFKA_RESP_ERR_NO_ERROR) {
      throw std::runtime_error("no mock cluster");
    }
  }

  [[nodiscard]] connection_settings settings() const {
    connection_settings s;
    s.bootstrap_servers = {rd_kafka_mock_cluster_bootstraps(cluster_.get())};
    return s;
  }

 private:
  struct client_deleter {
    void operator()(rd_kafka_t* c) const noexcept { rd_kafka_destroy(c); }
  };
  struct cluster_deleter {
    void operator()(rd_kafka_mock_cluster_t* c) const noexcept { rd_kafka_mock_cluster_destroy(c); }
  };
  std::unique_ptr<rd_kafka_t, client_deleter> client_;
  std::unique_ptr<rd_kafka_mock_cluster_t, cluster_deleter> cluster_;
};

struct pool_scene {
  lane_scene scene;
  mock_cluster mock;
  patient_clock clock;

  // The store with what other instances have written before.
  awaitable<std::shared_ptr<state_store>> open_store(std::string instance) {
    state_store_options options;
    options.topic = state_topic;
    options.partitions = state_partitions;
    options.instance = std::move(instance);
    auto opened = state_store::open(scene.executor(), mock.settings(), std::move(options));
    REQUIRE(opened.has_value());
    std::shared_ptr<state_store> store = std::move(*opened);
    scene.at_end.push_back([store] { return store->close(); });
    const auto loaded = co_await store->load();
    REQUIRE(loaded.has_value());
    co_return store;
  }

  [[nodiscard]] std::unique_ptr<kafka_producer_pool> pool(client::cluster& c, state_store& store) {
    return std::make_unique<kafka_producer_pool>(scene.executor(), c, store, clock, "m", 5000ms);
  }

  awaitable<void> hand_out(std::int64_t pid, std::int16_t code = 0) {
    auto request = co_await scene.broker.next<wire::init_producer_id_request>();
    CHECK_FALSE(request.body.transactional_id.has_value());
    CHECK(request.body.producer_id == -1);
    wire::init_producer_id_response response;
    response.error_code = code;
    response.producer_id = code == 0 ? pid : -1;
    co_await request.answer(std::move(response));
  }
};

}  // namespace

TEST_CASE("partitions that need the same new slot share one producer id, claimed before anybody gets it", "[lanes][pool]") {
  pool_scene p;
  p.scene.play([&](client::cluster& c) -> awaitable<void> {
    const auto store = co_await p.open_store("one");
    const auto pool = p.pool(c, *store);
    client::task_group tasks(p.scene.executor());
    const auto a = begin(tasks, p.scene.executor(), pool->at(3));
    const auto b = begin(tasks, p.scene.executor(), pool->at(3));
    const auto other = begin(tasks, p.scene.executor(), pool->at(4));
    co_await p.hand_out(1000);
    co_await p.hand_out(1001);
    const auto got_a = co_await arrived(a);
    CHECK(store->view().producer_ids("m").at(3) == destination_pid{1000});
    const auto got_b = co_await arrived(b);
    const auto got_other = co_await arrived(other);
    CHECK(got_a.value() == destination_pid{1000});
    CHECK(got_b.value() == destination_pid{1000});
    CHECK(got_other.value() == destination_pid{1001});
    CHECK(pool->index_of(destination_pid{1000}) == slot_index{3});
    CHECK(pool->index_of(destination_pid{1001}) == slot_index{4});
    CHECK_FALSE(pool->index_of(destination_pid{999}).has_value());
    const auto again = co_await pool->at(3);
    CHECK(again.value() == destination_pid{1000});
    CHECK(p.scene.broker.nothing_came());
  });
}

TEST_CASE("a new pool knows what the state topic holds, and a claim that came first wins", "[lanes][pool]") {
  pool_scene p;
  p.scene.play([&](client::cluster& c) -> awaitable<void> {
    const auto one = co_await p.open_store("one");
    const auto claimed = co_await one->claim_producer_id("m", 0, destination_pid{500});
    REQUIRE(claimed.has_value());
    const auto two = co_await p.open_store("two");
    const auto pool = p.pool(c, *two);
    const auto known = co_await pool->at(0);
    CHECK(known.value() == destination_pid{500});
    CHECK(pool->index_of(destination_pid{500}) == slot_index{0});

    // The other daemon claims index 1 while this one has only asked the broker for an id.
    client::task_group tasks(p.scene.executor());
    const auto late = begin(tasks, p.scene.executor(), pool->at(1));
    const auto first = co_await one->claim_producer_id("m", 1, destination_pid{501});
    REQUIRE(first.has_value());
    co_await p.hand_out(777);
    const auto held = co_await arrived(late);
    CHECK(held.value() == destination_pid{501});
    CHECK(pool->index_of(destination_pid{501}) == slot_index{1});
    CHECK_FALSE(pool->index_of(destination_pid{777}).has_value());
  });
}

TEST_CASE("a coordinator that is loading is asked again, for as long as a request may take", "[lanes][pool]") {
  pool_scene p;
  p.scene.play([&](client::cluster& c) -> awaitable<void> {
    const auto store = co_await p.open_store("one");
    const auto pool = p.pool(c, *store);
    client::task_group tasks(p.scene.executor());
    const auto a = begin(tasks, p.scene.executor(), pool->at(1));
    for (const std::int16_t code : {14, 15, 16, 51}) co_await p.hand_out(0, code);
    co_await p.hand_out(42);
    const auto got = co_await arrived(a);
    CHECK(got.value() == destination_pid{42});
    CHECK(p.clock.sleeps == 4);

    const auto b = begin(tasks, p.scene.executor(), pool->at(2));
    for (int i = 0; i < 26; ++i) co_await p.hand_out(0, 14);
    const auto given_up = co_await arrived(b);
    CHECK(given_up.error().broker_code == 14);
    CHECK(p.clock.sleeps == 4 + 25);
  });
}

TEST_CASE("an error of one allocation is nobody else's, and the next one tries anew", "[lanes][pool]") {
  pool_scene p;
  p.scene.play([&](client::cluster& c) -> awaitable<void> {
    const auto store = co_await p.open_store("one");
    const auto pool = p.pool(c, *store);
    client::task_group tasks(p.scene.executor());
    const auto a = begin(tasks, p.scene.executor(), pool->at(1));
    const auto b = begin(tasks, p.scene.executor(), pool->at(1));
    co_await p.hand_out(0, 31);
    const auto refused = co_await arrived(a);
    CHECK(code_of_failure(refused) == errc::broker);
    CHECK(refused.error().broker_code == 31);
    CHECK_FALSE(b->ready());
    co_await p.hand_out(42);
    const auto got = co_await arrived(b);
    CHECK(got.value() == destination_pid{42});
    CHECK(store->view().producer_ids("m").size() == 1);
  });
}

TEST_CASE("the mirror's producer epoch only rises", "[lanes][pool]") {
  pool_scene p;
  p.scene.play([&](client::cluster& c) -> awaitable<void> {
    const auto store = co_await p.open_store("one");
    const auto pool = p.pool(c, *store);
    CHECK(pool->epoch() == 0);
    for (const std::int16_t seen : {-1, 4, 4, 2}) {
      auto raised = co_await pool->raise_above(seen);
      CHECK(raised.has_value());
      CHECK(pool->epoch() == (seen == -1 ? 0 : 5));
    }
    CHECK(pool->inherited_epoch() == 0);
    const auto successor = p.pool(c, *store);
    CHECK(successor->inherited_epoch() == 5);
    CHECK(successor->epoch() == 5);
  });
}
