// Zigzag varints inside records of magic 2: 32-bit for lengths and counts, 64-bit for timestamp deltas.
//
// A decoder takes from the front of a view; nullopt means cut off or longer than the type allows, and the view is then
// left somewhere in the middle. (The protocol's unsigned varints are in buffer.hpp.)
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <type_traits>
#include <vector>

namespace mirrord::wire {

template <std::signed_integral T>
[[nodiscard]] inline std::optional<T> take_varint(std::span<const std::byte>& from) noexcept {
  using bits_type = std::make_unsigned_t<T>;
  bits_type bits = 0;
  for (unsigned shift = 0; shift < 8 * sizeof(T); shift += 7) {
    if (from.empty()) return std::nullopt;
    const auto byte = std::to_integer<unsigned>(from.front());
    from = from.subspan(1);
    bits |= static_cast<bits_type>(static_cast<bits_type>(byte & 0x7f) << shift);
    if ((byte & 0x80) == 0) return static_cast<T>((bits >> 1) ^ (bits_type{0} - (bits & 1)));
  }
  return std::nullopt;
}

template <std::signed_integral T>
[[nodiscard]] constexpr std::make_unsigned_t<T> zigzag(T value) noexcept {
  using bits_type = std::make_unsigned_t<T>;
  return (static_cast<bits_type>(value) << 1) ^ static_cast<bits_type>(value < 0 ? ~bits_type{0} : bits_type{0});
}

template <std::signed_integral T>
[[nodiscard]] constexpr std::size_t varint_bytes(T value) noexcept {
  std::size_t n = 1;
  for (auto bits = zigzag(value); bits >= 0x80; bits >>= 7) ++n;
  return n;
}

template <std::signed_integral T>
inline void put_varint(std::vector<std::byte>& to, T value) {
  auto bits = zigzag(value);
  for (; bits >= 0x80; bits >>= 7) to.push_back(static_cast<std::byte>((bits & 0x7f) | 0x80));
  to.push_back(static_cast<std::byte>(bits));
}

}  // namespace mirrord::wire
