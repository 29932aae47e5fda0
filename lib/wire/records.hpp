// Single records: reading them out of a stored batch of any magic, and building batches of magic 2 from them. Needed
// only where a batch cannot be sent on as it is (legacy formats, append times, holes, splitting, merging).
//
// A record is a view; null and empty keys and values, the order of headers and repeated header keys are preserved.
// Views out of a record_reader live as long as the reader and the bytes it was opened on.
#pragma once

#include "base/error.hpp"
#include "wire/record_batch.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace mirrord::wire {

using bytes_view = std::span<const std::byte>;

struct header_view {
  bytes_view key;  // never null in Kafka
  std::optional<bytes_view> value{};
};

struct record_view {
  std::int64_t offset = 0;
  std::int64_t timestamp = no_timestamp;
  std::optional<bytes_view> key{};
  std::optional<bytes_view> value{};
  // The headers as they are stored (key length, key, value length, value, ...), so that re-encoding copies them whole.
  std::int32_t header_count = 0;
  bytes_view raw_headers{};
};

// The headers of a record that came out of a record_reader (which has checked them) or of encode_headers().
[[nodiscard]] std::vector<header_view> headers_of(const record_view& record);

// The stored form of headers, for record_view::raw_headers.
[[nodiscard]] std::vector<std::byte> encode_headers(std::span<const header_view> headers);

// How far one batch may grow when it is decompressed, unless the caller knows better.
inline constexpr std::size_t decompressed_bytes_max = std::size_t{256} << 20;

// Reads one stored batch record by record, in order of offsets; decompresses it when opened. Any magic; a batch without
// records gives none. In a batch with append time every record's timestamp is that time. Never reads past the batch;
// what does not parse is `malformed`, and after an error the reader is of no further use.
class record_reader {
 public:
  [[nodiscard]] static result<record_reader> open(const stored_batch& batch, std::size_t limit = decompressed_bytes_max);

  record_reader(record_reader&&) noexcept = default;
  record_reader& operator=(record_reader&&) noexcept = default;
  record_reader(const record_reader&) = delete;
  record_reader& operator=(const record_reader&) = delete;

  [[nodiscard]] result<std::optional<record_view>> next();

 private:
  record_reader() = default;
  [[nodiscard]] result<std::optional<record_view>> next_legacy();

  batch_header header_;
  std::vector<std::byte> decompressed_;
  bytes_view rest_;
  std::int64_t smallest_next_offset_ = 0;
  std::int32_t left_ = 0;
  std::vector<record_view> legacy_;
  std::size_t legacy_next_ = 0;
};

struct batch_options {
  codec compression = codec::none;
  bool transactional = false;
};

// Builds one batch of magic 2 with create times: records with consecutive offsets go in, the bytes to append come out
// (base offset 0, leader epoch -1, as patched_header()). A timestamp of -1 stays -1: brokers let records without a time
// pass, whatever the topic's timestamp bounds. Reusable: finish() leaves an empty builder.
class batch_builder {
 public:
  explicit batch_builder(batch_options options) : options_(options) {}

  // The record's offset must follow the one before; the first one can be any.
  void add(const record_view& record);

  [[nodiscard]] std::int32_t record_count() const noexcept { return count_; }
  [[nodiscard]] bool empty() const noexcept { return count_ == 0; }
  // Bytes of the batch before compression; what add() would make of it is size_with(record).
  [[nodiscard]] std::size_t size_estimate() const noexcept { return batch_header_bytes + records_.size(); }
  [[nodiscard]] std::size_t size_with(const record_view& record) const;

  // limit_exceeded where the batch does not fit Kafka's 32-bit length. Needs at least one record.
  [[nodiscard]] result<std::vector<std::byte>> finish(const batch_patch& patch);

 private:
  batch_options options_;
  std::vector<std::byte> records_;
  std::int32_t count_ = 0;
  std::int64_t first_offset_ = 0;
  std::int64_t base_timestamp_ = no_timestamp;
  std::int64_t max_timestamp_ = no_timestamp;
};

// A batch of `count` records that only use up offsets: empty key (a compacted topic refuses null keys), empty value,
// timestamp 0, compressed with zstd (needs Produce v7). The records depend on `count` alone: keep one batch and patch
// its header for each append.
[[nodiscard]] result<std::vector<std::byte>> filler_batch(std::int32_t count, const batch_patch& patch);

}  // namespace mirrord::wire
