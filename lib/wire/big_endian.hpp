// Fixed-width integers at known places, in network order, for batch headers and message frames whose bounds the caller
// has checked. Reading foreign bytes of unknown length is the reader's job (buffer.hpp).
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace mirrord::wire {

template <std::integral T>
[[nodiscard]] constexpr T load_big_endian(const std::byte* from) noexcept {
  std::make_unsigned_t<T> value = 0;
  for (std::size_t i = 0; i < sizeof(T); ++i) value = static_cast<std::make_unsigned_t<T>>((std::uint64_t{value} << 8) | std::to_integer<std::uint64_t>(from[i]));
  return static_cast<T>(value);
}

template <std::integral T>
constexpr void store_big_endian(std::byte* to, T value) noexcept {
  const auto bits = static_cast<std::make_unsigned_t<T>>(value);
  for (std::size_t i = 0; i < sizeof(T); ++i) to[i] = static_cast<std::byte>((bits >> (8 * (sizeof(T) - 1 - i))) & 0xff);
}

}  // namespace mirrord::wire
