// Holes inside and between batches: every subset of records, and the limit on what is filled.
#include "tests/unit/core/destination_model.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <limits>
#include <string>
#include <variant>
#include <vector>

using namespace mirrord;
using namespace mirrord::core_tests;

namespace {

std::int64_t largest_filler(const std::vector<core::planned_write>& plan) {
  std::int64_t largest = 0;
  for (const auto& write : plan) {
    if (const auto* filler = std::get_if<core::filler_write>(&write)) largest = std::max(largest, filler->count);
  }
  return largest;
}

std::int64_t longest_filler(const log_contents& log) {
  std::int64_t longest = 0;
  std::int64_t here = 0;
  for (const auto& [offset, at] : log) {
    here = at.kind == occupant_kind::filler ? here + 1 : 0;
    longest = std::max(longest, here);
  }
  return longest;
}

// Plans one batch from `position` on with exactly the hole.fill.max that it needs, and with one less.
void check(const source_batch& batch, std::int64_t position, const open_slots& open) {
  const stored_log source = store({batch});
  const expected_log expected = expect({batch}, position, open);
  const std::int64_t longest = longest_filler(expected.contents);

  core::write_planner planner(position, slots_of(open), {longest, std::size_t{1} << 20});
  std::vector<core::planned_write> plan;
  REQUIRE(planner.add(source.batches.front(), plan).has_value());
  REQUIRE(first_difference(laid_out(plan, position, std::size_t{1} << 20), expected.contents) == "");
  REQUIRE(same(open_in(planner.slots()), expected.open));
  REQUIRE(planner.position() == std::max(position, batch.next_offset()));
  REQUIRE(largest_filler(plan) == longest);  // neighbouring filler is one write

  if (longest == 0) return;
  REQUIRE(planned(source, position, open, {longest - 1, std::size_t{1} << 20}) == "error limit_exceeded");
}

}  // namespace

TEST_CASE("every subset of records of a batch, from every position, in every kind of batch and codec", "[write_plan]") {
  constexpr std::int64_t base = 20;
  constexpr int width = 6;
  const open_slots next_of_producer{{7, {2, 5}}, {8, {0, 6}}};
  for (const wire::codec codec : all_codecs) {
    for (unsigned mask = 0; mask < (1u << width); ++mask) {
      std::vector<std::int64_t> offsets;
      for (int bit = 0; bit < width; ++bit) {
        if (mask & (1u << bit)) offsets.push_back(base + bit);
      }
      const source_batch plain = compressed(batch_of(base, base + width - 1, offsets), codec);
      source_batch timed = plain;
      timed.append_time = 1'800'000'000'000;
      source_batch horizon = plain;
      horizon.delete_horizon = 1'900'000'000'000;
      for (std::int64_t position = base - 2; position <= base + width; ++position) {
        CAPTURE(wire::name(codec), mask, position);
        check(plain, position, {});
        check(timed, position, {});
        check(horizon, position, {});
        check(transactional(plain, 7), position, {});
        check(transactional(horizon, 7), position, next_of_producer);
      }
    }
  }
}

TEST_CASE("every subset of records of a compressed message of magic 0 or 1, from every position", "[write_plan]") {
  const auto magic = static_cast<std::int8_t>(GENERATE(0, 1));
  constexpr std::int64_t base = 20;
  constexpr int width = 5;
  for (unsigned mask = 1; mask < (1u << width); ++mask) {
    std::vector<std::int64_t> offsets;
    for (int bit = 0; bit < width; ++bit) {
      if (mask & (1u << bit)) offsets.push_back(base + bit);
    }
    // Such a batch ends with its last record; what lies after it is a gap before the next batch.
    const source_batch batch = legacy(compressed(batch_of(base, offsets.back(), offsets), wire::codec::gzip), magic);
    for (std::int64_t position = base - 2; position <= base + width; ++position) {
      CAPTURE(int(magic), mask, position);
      check(batch, position, {});
    }
  }
}

TEST_CASE("neighbouring gaps count as one against the limit", "[write_plan]") {
  // Offsets without data: 10 (before it), 11..13 emptied, 14 dead marker, 15 hole, 16 head of the next batch.
  const stored_log source = store({batch_of(11, 13, {}), control_batch(14, 7, control::commit), batch_of(16, 17, {17})});
  CHECK(planned(source, 10, {}, {7, 1000}) == "filler[10,17) writer*[17,18)");
  CHECK(planned(source, 10, {}, {6, 1000}) == "error limit_exceeded");
}

TEST_CASE("gaps with a record or a marker between them count one by one", "[write_plan]") {
  const stored_log source = store({batch_of(10, 14, {12}), transactional(dense_batch(17, 17), 7), control_batch(20, 7, control::abort), dense_batch(23, 23)});
  CHECK(planned(source, 10, {}, {4, 1000}) ==
        "filler[10,12) writer*[12,13) filler[13,17) slot0[17,18) filler[18,20) abort0@20 filler[21,23) writer[23,24)");
  CHECK(planned(source, 10, {}, {3, 1000}) == "error limit_exceeded");
}

TEST_CASE("a limit of nothing lets no gap pass, and all that has none", "[write_plan]") {
  const core::plan_limits none{0, 1000};
  CHECK(planned(store({dense_batch(10, 13), transactional(dense_batch(14, 14), 7), control_batch(15, 7, control::commit)}), 10, {}, none) ==
        "writer[10,14) slot0[14,15) commit0@15");
  CHECK(planned(store({dense_batch(11, 13)}), 10, {}, none) == "error limit_exceeded");
  CHECK(planned(store({control_batch(10, 7, control::commit)}), 10, {}, none) == "error limit_exceeded");
}

TEST_CASE("fill_to keeps the limit, joined with the gap before it", "[write_plan]") {
  core::write_planner planner(10, {}, {5, 1000});
  std::vector<core::planned_write> plan;
  REQUIRE(planner.fill_to(13, plan).has_value());
  REQUIRE(planner.fill_to(15, plan).has_value());
  CHECK_FALSE(planner.fill_to(16, plan).has_value());
}

TEST_CASE("a gap above the limit is refused with its place, its size and its cost", "[write_plan]") {
  core::write_planner planner(1'000, {}, {100'000'000, 1000});
  std::vector<core::planned_write> plan;
  const auto filled = planner.fill_to(100'001'001, plan);
  REQUIRE_FALSE(filled.has_value());
  CHECK(filled.error().code == errc::limit_exceeded);
  CHECK_THAT(filled.error().message(), Catch::Contains("100000001 offsets from 1000 to 100001001") && Catch::Contains("7800.0 MB") &&
                                           Catch::Contains("hole.fill.max is 100000000"));
  CHECK(plan.empty());
}

TEST_CASE("offsets and counts at the end of their range do not overflow", "[write_plan]") {
  constexpr std::int64_t far = std::numeric_limits<std::int64_t>::max() - 10;
  CHECK(planned(store({dense_batch(far, far + 2)}), 0) == "error limit_exceeded");
  CHECK(planned(store({dense_batch(far, far + 2)}), far) == "writer[9223372036854775797,9223372036854775800)");

  // One record, and the widest tail that the header can name.
  source_batch wide = batch_of(10, 10, {10});
  wide.last_offset = 10 + std::int64_t{std::numeric_limits<std::int32_t>::max()};
  core::write_planner planner(10, {}, no_limits);
  std::vector<core::planned_write> plan;
  const stored_log source = store({wide});
  REQUIRE(planner.add(source.batches.front(), plan).has_value());
  CHECK(text(plan) == "writer*[10,11) filler[11,2147483658)");
}
