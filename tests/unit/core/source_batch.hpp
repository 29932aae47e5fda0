// Batches as a source's log can hold them, written byte by byte: any magic, holes, append times, delete horizons, control
// records, emptied batches. The product's builder makes none of these, so it is no part of this.
#pragma once

#include "core/write_plan.hpp"
#include "wire/compression.hpp"
#include "wire/record_batch.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace mirrord::core_tests {

struct source_record {
  std::int64_t offset = 0;
  std::int64_t timestamp = 0;  // as the producer gave it; hidden where the batch has an append time
  std::optional<std::string> key;
  std::optional<std::string> value;
  std::vector<std::pair<std::string, std::optional<std::string>>> headers;
  friend bool operator==(const source_record&, const source_record&) = default;
};

enum class control : std::uint8_t { none, abort, commit, unknown, emptied };

struct source_batch {
  std::int8_t magic = 2;
  std::int64_t base_offset = 0;
  std::int64_t last_offset = 0;  // magic 0 and 1: the offset of the last record
  std::vector<source_record> records;
  wire::codec compression = wire::codec::none;
  std::int64_t producer_id = -1;
  std::int16_t producer_epoch = 3;
  bool transactional = false;
  core_tests::control control = core_tests::control::none;
  std::optional<std::int64_t> append_time;
  std::optional<std::int64_t> delete_horizon;

  [[nodiscard]] std::int64_t next_offset() const noexcept { return last_offset + 1; }
};

// Records without headers at the given offsets of [base, last], each with a key, a value and a time of its own.
[[nodiscard]] source_batch batch_of(std::int64_t base, std::int64_t last, const std::vector<std::int64_t>& offsets);

// The same at every offset of [base, last].
[[nodiscard]] source_batch dense_batch(std::int64_t base, std::int64_t last);

[[nodiscard]] source_batch transactional(source_batch batch, std::int64_t producer_id);
[[nodiscard]] source_batch compressed(source_batch batch, wire::codec compression);
[[nodiscard]] source_batch control_batch(std::int64_t offset, std::int64_t producer_id, control what);

// As many records as `model` has, of magic 0 or 1: one wrapper where it is compressed, else it must be one record.
[[nodiscard]] source_batch legacy(source_batch batch, std::int8_t magic);

[[nodiscard]] std::vector<std::byte> encode(const source_batch& batch);

// A source log: the bytes of one Fetch answer and the batches that a cursor finds in them.
struct stored_log {
  std::vector<std::byte> bytes;
  std::vector<wire::stored_batch> batches;
};
[[nodiscard]] stored_log store(const std::vector<source_batch>& batches);

inline constexpr wire::codec all_codecs[] = {wire::codec::none, wire::codec::gzip, wire::codec::snappy, wire::codec::lz4, wire::codec::zstd};

}  // namespace mirrord::core_tests
