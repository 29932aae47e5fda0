// One partition's log on its leader: batches as stored, who may append, log start, last stable offset, and the outcome
// of each transaction. Both sides of the simulation are made of it.
//
// Synchronous and without time: replication, leader epochs and faults are the business of whoever owns it. Offsets
// below the log start stay readable to the checks, not to fetches.
#pragma once

#include "tests/sim/producer_table.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

namespace mirrord::sim {

struct log_settings {
  std::size_t batch_bytes_max = 1'048'588;  // max.message.bytes
  bool compacts = false;                    // cleanup.policy has `compact`: no null keys
  bool deletes = true;                      // cleanup.policy has `delete`: DeleteRecords is possible
};

struct log_entry {
  wire::batch_header header;
  std::vector<std::byte> bytes;
  [[nodiscard]] wire::stored_batch view() const { return {header, bytes}; }
};

// A transaction as this log tells it.
struct log_transaction {
  std::int64_t producer = -1;
  std::int64_t first_offset = 0;
  std::optional<std::int64_t> end_offset;  // of its marker
  bool committed = false;
};

struct append_outcome {
  std::int16_t code = 0;
  std::int64_t base_offset = -1;
  bool duplicate = false;
};

// The codes in the answer to one WriteTxnMarkers request: the broker keeps one per producer id and partition, and what
// completes later overwrites it. A refusal completes at once, an append with its replication: at once where there is
// nothing to replicate to.
class marker_codes {
 public:
  explicit marker_codes(bool replicates) : replicates_(replicates) {}
  void add(std::int64_t producer, std::int16_t code) {
    if (code == 0 || !replicates_) codes_[producer] = code;
    else codes_.try_emplace(producer, code);
  }
  [[nodiscard]] const std::map<std::int64_t, std::int16_t>& of_producers() const noexcept { return codes_; }

 private:
  bool replicates_;
  std::map<std::int64_t, std::int16_t> codes_;
};

class simulated_log {
 public:
  explicit simulated_log(log_settings settings = {}) : settings_(settings) {}

  // A client's Produce: all that a broker checks, then the append.
  append_outcome produce(std::span<const std::byte> batch, std::int32_t leader_epoch);

  // One marker of a WriteTxnMarkers request.
  append_outcome mark(std::int64_t producer, std::int16_t epoch, bool commit, std::int32_t coordinator_epoch,
                      std::int32_t leader_epoch, std::int64_t now_ms);

  // What is in the log without a broker's checks: append times, control batches of other types; takes the next offset.
  std::int64_t append_unchecked(std::vector<std::byte> batch, std::int32_t leader_epoch);

  // DeleteRecords; `limit` is the high watermark.
  std::int16_t delete_records(std::int64_t offset, std::int64_t limit);

  // Retention, which asks nobody.
  void move_start(std::int64_t offset);

  // The log as the next leader has it: nothing from `end` on, producers replayed.
  void truncate(std::int64_t end);

  // Compaction: the batch that begins at `base_offset` becomes another one, or nothing.
  void replace(std::int64_t base_offset, std::optional<std::vector<std::byte>> batch);

  [[nodiscard]] std::int64_t start() const noexcept { return start_; }
  [[nodiscard]] std::int64_t end() const noexcept { return end_; }
  // First offset of the oldest transaction without an end below `high_watermark`, or that. A transaction that is open
  // since before the log start counts from the first batch that reaches beyond the start, which may begin below it.
  [[nodiscard]] std::int64_t last_stable(std::int64_t high_watermark) const;
  [[nodiscard]] const std::map<std::int64_t, log_entry>& entries() const noexcept { return entries_; }  // by base offset
  [[nodiscard]] const producer_table& producers() const noexcept { return producers_; }
  // The transaction that a transactional record of this producer at this offset belongs to.
  [[nodiscard]] const log_transaction* transaction_at(std::int64_t producer, std::int64_t offset) const;
  [[nodiscard]] const log_settings& settings() const noexcept { return settings_; }
  void forget_producer(std::int64_t producer) { producers_.forget(producer); }

 private:
  [[nodiscard]] std::int64_t first_batch_at_start() const;
  [[nodiscard]] std::int16_t validate(const wire::stored_batch& batch) const;
  void store(std::vector<std::byte> bytes, std::int64_t base_offset, std::int32_t leader_epoch);
  void replay(const wire::stored_batch& batch);

  log_settings settings_;
  std::map<std::int64_t, log_entry> entries_;
  producer_table producers_;
  std::map<std::int64_t, std::vector<log_transaction>> transactions_;  // by producer, in order of offsets
  std::int64_t start_ = 0;
  std::int64_t end_ = 0;
};

}  // namespace mirrord::sim
