// What a partition leader knows about producers, and whom it lets append: Kafka's ProducerStateManager and
// ProducerAppendInfo, for brokers without transaction verification.
//
// A pure function of the log: replaying its batches gives the same table, which is how a new leader comes by it.
// Expiry is an explicit call, since it depends on the records' own times.
#pragma once

#include "wire/record_batch.hpp"

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <vector>

namespace mirrord::sim {

struct appended_range {
  std::int32_t first_sequence = 0;
  std::int32_t last_sequence = 0;
  std::int64_t base_offset = 0;
};

struct producer_entry {
  std::int16_t epoch = -1;
  std::deque<appended_range> recent;  // the last five batches of this epoch
  std::optional<std::int64_t> open_since;
  std::int32_t coordinator_epoch = -1;
  std::int64_t last_timestamp = -1;  // of the newest batch (its own max timestamp) or marker, not the largest one

  [[nodiscard]] std::int32_t last_sequence() const { return recent.empty() ? -1 : recent.back().last_sequence; }
};

struct data_verdict {
  std::int16_t code = 0;
  std::optional<std::int64_t> duplicate_of;  // base offset of the same batch, appended before
};

[[nodiscard]] std::int32_t last_sequence_of(std::int32_t first, std::int32_t records);

class producer_table {
 public:
  [[nodiscard]] data_verdict check_data(const wire::batch_header& batch) const;
  void apply_data(const wire::batch_header& batch, std::int64_t base_offset);

  [[nodiscard]] std::int16_t check_marker(std::int64_t producer, std::int16_t epoch, std::int32_t coordinator_epoch) const;
  // The first offset of the transaction that the marker ended, if one was open.
  std::optional<std::int64_t> apply_marker(std::int64_t producer, std::int16_t epoch, std::int32_t coordinator_epoch,
                                           std::int64_t timestamp);

  // What an expiry pass at `now_ms` would forget (producer.id.expiration.ms, one day).
  [[nodiscard]] std::vector<std::int64_t> expired(std::int64_t now_ms) const;

  [[nodiscard]] const std::map<std::int64_t, producer_entry>& entries() const noexcept { return entries_; }
  void forget(std::int64_t producer) { entries_.erase(producer); }

 private:
  std::map<std::int64_t, producer_entry> entries_;
};

}  // namespace mirrord::sim
