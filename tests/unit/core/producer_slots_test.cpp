#include "core/producer_slots.hpp"

#include <catch2/catch.hpp>

#include <limits>
#include <map>
#include <optional>
#include <set>
#include <vector>

using namespace mirrord;
using namespace mirrord::core;

namespace {

slot_index lowest_free(const std::map<source_pid, slot_index>& open) {
  std::set<slot_index> taken;
  for (const auto& [producer, slot] : open) taken.insert(slot);
  slot_index free = 0;
  while (taken.contains(free)) ++free;
  return free;
}

}  // namespace

TEST_CASE("a new transaction takes the lowest free slot", "[producer_slots]") {
  producer_slots slots;
  CHECK(slots.open({10}, 100) == 0);
  CHECK(slots.open({11}, 101) == 1);
  CHECK(slots.open({12}, 102) == 2);
  CHECK(slots.close({11}) == 1);
  CHECK(slots.close({10}) == 0);
  CHECK(slots.open({13}, 103) == 0);
  CHECK(slots.open({11}, 104) == 1);
  CHECK(slots.open({14}, 105) == 3);
}

TEST_CASE("an open transaction keeps its slot and its first offset", "[producer_slots]") {
  producer_slots slots;
  CHECK(slots.open({10}, 100) == 0);
  CHECK(slots.open({10}, 200) == 0);
  CHECK(slots.find({10}) == 0);
  REQUIRE(slots.open_transactions().size() == 1);
  CHECK(slots.open_transactions().at({10}).first_offset == 100);
}

TEST_CASE("closing what is not open does nothing", "[producer_slots]") {
  producer_slots slots;
  CHECK_FALSE(slots.close({10}).has_value());
  CHECK(slots.open({10}, 1) == 0);
  CHECK_FALSE(slots.close({11}).has_value());
  CHECK(slots.close({10}) == 0);
  CHECK_FALSE(slots.close({10}).has_value());
  CHECK_FALSE(slots.find({10}).has_value());
  CHECK(slots.open_transactions().empty());
}

TEST_CASE("restore takes a free slot of a producer that has none, and nothing else", "[producer_slots]") {
  struct row {
    const char* what;
    std::int64_t producer;
    slot_index slot;
    bool taken_up;
  };
  const auto r = GENERATE(values<row>({
      {"a free slot between taken ones", 30, 1, true},
      {"the next slot", 30, 3, true},
      {"a slot far above", 30, 1000, true},
      {"a taken slot, the lowest", 30, 0, false},
      {"a taken slot, the highest", 30, 2, false},
      {"a producer that has a slot, the same one", 10, 0, false},
      {"a producer that has a slot, a free one", 10, 1, false},
      {"a producer that has a slot, a new one", 10, 7, false},
      {"the writer is no slot", 30, writer_index, false},
      {"below the writer", 30, -2, false},
  }));
  CAPTURE(r.what);
  producer_slots slots;
  REQUIRE(slots.restore({10}, {0, 100, -1, 0, {}}));
  REQUIRE(slots.restore({12}, {2, 102, -1, 0, {}}));

  CHECK(slots.restore({r.producer}, {r.slot, 500, -1, 0, {}}) == r.taken_up);
  CHECK(slots.open_transactions().size() == (r.taken_up ? 3u : 2u));
  CHECK(slots.find({10}) == 0);
  CHECK(slots.find({12}) == 2);
  CHECK(slots.open_transactions().at({10}).first_offset == 100);
  if (r.taken_up) {
    CHECK(slots.find({r.producer}) == r.slot);
    CHECK(slots.open_transactions().at({r.producer}).first_offset == 500);
  }
  // A refusal leaves no trace: the next new transaction still takes the lowest free slot.
  CHECK(slots.open({99}, 600) == (r.taken_up && r.slot == 1 ? 3 : 1));
}

TEST_CASE("restored slots leave gaps that new transactions fill from below", "[producer_slots]") {
  producer_slots slots;
  REQUIRE(slots.restore({10}, {3, 100, -1, 0, {}}));
  CHECK(slots.open({11}, 101) == 0);
  CHECK(slots.open({12}, 102) == 1);
  CHECK(slots.open({13}, 103) == 2);
  CHECK(slots.open({14}, 104) == 4);
  CHECK(slots.close({10}) == 3);
  CHECK(slots.open({15}, 105) == 3);
}

TEST_CASE("a producer id of 0 and one at the end of the range are ids like any other", "[producer_slots]") {
  producer_slots slots;
  CHECK(slots.open({0}, 0) == 0);
  CHECK(slots.open({std::numeric_limits<std::int64_t>::max()}, 1) == 1);
  CHECK(slots.close({0}) == 0);
}

TEST_CASE("every sequence of opening and closing over four producers", "[producer_slots]") {
  constexpr int producers = 4;
  constexpr int steps = 6;
  int sequences = 1;
  for (int i = 0; i < steps; ++i) sequences *= 2 * producers;
  for (int sequence = 0; sequence < sequences; ++sequence) {
    producer_slots slots;
    std::map<source_pid, slot_index> open;
    for (int step = 0, rest = sequence; step < steps; ++step, rest /= 2 * producers) {
      const source_pid producer{rest % producers};
      const bool opens = rest / producers % 2 == 0;
      const auto known = open.find(producer);
      std::optional<slot_index> expected;
      if (known != open.end()) expected = known->second;
      else if (opens) expected = lowest_free(open);
      const std::optional<slot_index> found = opens ? std::optional(slots.open(producer, step)) : slots.close(producer);
      if (found != expected) {
        CAPTURE(sequence, step);
        REQUIRE(found == expected);
      }
      if (opens) open[producer] = *expected;
      else open.erase(producer);
    }
    if (slots.open_transactions().size() != open.size()) FAIL("sequence " << sequence);
  }
  SUCCEED();
}
