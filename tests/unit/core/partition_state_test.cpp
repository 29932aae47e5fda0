#include "core/partition_state.hpp"

#include <catch2/catch.hpp>

#include <map>
#include <set>
#include <string>

using namespace mirrord::core;
using enum partition_state;

TEST_CASE("every pair of states is allowed or refused as the KIP and our additions have it", "[partition_state]") {
  const std::map<partition_state, std::set<partition_state>> allowed{
      {unknown, {unknown, preparing, pausing, stopping, failed}},
      {preparing, {preparing, mirroring, pausing, stopping, failed}},
      {mirroring, {mirroring, preparing, pausing, stopping, failed}},
      {pausing, {pausing, paused, mirroring, stopping, failed}},
      {paused, {paused, preparing, mirroring, stopping, failed}},
      {stopping, {stopping, stopped, failed}},
      {stopped, {stopped, preparing, failed}},
      {failed, {preparing, mirroring, pausing, paused, stopping, stopped, failed}},
  };
  for (const auto from : all_partition_states) {
    for (const auto to : all_partition_states) {
      INFO(name(from) << " -> " << name(to));
      CHECK(may_follow(from, to) == allowed.at(from).contains(to));
    }
  }
}

TEST_CASE("what is decided may always follow what is recorded", "[partition_state]") {
  for (const auto recorded : all_partition_states) {
    for (const auto failed_in : all_partition_states) {
      if (failed_in == failed) continue;
      for (const auto desired : {desired_state::mirroring, desired_state::paused, desired_state::stopped}) {
        const auto next = decide_next(recorded, failed_in, desired);
        INFO(name(recorded) << " (" << name(failed_in) << ") wanted " << suffix_of(desired) << " -> " << name(next));
        CHECK(next != unknown);
        CHECK(next != failed);
        CHECK(may_follow(recorded, next));
        if (desired == desired_state::stopped) CHECK((next == stopping || next == stopped));
      }
    }
  }
}

TEST_CASE("the next state follows the wish, and a stop once begun is brought to its end", "[partition_state]") {
  using enum desired_state;
  CHECK(decide_next(unknown, unknown, desired_state::mirroring) == preparing);
  CHECK(decide_next(partition_state::mirroring, unknown, desired_state::mirroring) == partition_state::mirroring);
  CHECK(decide_next(partition_state::paused, unknown, desired_state::mirroring) == partition_state::mirroring);
  CHECK(decide_next(partition_state::stopped, unknown, desired_state::mirroring) == preparing);
  CHECK(decide_next(stopping, unknown, desired_state::mirroring) == stopping);
  CHECK(decide_next(failed, partition_state::mirroring, desired_state::mirroring) == partition_state::mirroring);
  CHECK(decide_next(failed, stopping, desired_state::mirroring) == stopping);
  CHECK(decide_next(failed, unknown, desired_state::stopped) == stopping);
  CHECK(decide_next(partition_state::mirroring, unknown, desired_state::paused) == pausing);
  CHECK(decide_next(partition_state::paused, unknown, desired_state::paused) == partition_state::paused);
  CHECK(decide_next(stopping, unknown, desired_state::paused) == stopping);
  CHECK(decide_next(partition_state::paused, unknown, desired_state::stopped) == stopping);
  CHECK(decide_next(partition_state::stopped, unknown, desired_state::stopped) == partition_state::stopped);
}

TEST_CASE("the value of mirror.name tells mirror and wish", "[partition_state]") {
  const auto parsed = [](std::string_view value) {
    const auto p = parse_mirror_name(value);
    return std::pair(std::string(p.mirror), p.desired);
  };
  CHECK(parsed("a-to-b") == std::pair(std::string("a-to-b"), desired_state::mirroring));
  CHECK(parsed("a-to-b.paused") == std::pair(std::string("a-to-b"), desired_state::paused));
  CHECK(parsed("a-to-b.stopped") == std::pair(std::string("a-to-b"), desired_state::stopped));
  CHECK(parsed("a-to-b.removed") == std::pair(std::string("a-to-b"), desired_state::stopped));
  CHECK(parsed("paused") == std::pair(std::string("paused"), desired_state::mirroring));
  for (const auto desired : {desired_state::mirroring, desired_state::paused, desired_state::stopped}) {
    const std::string value = "m.x" + std::string(suffix_of(desired));
    CHECK(parsed(value) == std::pair(std::string("m.x"), desired));
  }
}

TEST_CASE("states are known by their names and numbers", "[partition_state]") {
  for (const auto state : all_partition_states) {
    CHECK(partition_state_of(name(state)) == state);
    CHECK(partition_state_of(static_cast<std::int8_t>(state)) == state);
  }
  CHECK_FALSE(partition_state_of("LOG_ALIGNMENT").has_value());
  CHECK_FALSE(partition_state_of(std::int8_t{1}).has_value());  // the KIP's EPOCH_FENCING
}
