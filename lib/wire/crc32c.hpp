// CRC-32C (Castagnoli), the checksum of record batches of magic 2, and the arithmetic that changes one without reading
// the payload again.
//
// CRCs are linear over GF(2): for strings a, a' of one length and any b, crc(a'b) = crc(ab) ^ shift(crc(a) ^ crc(a'), |b|).
// That is how a 61-byte header is patched in front of a payload of any size. Pure functions, no state; the processor's
// own instruction is used where there is one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace mirrord::wire {

// `seed` is the CRC of what comes before `bytes`: crc32c(b, crc32c(a)) == crc32c(ab).
[[nodiscard]] std::uint32_t crc32c(std::span<const std::byte> bytes, std::uint32_t seed = 0) noexcept;

// `crc` times x^(8 * zero_bytes) modulo the polynomial, in O(log zero_bytes).
[[nodiscard]] std::uint32_t crc32c_shift(std::uint32_t crc, std::uint64_t zero_bytes) noexcept;

// The same result as crc32c() on every processor; public so that tests can hold one against the other.
[[nodiscard]] std::uint32_t crc32c_portable(std::span<const std::byte> bytes, std::uint32_t seed = 0) noexcept;

}  // namespace mirrord::wire
