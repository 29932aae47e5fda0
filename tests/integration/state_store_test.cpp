// The state store on a real broker: see destination_cluster.hpp for what it needs.
#include "tests/support/destination_cluster.hpp"

using namespace mirrord;
using namespace mirrord::test;

TEST_CASE("a thousand state records are there again after a reload", "[integration][state_store]") {
  if (!available()) return;
  run([](asio::any_io_executor executor) -> asio::awaitable<void> {
    const std::string topic = fresh_topic();
    co_await create_compacted(executor, topic);
    {
      const auto store = open_store(executor, topic, "one");
      require_ok(co_await store->load());
      CHECK(store->view().size() == 0);
      co_await write_many(executor, *store, 1000, 1000, 5000);
      CHECK(store->view().size() == 1000);
      for (int n = 0; n < 10; ++n) require_ok(co_await store->erase(numbered_key(n)));
      CHECK(store->view().size() == 990);
      co_await store->close();
    }
    const auto store = open_store(executor, topic, "two");
    require_ok(co_await store->load());
    CHECK(store->view().size() == 990);
    CHECK_FALSE(store->view().find(numbered_key(9)).has_value());
    for (int n = 10; n < 1000; ++n) REQUIRE(store->view().find(numbered_key(n)) == fill_plan_value{5000 + n});
    co_await store->close();
  });
}

TEST_CASE("state writes of one key reach the log in call order", "[integration][state_store]") {
  if (!available()) return;
  run([](asio::any_io_executor executor) -> asio::awaitable<void> {
    const std::string topic = fresh_topic();
    co_await create_compacted(executor, topic);
    const auto store = open_store(executor, topic, "one");
    require_ok(co_await store->load());
    co_await write_many(executor, *store, 500, 3, 0);
    for (int n = 0; n < 3; ++n) CHECK(store->view().find(numbered_key(n)) == fill_plan_value{n == 0 ? 498 : n == 1 ? 499 : 497});
    co_await store->close();
  });
}

TEST_CASE("state is complete after compaction has removed records and the end of the log", "[integration][state_store]") {
  if (!available()) return;
  run([](asio::any_io_executor executor) -> asio::awaitable<void> {
    const std::string topic = fresh_topic();
    std::map<std::string, std::string> eager_cleaning{{"segment.ms", "100"}, {"min.cleanable.dirty.ratio", "0.001"}, {"delete.retention.ms", "0"}};
    co_await create_compacted(executor, topic, std::move(eager_cleaning));
    const std::int32_t partition = state_partition(route_of(numbered_key(0)), partitions);
    {
      const auto store = open_store(executor, topic, "one");
      require_ok(co_await store->load());
      for (int round = 0; round < 5; ++round) {
        co_await write_many(executor, *store, 50, 1, round * 50);
        REQUIRE(co_await client::sleep_for(milliseconds(150)));  // let the next write roll the segment
      }
      require_ok(co_await store->erase(numbered_key(0)));
      co_await store->close();
    }
    // Whoever writes next rolls the segment, and then the cleaner may take all that is before.
    const auto store = open_store(executor, topic, "two");
    require_ok(co_await store->load());
    CHECK(store->view().size() == 0);
    const fill_plan_key neighbour = [&] {
      for (int n = 1;; ++n) {
        if (state_partition(route_of(numbered_key(n)), partitions) == partition) return numbered_key(n);
      }
    }();
    int records = 1000;
    for (int attempt = 0; attempt < 60 && records > 10; ++attempt) {
      require_ok(co_await store->write(neighbour, fill_plan_value{attempt}));
      REQUIRE(co_await client::sleep_for(milliseconds(500)));
      records = count_records(topic, partition);
    }
    CHECK(records <= 10);
    co_await store->close();

    const auto later = open_store(executor, topic, "three");
    require_ok(co_await later->load());
    CHECK(later->view().size() == 1);
    CHECK_FALSE(later->view().find(numbered_key(0)).has_value());
    CHECK(later->view().find(neighbour).has_value());
    co_await later->close();
  });
}

TEST_CASE("a log that ends in a transaction's marker is read to its end", "[integration][state_store]") {
  if (!available()) return;
  run([](asio::any_io_executor executor) -> asio::awaitable<void> {
    const std::string topic = fresh_topic();
    co_await create_compacted(executor, topic);
    const fill_plan_key key = numbered_key(1);
    const std::string key_bytes = encode_key(key);
    const std::string value_bytes = encode_value(fill_plan_value{77});
    {
      const raw_client producer = make_raw_client(RD_KAFKA_PRODUCER, {{"transactional.id", topic}});
      REQUIRE(rd_kafka_init_transactions(producer.get(), 20'000) == nullptr);
      REQUIRE(rd_kafka_begin_transaction(producer.get()) == nullptr);
      REQUIRE(rd_kafka_producev(producer.get(), RD_KAFKA_V_TOPIC(topic.c_str()), RD_KAFKA_V_PARTITION(state_partition(route_of(key), partitions)),
                                RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY), RD_KAFKA_V_KEY(key_bytes.data(), key_bytes.size()),
                                RD_KAFKA_V_VALUE(const_cast<char*>(value_bytes.data()), value_bytes.size()), RD_KAFKA_V_END) == RD_KAFKA_RESP_ERR_NO_ERROR);
      REQUIRE(rd_kafka_commit_transaction(producer.get(), 20'000) == nullptr);
    }
    const auto store = open_store(executor, topic, "one");
    require_ok(co_await store->load());
    CHECK(store->view().find(key) == fill_plan_value{77});
    require_ok(co_await store->write(key, fill_plan_value{78}));
    CHECK(store->view().find(key) == fill_plan_value{78});
    co_await store->close();
  });
}

TEST_CASE("daemons that race for a producer id agree on one", "[integration][state_store]") {
  if (!available()) return;
  run([](asio::any_io_executor executor) -> asio::awaitable<void> {
    const std::string topic = fresh_topic();
    co_await create_compacted(executor, topic);
    const auto one = open_store(executor, topic, "one");
    const auto two = open_store(executor, topic, "two");
    require_ok(co_await one->load());
    require_ok(co_await two->load());

    const auto claim = [](state_store& store, core::slot_index index, destination_pid candidate, std::shared_ptr<std::vector<destination_pid>> out) -> asio::awaitable<void> {
      const auto held = co_await store.claim_producer_id("a-to-b", index, candidate);
      REQUIRE(held.has_value());
      out->push_back(*held);
    };
    for (core::slot_index index = core::writer_index; index < 10; ++index) {
      const auto answers = std::make_shared<std::vector<destination_pid>>();
      const auto ended = [](std::exception_ptr e) {
        if (e) std::rethrow_exception(e);
      };
      asio::co_spawn(executor, claim(*one, index, destination_pid{100 + index}, answers), ended);
      asio::co_spawn(executor, claim(*two, index, destination_pid{200 + index}, answers), ended);
      while (answers->size() < 2) REQUIRE(co_await client::sleep_for(milliseconds(1)));
      CHECK(answers->at(0) == answers->at(1));
      const auto repeated = co_await two->claim_producer_id("a-to-b", index, destination_pid{300});
      CHECK(*repeated == answers->at(0));
    }
    const auto expected = one->view().producer_ids("a-to-b");
    co_await one->close();
    co_await two->close();
    const auto later = open_store(executor, topic, "three");
    require_ok(co_await later->load());
    CHECK(later->view().producer_ids("a-to-b") == expected);
    co_await later->close();
  });
}

TEST_CASE("changes by other daemons are reported, our own are not", "[integration][state_store]") {
  if (!available()) return;
  run([](asio::any_io_executor executor) -> asio::awaitable<void> {
    const std::string topic = fresh_topic();
    co_await create_compacted(executor, topic);
    const auto one = open_store(executor, topic, "one");
    const auto two = open_store(executor, topic, "two");
    require_ok(co_await one->load());
    require_ok(co_await two->load());
    std::vector<std::string> seen_by_one;
    std::vector<std::string> seen_by_two;
    const auto note = [](std::vector<std::string>& list) {
      return [&list](const state_change& change) {
        CHECK(change.kind == record_kind::fill_plan);
        const auto key = decode_key<fill_plan_key>(change.key);
        list.push_back(std::to_string(key->of.partition) + (change.value ? " written" : " erased"));
      };
    };
    one->on_change(note(seen_by_one));
    two->on_change(note(seen_by_two));
    require_ok(co_await one->write(numbered_key(1), fill_plan_value{1}));
    require_ok(co_await two->write(numbered_key(2), fill_plan_value{2}));
    require_ok(co_await one->erase(numbered_key(1)));
    for (int i = 0; i < 500 && (seen_by_one.size() < 1 || seen_by_two.size() < 2); ++i) REQUIRE(co_await client::sleep_for(milliseconds(10)));
    CHECK(seen_by_one == std::vector<std::string>{"2 written"});
    CHECK(seen_by_two == std::vector<std::string>{"1 written", "1 erased"});
    CHECK(two->view().find(numbered_key(2)) == fill_plan_value{2});
    CHECK_FALSE(two->view().find(numbered_key(1)).has_value());
    co_await one->close();
    co_await two->close();
  });
}
