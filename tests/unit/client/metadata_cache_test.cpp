#include "client/metadata_cache.hpp"

#include <catch2/catch.hpp>

using namespace mirrord;
using namespace mirrord::client;

namespace {

topic_id id_of(std::uint8_t n) {
  topic_id id;
  id.bytes[15] = n;
  return id;
}

wire::metadata_response cluster_of(std::int32_t brokers) {
  wire::metadata_response r;
  r.cluster_id = "one";
  r.controller_id = 1;
  for (std::int32_t i = 1; i <= brokers; ++i) {
    wire::metadata_response_broker b;
    b.node_id = i;
    b.host = "broker-" + std::to_string(i);
    b.port = 9092;
    r.brokers.push_back(b);
  }
  return r;
}

// `leaders`: (leader id, leader epoch) of partition 0, 1, ...
wire::metadata_response_topic topic(std::string name, topic_id id, std::vector<std::pair<std::int32_t, std::int32_t>> leaders) {
  wire::metadata_response_topic t;
  t.name = std::move(name);
  t.topic_id = id;
  for (std::size_t i = 0; i < leaders.size(); ++i) {
    wire::metadata_response_partition p;
    p.partition_index = static_cast<std::int32_t>(i);
    p.leader_id = leaders[i].first;
    p.leader_epoch = leaders[i].second;
    t.partitions.push_back(p);
  }
  return t;
}

wire::metadata_response_topic unknown(std::string name) {
  wire::metadata_response_topic t;
  t.name = std::move(name);
  t.error_code = 3;
  return t;
}

void learn(metadata_cache& cache, std::vector<wire::metadata_response_topic> topics, bool all = false) {
  auto r = cluster_of(3);
  r.topics = std::move(topics);
  REQUIRE(cache.apply(r, all).has_value());
}

const topic_partition orders_0{"orders", 0};
const topic_partition orders_1{"orders", 1};

}  // namespace

TEST_CASE("an answer fills the cache", "[metadata]") {
  metadata_cache cache;
  CHECK(cache.cluster_id().empty());
  learn(cache, {topic("orders", id_of(1), {{1, 5}, {2, 6}})});
  CHECK(cache.cluster_id() == "one");
  CHECK(cache.controller() == broker_id{1});
  CHECK(cache.brokers().at(broker_id{2}).address == endpoint{"broker-2", 9092});
  CHECK(cache.find_topic("orders")->id == id_of(1));
  CHECK(cache.find_leader(orders_1).value() == leader{broker_id{2}, 6});
}

TEST_CASE("what is not there is not_found, what has no leader is the broker's error", "[metadata]") {
  metadata_cache cache;
  CHECK(cache.find_leader(orders_0).error().code == errc::not_found);
  auto t = topic("orders", id_of(1), {{-1, 5}, {-1, 5}});
  t.partitions[1].error_code = 72;
  auto secret = topic("secret", id_of(2), {});
  secret.error_code = 29;
  learn(cache, {t, secret});
  CHECK(cache.find_leader(orders_0).error().broker_code == 5);
  CHECK(cache.find_leader(orders_1).error().broker_code == 72);
  CHECK(cache.find_leader({"orders", 2}).error().code == errc::not_found);
  CHECK(cache.find_leader({"orders", -1}).error().code == errc::not_found);
  CHECK(cache.find_leader({"secret", 0}).error().broker_code == 29);
  CHECK_FALSE(cache.is_fresh(orders_0));
}

TEST_CASE("an older answer does not take a partition back", "[metadata]") {
  metadata_cache cache;
  learn(cache, {topic("orders", id_of(1), {{1, 5}, {2, 6}})});
  for (int i = 0; i < 10; ++i) learn(cache, {topic("orders", id_of(1), {{3, 4}, {3, 7}})});
  CHECK(cache.find_leader(orders_0).value() == leader{broker_id{1}, 5});
  CHECK(cache.find_leader(orders_1).value() == leader{broker_id{3}, 7});
}

TEST_CASE("an older answer with fewer partitions does not take any away", "[metadata]") {
  metadata_cache cache;
  learn(cache, {topic("orders", id_of(1), {{1, 5}, {2, 6}})});
  learn(cache, {topic("orders", id_of(1), {{1, 5}})});
  CHECK(cache.find_leader(orders_1).has_value());
}

TEST_CASE("another topic id is another topic, whatever its epochs", "[metadata]") {
  metadata_cache cache;
  learn(cache, {topic("orders", id_of(1), {{1, 5}, {2, 6}})});
  learn(cache, {topic("orders", id_of(2), {{3, 0}})});
  CHECK(cache.find_leader(orders_0).value() == leader{broker_id{3}, 0});
  CHECK(cache.find_leader(orders_1).error().code == errc::not_found);
}

TEST_CASE("without topic ids a topic that was created anew is believed after a while", "[metadata]") {
  metadata_cache cache;
  const auto old_one = topic("orders", {}, {{1, 5}});
  const auto new_one = topic("orders", {}, {{2, 0}});
  learn(cache, {old_one});
  learn(cache, {new_one});
  learn(cache, {new_one});
  CHECK(cache.find_leader(orders_0).value().epoch == 5);
  learn(cache, {old_one});  // the broker that had lagged has caught up: counting begins anew
  learn(cache, {new_one});
  learn(cache, {new_one});
  CHECK(cache.find_leader(orders_0).value().epoch == 5);
  learn(cache, {new_one});
  CHECK(cache.find_leader(orders_0).value() == leader{broker_id{2}, 0});

  learn(cache, {unknown("orders")});
  CHECK(cache.find_leader(orders_0).error().code == errc::not_found);
  learn(cache, {topic("orders", {}, {{3, 0}})});
  CHECK(cache.find_leader(orders_0).value() == leader{broker_id{3}, 0});
}

TEST_CASE("a broker that does not know a topic yet does not cost its epochs", "[metadata]") {
  metadata_cache cache;
  learn(cache, {topic("orders", id_of(1), {{1, 5}})});
  learn(cache, {unknown("orders")});
  CHECK(cache.find_leader(orders_0).error().code == errc::not_found);
  CHECK(cache.find_leader(orders_0).error().broker_code == 3);
  learn(cache, {topic("orders", id_of(1), {{2, 4}})});
  CHECK(cache.find_leader(orders_0).value() == leader{broker_id{1}, 5});
}

TEST_CASE("a topic that is missing from a full answer is gone, after two it is forgotten", "[metadata]") {
  metadata_cache cache;
  learn(cache, {topic("orders", id_of(1), {{1, 5}}), topic("other", id_of(2), {{1, 0}})}, true);
  learn(cache, {topic("other", id_of(2), {{1, 0}})});  // an answer about one topic says nothing about others
  CHECK(cache.find_leader(orders_0).has_value());
  learn(cache, {topic("other", id_of(2), {{1, 0}})}, true);
  CHECK(cache.find_leader(orders_0).error().code == errc::not_found);
  CHECK(cache.find_topic("orders") != nullptr);
  learn(cache, {topic("other", id_of(2), {{1, 0}})}, true);
  CHECK(cache.find_topic("orders") == nullptr);
  CHECK(cache.find_topic("other") != nullptr);
}

TEST_CASE("a leader that somebody found out of date is asked for again until a fresh answer", "[metadata]") {
  metadata_cache cache;
  learn(cache, {topic("orders", id_of(1), {{1, 5}})});
  CHECK(cache.is_fresh(orders_0));
  cache.leader_moved(orders_0, 4);  // news from before the last answer
  CHECK(cache.is_fresh(orders_0));
  cache.leader_moved(orders_0, 5);
  CHECK_FALSE(cache.is_fresh(orders_0));
  learn(cache, {topic("orders", id_of(1), {{3, 4}})});
  CHECK_FALSE(cache.is_fresh(orders_0));
  learn(cache, {topic("orders", id_of(1), {{1, 5}})});
  CHECK(cache.is_fresh(orders_0));
  cache.leader_moved({"no such topic", 0}, 5);
  cache.leader_moved({"orders", 7}, 5);
}

TEST_CASE("another cluster's answer is refused as a whole", "[metadata]") {
  metadata_cache cache;
  learn(cache, {topic("orders", id_of(1), {{1, 5}})});
  auto stranger = cluster_of(1);
  stranger.cluster_id = "two";
  auto refused = cache.apply(stranger, true);
  REQUIRE(refused.has_error());
  CHECK(refused.error().code == errc::invalid);
  CHECK(refused.error().message().find("two") != std::string::npos);
  CHECK(cache.brokers().size() == 3);
  CHECK(cache.find_leader(orders_0).has_value());
}

TEST_CASE("partition numbers and ports that cannot be are refused as a whole", "[metadata]") {
  for (const std::int32_t index : {-1, 1, 0}) {
    metadata_cache cache;
    auto r = cluster_of(1);
    r.topics.push_back(topic("orders", id_of(1), {{1, 5}, {1, 5}}));
    r.topics[0].partitions[1].partition_index = index == 1 ? 2 : index;
    CHECK(cache.apply(r, true).error().code == errc::malformed);
    CHECK(cache.brokers().empty());
  }
  for (const std::int32_t port : {0, -1, 65536}) {
    metadata_cache cache;
    auto r = cluster_of(1);
    r.brokers[0].port = port;
    CHECK(cache.apply(r, true).error().code == errc::malformed);
  }
}
