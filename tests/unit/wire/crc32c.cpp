#include "wire/crc32c.hpp"

#include <catch2/catch.hpp>

#include <array>
#include <random>
#include <string_view>
#include <vector>

namespace mirrord::wire {
namespace {

std::span<const std::byte> text(std::string_view s) { return std::as_bytes(std::span(s)); }

std::vector<std::byte> random_bytes(std::size_t size) {
  std::mt19937_64 random(size);
  std::vector<std::byte> made(size);
  for (auto& b : made) b = static_cast<std::byte>(random());
  return made;
}

// Bit by bit from the definition, to hold the tables and the instruction against.
std::uint32_t by_definition(std::span<const std::byte> bytes) {
  std::uint32_t state = 0xffffffff;
  for (const std::byte b : bytes) {
    state ^= std::to_integer<std::uint32_t>(b);
    for (int bit = 0; bit < 8; ++bit) state = (state >> 1) ^ ((state & 1) != 0 ? 0x82f63b78 : 0);
  }
  return ~state;
}

TEST_CASE("crc32c gives the published values") {
  // The check value of the polynomial, and the samples of RFC 3720, appendix B.4.
  CHECK(crc32c(text("123456789")) == 0xe3069283);
  CHECK(crc32c({}) == 0);
  std::array<std::byte, 32> sample{};
  CHECK(crc32c(sample) == 0x8a9136aa);
  sample.fill(std::byte{0xff});
  CHECK(crc32c(sample) == 0x62a8ab43);
  for (std::size_t i = 0; i < sample.size(); ++i) sample[i] = static_cast<std::byte>(i);
  CHECK(crc32c(sample) == 0x46dd794e);
}

TEST_CASE("crc32c is the same by instruction, by tables and by definition at every length and alignment") {
  const auto bytes = random_bytes(3000);
  for (std::size_t start = 0; start < 9; ++start) {
    for (std::size_t size = 0; size + start <= 1200; ++size) {
      const auto part = std::span(bytes).subspan(start, size);
      const auto expected = crc32c_portable(part);
      if (crc32c(part) != expected) FAIL("start " << start << " size " << size);
      if (size % 97 == 0) CHECK(expected == by_definition(part));
    }
  }
}

TEST_CASE("crc32c of the lane sizes and their neighbours") {
  const auto bytes = random_bytes(100'000);
  for (const std::size_t lanes : {3 * 256, 3 * 4096, 3 * 4096 + 3 * 256, 6 * 4096, 24 * 4096}) {
    for (std::size_t size = lanes - 9; size <= lanes + 9; ++size) {
      const auto part = std::span(bytes).subspan(1, size);
      CHECK(crc32c(part) == crc32c_portable(part));
    }
  }
}

TEST_CASE("crc32c goes on from a seed, and a shift joins two parts") {
  const auto bytes = random_bytes(20'000);
  const auto whole = std::span<const std::byte>(bytes);
  for (const std::size_t cut : {0, 1, 8, 61, 767, 4096, 12'345, 19'999, 20'000}) {
    const auto first = whole.first(cut);
    const auto second = whole.subspan(cut);
    CHECK(crc32c(second, crc32c(first)) == crc32c(whole));
    CHECK((crc32c_shift(crc32c(first), second.size()) ^ crc32c(second)) == crc32c(whole));
  }
}

TEST_CASE("crc32c_shift adds up over lengths that no buffer has") {
  CHECK(crc32c_shift(0x12345678, 0) == 0x12345678);
  CHECK(crc32c_shift(0, 123) == 0);
  constexpr std::uint64_t huge = std::uint64_t{1} << 60;
  CHECK(crc32c_shift(crc32c_shift(0xdeadbeef, huge), huge + 7) == crc32c_shift(0xdeadbeef, 2 * huge + 7));
}

}  // namespace
}  // namespace mirrord::wire
