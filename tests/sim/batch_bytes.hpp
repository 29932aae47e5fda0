// Record batches of magic 2 written byte by byte, with any header and any offsets: what a source log can hold after
// compaction, from other clients, or from a newer broker, and what no builder of the product would make.
//
// Written apart from lib/wire's encoder on purpose, so that each is a check of the other.
#pragma once

#include "wire/compression.hpp"
#include "wire/record_batch.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace mirrord::sim {

struct record_spec {
  std::int32_t offset_delta = 0;
  std::optional<std::string> key;
  std::optional<std::string> value;
  std::vector<std::pair<std::string, std::optional<std::string>>> headers;
  std::int64_t timestamp = 0;
  friend bool operator==(const record_spec&, const record_spec&) = default;
};

struct batch_spec {
  std::int64_t base_offset = 0;
  std::int32_t leader_epoch = -1;
  wire::codec compression = wire::codec::none;
  bool transactional = false;
  bool control = false;
  std::optional<std::int64_t> append_time;     // LogAppendTime: the batch's max timestamp and its attribute bit
  std::optional<std::int64_t> delete_horizon;  // the batch's base timestamp and its attribute bit
  std::int64_t producer_id = -1;
  std::int16_t producer_epoch = -1;
  std::int32_t base_sequence = -1;
  std::int32_t last_offset_delta = 0;
  std::vector<record_spec> records;
};

// Consecutive records from delta 0 on.
[[nodiscard]] batch_spec consecutive(std::vector<record_spec> records);

[[nodiscard]] std::vector<std::byte> encode(const batch_spec& spec);

// A control batch of one record; type 0 is ABORT, 1 COMMIT, anything else is for later brokers to explain.
[[nodiscard]] batch_spec control_batch(std::int64_t producer_id, std::int16_t producer_epoch, std::int16_t type,
                                       std::int32_t coordinator_epoch, std::int64_t timestamp);

// Overwrites the two fields outside the checksum, as a leader does when it appends.
void place(std::vector<std::byte>& batch, std::int64_t base_offset, std::int32_t leader_epoch);

// The records of a stored batch, read by the product's reader; nothing where it does not parse.
[[nodiscard]] std::optional<std::vector<record_spec>> decode(const wire::stored_batch& batch);

// The single batch that `bytes` hold.
[[nodiscard]] std::optional<wire::stored_batch> only_batch(std::span<const std::byte> bytes);

}  // namespace mirrord::sim
