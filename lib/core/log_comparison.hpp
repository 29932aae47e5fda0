// Compares the logs of one partition on two clusters, offset by offset, as their batches come in.
//
// Equal means what consumers can see: the same records at the same offsets with the same key, value, headers and
// timestamp, in transactions with the same outcome. What a mirror rewrites is no difference: producer ids (a transaction
// on one side is paired with one on the other from its first record to its marker), leader epochs, the time type (an
// append time becomes the record's own), how records are split into batches, and offsets without a record, which hold
// lone markers (filler) on the destination. Where two batches are the same bytes, nothing is decoded.
//
// On a compacted topic a record may be missing on one side if compaction explains it (missing_records.hpp).
//
// Pure: no I/O, no clock. Memory: the batches that were added and not yet compared, and the missing records.
#pragma once

#include "core/log_difference.hpp"
#include "core/missing_records.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace mirrord::core {

enum class log_side : std::uint8_t { source, destination };

[[nodiscard]] constexpr log_side other(log_side side) noexcept { return side == log_side::source ? log_side::destination : log_side::source; }

template <class T>
struct both_sides {
  T source{};
  T destination{};
  [[nodiscard]] T& operator[](log_side side) noexcept { return side == log_side::source ? source : destination; }
  [[nodiscard]] const T& operator[](log_side side) const noexcept { return side == log_side::source ? source : destination; }
};

// Where a log begins and ends for consumers, read at one moment.
struct log_bounds {
  std::int64_t start = 0;
  std::int64_t high_watermark = 0;
  std::int64_t last_stable_offset = 0;
};

struct comparison_rules {
  both_sides<log_bounds> bounds;  // the destination's were read first, so that it cannot be ahead
  bool compacted = false;         // cleanup.policy of either side has `compact`
  // Tombstones older than this (Unix time in ms) may have been removed.
  both_sides<std::int64_t> tombstones_expire_before;
  std::size_t missing_max = 2'000'000;  // records of compacted topics that wait for an explanation; 80 bytes each
  std::size_t differences_kept = 20;
};

class log_comparison {
 public:
  explicit log_comparison(comparison_rules rules);

  // Both sides have [start(), end()) unless something is wrong; it is compared.
  [[nodiscard]] std::int64_t start() const noexcept { return start_; }
  [[nodiscard]] std::int64_t end() const noexcept { return end_; }
  // Everything below is compared.
  [[nodiscard]] std::int64_t position() const noexcept { return position_; }
  [[nodiscard]] bool done() const noexcept { return position_ >= end_; }

  // The offset at which a side must be read next.
  [[nodiscard]] std::int64_t known_to(log_side side) const noexcept { return cursors_[side].known_to(); }

  // The next batch of a side, and what keeps its bytes alive.
  void add(log_side side, const wire::stored_batch& batch, std::shared_ptr<const void> owner) { cursors_[side].push(batch, std::move(owner)); }
  // The side has nothing between what was added and `offset`.
  void nothing_before(log_side side, std::int64_t offset) { cursors_[side].pass_to(offset); }
  // A side has lost what is below `offset` meanwhile (retention): start() is there now.
  void skip_to(std::int64_t offset);

  // Compares as far as both sides are known. An error means that a side's bytes do not parse, or too much is missing.
  [[nodiscard]] result<void> advance();

  // After done(): compares the ends, and judges what is still missing.
  void finish();

  // What was found, in the order of finding; at most `differences_kept` of them are kept.
  [[nodiscard]] const std::vector<difference>& differences() const noexcept { return differences_; }
  [[nodiscard]] std::uint64_t difference_count() const noexcept { return difference_count_; }

 private:
  struct open_transaction {
    std::int64_t first_offset = 0;
    std::optional<std::int64_t> partner;  // producer id of the same transaction on the other side
  };
  using transactions = std::map<std::int64_t, open_transaction>;  // by producer id

  void begin_at(std::int64_t offset);
  [[nodiscard]] bool take_equal_batches(result<void>& outcome);
  [[nodiscard]] result<void> tell_keys(const wire::stored_batch& batch, std::int64_t source_producer, std::int64_t destination_producer);
  [[nodiscard]] result<void> compare_at(std::int64_t offset, const log_item* source, const log_item* destination);
  void compare_records(const log_item& source, const log_item& destination);
  void compare_controls(std::int64_t offset, const log_item* source, const log_item* destination);
  [[nodiscard]] result<void> record_on_one_side(log_side has, const log_item& item, const log_item* instead);
  void note_record(log_side side, const log_item& item);
  void pair(std::int64_t offset, std::int64_t source_producer, std::int64_t destination_producer);
  open_transaction& opened(log_side side, std::int64_t producer_id, std::int64_t offset);
  [[nodiscard]] const open_transaction* ended_by(log_side side, const log_item* marker) const;
  void close(const log_item* source, const log_item* destination);
  void compare_stable_offsets();
  void report(std::int64_t offset, difference_kind kind, std::string source, std::string destination);

  comparison_rules rules_;
  std::int64_t start_;
  std::int64_t end_;
  std::int64_t position_;
  both_sides<log_cursor> cursors_;
  both_sides<transactions> open_;
  both_sides<missing_records> missing_on_;
  std::vector<difference> differences_;
  std::uint64_t difference_count_ = 0;
};

}  // namespace mirrord::core
