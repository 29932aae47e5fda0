// What the field list of a message is written with: version ranges and the types that exist only on the wire.
//
// A message is a struct with one `fields(self, visitor)` that names each field once, in wire order, tagged fields
// last. The same list drives encoding, decoding, printing and the smallest possible size, so they cannot drift.
//   visitor.field("session_id", self.session_id, since(7));
//   visitor.tagged(0, "cluster_id", self.cluster_id, since(12));
// A field outside of its range is neither written nor read and keeps its default. Nullable things are optionals.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace mirrord::wire {

struct versions {
  std::int16_t first = 0;
  std::int16_t last = 0x7fff;
  std::int16_t empty_is_null_from = 0x7fff;  // from here on an empty string goes as null (topic names are never empty)

  [[nodiscard]] constexpr bool has(std::int16_t version) const noexcept { return version >= first && version <= last; }
  [[nodiscard]] constexpr versions empty_is_null_since(std::int16_t version) const noexcept { return {first, last, version}; }
};

inline constexpr versions always{};
[[nodiscard]] constexpr versions since(std::int16_t first) noexcept { return {first}; }
[[nodiscard]] constexpr versions between(std::int16_t first, std::int16_t last) noexcept { return {first, last}; }
[[nodiscard]] constexpr versions until(std::int16_t last) noexcept { return {0, last}; }

// Records to send: one bytes field made of several borrowed spans (a patched batch header, an untouched payload).
// No piece at all is written as null. Decoding gives one piece, a view into the frame.
struct record_data {
  std::vector<std::span<const std::byte>> pieces;

  [[nodiscard]] std::size_t size() const noexcept {
    std::size_t n = 0;
    for (const auto piece : pieces) n += piece.size();
    return n;
  }
};

}  // namespace mirrord::wire
