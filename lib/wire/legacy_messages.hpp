// Message formats of magic 0 and 1 (Kafka before 0.10 and 0.11; brokers before 4.0 still serve them from old segments).
//
// One entry of a Fetch answer is a plain message or a wrapper whose value is a compressed list of messages. Inner
// offsets are absolute in magic 0 and relative in magic 1, where the wrapper has the offset of the last inner message.
// A wrapper with append time (magic 1) gives its time to all of its messages; magic 0 has no times. Neither has headers.
#pragma once

#include "base/error.hpp"
#include "wire/record_batch.hpp"
#include "wire/records.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace mirrord::wire {

// Bytes of the smallest entry of magic 0 or 1: header, and the lengths of a null key and a null value.
[[nodiscard]] constexpr std::size_t smallest_legacy_entry(std::int8_t magic) noexcept { return magic == 0 ? 26 : 34; }

// The header of the entry that `bytes` holds (see batch_header for what the fields mean).
[[nodiscard]] result<batch_header> read_legacy_header(std::span<const std::byte> bytes);

// CRC-32 over what an entry's checksum covers: all that follows it.
[[nodiscard]] std::uint32_t legacy_crc(std::span<const std::byte> bytes) noexcept;

struct legacy_records {
  std::vector<std::byte> decompressed;  // what the views of a wrapper's messages point into
  std::vector<record_view> records;     // in order of offsets
};

// Inner messages carry checksums of their own, which are verified here; that of the entry is for verify_crc().
[[nodiscard]] result<legacy_records> decode_legacy(const stored_batch& batch, std::size_t limit);

}  // namespace mirrord::wire
