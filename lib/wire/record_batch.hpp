// Record batches as a broker stores them: walking the record bytes of a Fetch answer, the header of each batch, its
// checksum, the patched header under which it is sent on, and transaction markers.
//
// Everything is a view into the caller's buffer; payloads are never copied here. Magic 2 is Kafka's DefaultRecordBatch;
// entries of magic 0 and 1 (one message or one compressed wrapper each) are found too, for legacy_messages.hpp.
#pragma once

#include "base/error.hpp"
#include "wire/compression.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace mirrord::wire {

inline constexpr std::size_t batch_header_bytes = 61;
inline constexpr std::int64_t no_timestamp = -1;
inline constexpr std::int64_t no_producer_id = -1;

// The header of a batch of magic 2, field by field in the order of the bytes.
//
// For an entry of magic 0 or 1 only base_offset, batch_length, magic, crc, attributes (codec, and for magic 1 the time
// type) and the timestamps (magic 1; both the message's) come from the bytes; the rest is what "absent" means for it:
// leader epoch, producer id, epoch and sequence -1, last_offset_delta 0. base_offset is the entry's offset field: the
// offset of a plain message, and of a compressed wrapper the offset of its LAST inner message. So last_offset() and
// next_offset() hold for every magic; the first offset of a wrapper is known only after decoding, and its record_count
// is -1 (1 for a plain message).
struct batch_header {
  std::int64_t base_offset = 0;
  std::int32_t batch_length = 0;  // bytes that follow this field
  std::int32_t partition_leader_epoch = -1;
  std::int8_t magic = 2;
  std::uint32_t crc = 0;
  std::int16_t attributes = 0;
  std::int32_t last_offset_delta = 0;  // kept by compaction, so offsets up to last_offset() are used up
  std::int64_t base_timestamp = no_timestamp;
  std::int64_t max_timestamp = no_timestamp;  // the append time where has_append_time()
  std::int64_t producer_id = no_producer_id;
  std::int16_t producer_epoch = -1;
  std::int32_t base_sequence = -1;
  std::int32_t record_count = 0;  // fewer than last_offset_delta + 1 where compaction left holes

  [[nodiscard]] bool has_append_time() const noexcept { return (attributes & 0x08) != 0; }
  [[nodiscard]] bool is_transactional() const noexcept { return (attributes & 0x10) != 0; }
  [[nodiscard]] bool is_control() const noexcept { return (attributes & 0x20) != 0; }
  // Set by the cleaner (KIP-534): base_timestamp then holds the delete horizon, and the records' deltas count from it.
  [[nodiscard]] bool has_delete_horizon() const noexcept { return (attributes & 0x40) != 0; }
  [[nodiscard]] codec compression() const noexcept { return static_cast<codec>(attributes & 0x07); }
  [[nodiscard]] bool is_legacy() const noexcept { return magic < 2; }
  [[nodiscard]] std::int64_t last_offset() const noexcept { return base_offset + last_offset_delta; }
  [[nodiscard]] std::int64_t next_offset() const noexcept { return last_offset() + 1; }
};

struct stored_batch {
  batch_header header;
  std::span<const std::byte> bytes;  // the whole entry, offset field included
};

// Yields the batches of a Fetch answer one after the other. A broker cuts an answer at its size limit without regard
// to batches, so the bytes may end within one: that ends the walk as the end of the bytes does (partial_tail_bytes()
// tells the two apart). Anything that cannot be the start of a batch is `malformed`, with the byte position.
// A batch may begin before the offset that was asked for; checksums are not verified here.
class batch_cursor {
 public:
  explicit batch_cursor(std::span<const std::byte> records) noexcept : records_(records) {}

  [[nodiscard]] result<std::optional<stored_batch>> next();

  // Bytes at the end that belong to a batch which was cut off; meaningful after next() gave no batch.
  [[nodiscard]] std::size_t partial_tail_bytes() const noexcept { return records_.size() - position_; }

 private:
  std::span<const std::byte> records_;
  std::size_t position_ = 0;
};

// `malformed` where the stored checksum is not that of the bytes (CRC-32C for magic 2, CRC-32 before).
[[nodiscard]] result<void> verify_crc(const stored_batch& batch);

struct batch_patch {
  std::int64_t producer_id = no_producer_id;
  std::int16_t producer_epoch = -1;
  std::int32_t base_sequence = -1;
};

// The header under which a stored batch of magic 2 is appended elsewhere, to be sent in place of its first 61 bytes:
// base offset 0 and leader epoch -1 (the broker sets both), the patch's producer fields, the delete-horizon bit cleared
// (base_timestamp stays, because the records' deltas count from it), and the CRC that results. A wrong stored CRC stays
// wrong, so the receiving broker refuses a payload that was damaged here or before.
[[nodiscard]] std::array<std::byte, batch_header_bytes> patched_header(const stored_batch& batch, const batch_patch& patch);

enum class control_type : std::uint8_t {
  abort,
  commit,
  other,  // control records of KRaft and types to come
  none,   // no record: compaction removed the marker and left the batch
};

struct control_marker {
  control_type type = control_type::none;
  std::int32_t coordinator_epoch = -1;  // abort and commit only
};

// The marker in a control batch of magic 2.
[[nodiscard]] result<control_marker> read_control_marker(const stored_batch& batch);

}  // namespace mirrord::wire
