#include "core/sequence.hpp"

#include <catch2/catch.hpp>

#include <cstdint>
#include <limits>

using mirrord::core::sequence_after;

namespace {

constexpr std::int32_t highest = std::numeric_limits<std::int32_t>::max();

// As the broker counts, said without wrapping arithmetic: the number after the highest is 0.
std::int32_t counted(std::int32_t sequence, std::int32_t records) {
  return static_cast<std::int32_t>((std::int64_t{sequence} + records) % (std::int64_t{highest} + 1));
}

}  // namespace

TEST_CASE("sequence numbers count records and wrap to 0", "[sequence]") {
  CHECK(sequence_after(0, 1) == 1);
  CHECK(sequence_after(41, 9) == 50);
  CHECK(sequence_after(highest - 1, 1) == highest);
  CHECK(sequence_after(highest, 1) == 0);
  CHECK(sequence_after(highest, 5) == 4);
  CHECK(sequence_after(highest, highest) == highest - 1);
  CHECK(sequence_after(7, 0) == 7);
}

TEST_CASE("a producer that has sent nothing yet (-1) begins at 0", "[sequence]") { CHECK(sequence_after(-1, 1) == 0); }

TEST_CASE("around both ends of the range, sequence numbers are what the broker counts", "[sequence]") {
  for (std::int64_t near : {std::int64_t{0}, std::int64_t{1} << 30, std::int64_t{highest}}) {
    for (std::int64_t from = near - 70; from <= near + 70; ++from) {
      if (from < 0 || from > highest) continue;
      for (const std::int32_t records : {0, 1, 2, 63, 64, 1 << 30, highest - 1, highest}) {
        const auto sequence = static_cast<std::int32_t>(from);
        if (sequence_after(sequence, records) == counted(sequence, records)) continue;
        CAPTURE(sequence, records);
        REQUIRE(sequence_after(sequence, records) == counted(sequence, records));
      }
    }
  }
  SUCCEED();
}
