#include "wire/crc32c.hpp"

#include <array>
#include <bit>
#include <cstring>

#if defined(__x86_64__)
#include <nmmintrin.h>
#endif

namespace mirrord::wire {
namespace {

static_assert(std::endian::native == std::endian::little, "the table and SSE4.2 paths read words as they lie in memory");

// Castagnoli's polynomial, bit-reflected: the highest bit is the coefficient of x^0.
constexpr std::uint32_t polynomial = 0x82f63b78;
constexpr std::uint32_t x_to_0 = 0x80000000;

// Masks instead of branches here and in multiply(): the bits are as good as random, and a header patch waits for them.
constexpr std::uint32_t times_x(std::uint32_t a) noexcept { return (a >> 1) ^ (polynomial & (0u - (a & 1))); }

constexpr std::uint32_t multiply(std::uint32_t a, std::uint32_t b) noexcept {
  std::uint32_t product = 0;
  for (; a != 0; a <<= 1) {
    product ^= b & (0u - (a >> 31));
    b = times_x(b);
  }
  return product;
}

// x^(2^k); a byte count has 64 bits and each byte counts x^8 = x^(2^3).
constexpr auto x_to_power_of_two = [] {
  std::array<std::uint32_t, 67> powers{};
  powers[0] = times_x(x_to_0);
  for (std::size_t k = 1; k < powers.size(); ++k) powers[k] = multiply(powers[k - 1], powers[k - 1]);
  return powers;
}();

constexpr std::uint32_t x_to_8n(std::uint64_t n) noexcept {
  std::uint32_t power = x_to_0;
  for (std::size_t k = 3; n != 0; n >>= 1, ++k) {
    if ((n & 1) != 0) power = multiply(x_to_power_of_two[k], power);
  }
  return power;
}

using byte_table = std::array<std::uint32_t, 256>;

// slices[k][v]: the CRC state after byte v and then k zero bytes.
constexpr auto slices = [] {
  std::array<byte_table, 8> tables{};
  for (std::uint32_t v = 0; v < 256; ++v) {
    std::uint32_t state = v;
    for (int bit = 0; bit < 8; ++bit) state = times_x(state);
    tables[0][v] = state;
  }
  for (std::size_t k = 1; k < tables.size(); ++k) {
    for (std::size_t v = 0; v < 256; ++v) tables[k][v] = (tables[k - 1][v] >> 8) ^ tables[0][tables[k - 1][v] & 0xff];
  }
  return tables;
}();

std::uint64_t load_word(const std::byte* p) noexcept {
  std::uint64_t word = 0;
  std::memcpy(&word, p, sizeof word);
  return word;
}

std::uint32_t update_portable(std::uint32_t state, const std::byte* p, std::size_t n) noexcept {
  for (; n >= 8; p += 8, n -= 8) {
    const std::uint64_t word = load_word(p) ^ state;
    state = 0;
    for (std::size_t i = 0; i < 8; ++i) state ^= slices[7 - i][(word >> (8 * i)) & 0xff];
  }
  for (; n > 0; ++p, --n) state = (state >> 8) ^ slices[0][(state ^ std::to_integer<std::uint32_t>(*p)) & 0xff];
  return state;
}

#if defined(__x86_64__)

// The instruction has a latency of three cycles and a throughput of one, so three independent lanes run at once and
// their states are joined by a shift over the lane's length, which is a table look-up per byte of the state.
template <std::size_t LaneBytes>
struct lane_shift {
  static constexpr auto tables = [] {
    constexpr std::uint32_t factor = x_to_8n(LaneBytes);
    std::array<byte_table, 4> made{};
    for (std::uint32_t i = 0; i < 4; ++i) {
      for (std::uint32_t v = 0; v < 256; ++v) made[i][v] = multiply(factor, v << (8 * i));
    }
    return made;
  }();

  static std::uint32_t apply(std::uint64_t state) noexcept {
    return tables[0][state & 0xff] ^ tables[1][(state >> 8) & 0xff] ^ tables[2][(state >> 16) & 0xff] ^ tables[3][(state >> 24) & 0xff];
  }
};

template <std::size_t LaneBytes>
__attribute__((target("sse4.2"))) std::uint64_t update_lanes(std::uint64_t state, const std::byte*& p, std::size_t& n) noexcept {
  while (n >= 3 * LaneBytes) {
    std::uint64_t second = 0;
    std::uint64_t third = 0;
    for (const std::byte* end = p + LaneBytes; p != end; p += 8) {
      state = _mm_crc32_u64(state, load_word(p));
      second = _mm_crc32_u64(second, load_word(p + LaneBytes));
      third = _mm_crc32_u64(third, load_word(p + 2 * LaneBytes));
    }
    state = lane_shift<LaneBytes>::apply(state) ^ second;
    state = lane_shift<LaneBytes>::apply(state) ^ third;
    p += 2 * LaneBytes;
    n -= 3 * LaneBytes;
  }
  return state;
}

__attribute__((target("sse4.2"))) std::uint32_t update_sse42(std::uint32_t start, const std::byte* p, std::size_t n) noexcept {
  std::uint64_t state = start;
  state = update_lanes<4096>(state, p, n);
  state = update_lanes<256>(state, p, n);
  for (; n >= 8; p += 8, n -= 8) state = _mm_crc32_u64(state, load_word(p));
  auto narrow = static_cast<std::uint32_t>(state);
  for (; n > 0; ++p, --n) narrow = _mm_crc32_u8(narrow, std::to_integer<std::uint8_t>(*p));
  return narrow;
}

bool has_sse42() noexcept {
  static const bool has = __builtin_cpu_supports("sse4.2") != 0;
  return has;
}

#endif

}  // namespace

std::uint32_t crc32c_portable(std::span<const std::byte> bytes, std::uint32_t seed) noexcept {
  return ~update_portable(~seed, bytes.data(), bytes.size());
}

std::uint32_t crc32c(std::span<const std::byte> bytes, std::uint32_t seed) noexcept {
#if defined(__x86_64__)
  if (has_sse42()) return ~update_sse42(~seed, bytes.data(), bytes.size());
#endif
  return crc32c_portable(bytes, seed);
}

std::uint32_t crc32c_shift(std::uint32_t crc, std::uint64_t zero_bytes) noexcept { return multiply(x_to_8n(zero_bytes), crc); }

}  // namespace mirrord::wire
