#include "mirror/state_topic.hpp"

#include <catch2/catch.hpp>

using namespace mirrord;
using namespace mirrord::mirror;

namespace {

client::config_list configs(std::string policy, std::string min_insync) {
  client::config_entry cleanup;
  cleanup.name = "cleanup.policy";
  cleanup.value = std::move(policy);
  client::config_entry insync;
  insync.name = "min.insync.replicas";
  insync.value = std::move(min_insync);
  return {cleanup, insync};
}

std::string complaint(const state_topic_settings& wanted, std::int32_t brokers, topic_shape found, const client::config_list& list) {
  const auto checked = check_state_topic("__mirror_state", wanted, brokers, found, list);
  if (checked) return {};
  CHECK(checked.error().code == errc::invalid);
  return checked.error().message();
}

}  // namespace

TEST_CASE("the state topic is created compacted and as safe as the cluster allows", "[state_topic]") {
  struct expectation {
    std::int32_t brokers;
    std::int16_t setting;
    std::int16_t replicas;
    const char* min_insync;
  };
  for (const auto& e : {expectation{1, -1, 1, "1"}, {2, -1, 2, "1"}, {3, -1, 3, "2"}, {9, -1, 3, "2"}, {9, 1, 1, "1"}, {9, 5, 5, "2"}, {0, -1, 1, "1"}}) {
    const auto topic = plan_state_topic("__mirror_state", {.partitions = 50, .replication_factor = e.setting}, e.brokers);
    CHECK(topic.replication_factor == e.replicas);
    CHECK(topic.partitions == 50);
    const std::map<std::string, std::string> expected{
        {"cleanup.policy", "compact"}, {"compression.type", "producer"}, {"retention.ms", "-1"}, {"min.insync.replicas", e.min_insync}};
    CHECK(topic.config == expected);
  }
}

TEST_CASE("an existing state topic is checked and what is wrong says what to do", "[state_topic]") {
  const state_topic_settings wanted;
  CHECK(complaint(wanted, 3, {50, 3}, configs("compact", "2")).empty());
  CHECK(complaint(wanted, 1, {50, 1}, configs("compact", "1")).empty());
  CHECK(complaint(wanted, 1, {50, 3}, configs("compact", "2")).empty());  // brokers are away just now
  CHECK(complaint(wanted, 3, {50, 3}, configs("compact", "1")).empty());  // only a warning

  CHECK_THAT(complaint(wanted, 3, {50, 3}, configs("delete", "2")), Catch::Contains("cleanup.policy=delete") && Catch::Contains("--add-config cleanup.policy=compact"));
  CHECK_THAT(complaint(wanted, 3, {50, 3}, configs("compact,delete", "2")), Catch::Contains("cleanup.policy=compact,delete"));
  CHECK_THAT(complaint(wanted, 3, {50, 3}, {}), Catch::Contains("cleanup.policy=unset"));
  CHECK_THAT(complaint(wanted, 3, {60, 3}, configs("compact", "2")), Catch::Contains("60 partitions") && Catch::Contains("mirror.state.topic.num.partitions"));
  CHECK_THAT(complaint(wanted, 3, {50, 1}, configs("compact", "1")), Catch::Contains("1 replica") && Catch::Contains("kafka-reassign-partitions.sh"));
  CHECK(complaint({.partitions = 50, .replication_factor = 1}, 3, {50, 1}, configs("compact", "1")).empty());
  CHECK_THAT(complaint(wanted, 1, {50, 1}, configs("compact", "2")), Catch::Contains("nothing can be written"));
}
