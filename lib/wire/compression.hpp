// The four codecs of record batches (and none), on whole buffers.
//
// Output grows as it is produced: no size that the input claims is ever allocated or believed, and what would pass
// `limit` is refused. What compress() writes is what Kafka's own readers take (see each codec's file for their limits).
// Errors of decompress(): malformed (cut, corrupt, trailing bytes), limit_exceeded, unsupported (unknown codec).
#pragma once

#include "base/error.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace mirrord::wire {

// The low three bits of a batch's attributes; 5 to 7 are not given out and can occur in foreign data.
enum class codec : std::uint8_t { none = 0, gzip = 1, snappy = 2, lz4 = 3, zstd = 4 };

// "none", "gzip", "snappy", "lz4", "zstd", or "unknown".
[[nodiscard]] std::string_view name(codec c) noexcept;

[[nodiscard]] result<std::vector<std::byte>> decompress(codec c, std::span<const std::byte> compressed, std::size_t limit);

// For the payload of a message of magic 0 compressed with lz4: producers of that time took the frame descriptor's
// checksum over the wrong bytes (KAFKA-3160), so it is not compared here.
[[nodiscard]] result<std::vector<std::byte>> decompress_magic0_lz4(std::span<const std::byte> compressed, std::size_t limit);

[[nodiscard]] result<std::vector<std::byte>> compress(codec c, std::span<const std::byte> plain);

}  // namespace mirrord::wire
