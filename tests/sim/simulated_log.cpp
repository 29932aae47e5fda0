#include "tests/sim/simulated_log.hpp"

#include "base/broker_error.hpp"
#include "base/check.hpp"
#include "tests/sim/batch_bytes.hpp"
#include "wire/records.hpp"

#include <algorithm>

namespace mirrord::sim {

append_outcome simulated_log::produce(std::span<const std::byte> bytes, std::int32_t leader_epoch) {
  const auto batch = only_batch(bytes);
  if (!batch) return {code_of(kafka_error::invalid_record)};
  if (const auto code = validate(*batch); code != 0) return {code};
  const auto verdict = producers_.check_data(batch->header);
  if (verdict.code != 0) return {verdict.code};
  if (verdict.duplicate_of) return {0, *verdict.duplicate_of, true};
  const auto base_offset = end_;
  store({bytes.begin(), bytes.end()}, base_offset, leader_epoch);
  replay(entries_.at(base_offset).view());
  return {0, base_offset};
}

std::int16_t simulated_log::validate(const wire::stored_batch& batch) const {
  const wire::batch_header& header = batch.header;
  const auto invalid = code_of(kafka_error::invalid_record);
  if (header.base_offset != 0) return invalid;
  if (batch.bytes.size() > settings_.batch_bytes_max) return code_of(kafka_error::message_too_large);
  if (!wire::verify_crc(batch)) return code_of(kafka_error::corrupt_message);
  if (header.magic != 2 || header.is_control()) return invalid;
  if (header.record_count <= 0 || header.record_count != header.last_offset_delta + 1) return invalid;
  if (header.producer_id >= 0 && header.base_sequence < 0) return invalid;
  if (header.producer_id < 0 && header.is_transactional()) return invalid;
  const auto records = decode(batch);
  if (!records || records->size() != static_cast<std::size_t>(header.record_count)) return invalid;
  std::int32_t expected = 0;
  for (const auto& record : *records)
    if (record.offset_delta != expected++ || (settings_.compacts && !record.key)) return invalid;
  return 0;
}

append_outcome simulated_log::mark(std::int64_t producer, std::int16_t epoch, bool commit, std::int32_t coordinator_epoch,
                                   std::int32_t leader_epoch, std::int64_t now_ms) {
  if (const auto code = producers_.check_marker(producer, epoch, coordinator_epoch); code != 0) return {code};
  const auto base_offset = end_;
  const auto marker = control_batch(producer, epoch, commit ? 1 : 0, coordinator_epoch, now_ms);
  store(encode(marker), base_offset, leader_epoch);
  replay(entries_.at(base_offset).view());
  return {0, base_offset};
}

std::int64_t simulated_log::append_unchecked(std::vector<std::byte> batch, std::int32_t leader_epoch) {
  const auto base_offset = end_;
  store(std::move(batch), base_offset, leader_epoch);
  replay(entries_.at(base_offset).view());
  return base_offset;
}

void simulated_log::store(std::vector<std::byte> bytes, std::int64_t base_offset, std::int32_t leader_epoch) {
  place(bytes, base_offset, leader_epoch);
  const auto batch = only_batch(bytes);
  MIRRORD_CHECK(batch, "a simulated log stores something that is no batch");
  end_ = batch->header.next_offset();
  entries_.emplace(base_offset, log_entry{batch->header, std::move(bytes)});
}

void simulated_log::replay(const wire::stored_batch& batch) {
  const wire::batch_header& header = batch.header;
  if (!header.is_control()) {
    if (header.producer_id >= 0 && header.is_transactional()) {
      const auto known = producers_.entries().find(header.producer_id);
      if (known == producers_.entries().end() || !known->second.open_since)
        transactions_[header.producer_id].push_back({header.producer_id, header.base_offset, std::nullopt, false});
    }
    producers_.apply_data(header, header.base_offset);
    return;
  }
  const auto marker = wire::read_control_marker(batch);
  if (!marker || (marker->type != wire::control_type::abort && marker->type != wire::control_type::commit)) return;
  const auto ended = producers_.apply_marker(header.producer_id, header.producer_epoch, marker->coordinator_epoch, header.max_timestamp);
  if (!ended) return;
  auto& last = transactions_[header.producer_id].back();
  last.end_offset = header.base_offset;
  last.committed = marker->type == wire::control_type::commit;
}

std::int16_t simulated_log::delete_records(std::int64_t offset, std::int64_t limit) {
  if (!settings_.deletes) return code_of(kafka_error::policy_violation);
  if (offset < 0 || offset > limit) return code_of(kafka_error::offset_out_of_range);
  move_start(offset);
  return 0;
}

void simulated_log::move_start(std::int64_t offset) { start_ = std::max(start_, std::min(offset, end_)); }

void simulated_log::truncate(std::int64_t end) {
  entries_.erase(entries_.lower_bound(end), entries_.end());
  producers_ = {};
  transactions_.clear();
  end_ = entries_.empty() ? 0 : entries_.rbegin()->second.header.next_offset();
  for (const auto& [base_offset, entry] : entries_) replay(entry.view());
}

void simulated_log::replace(std::int64_t base_offset, std::optional<std::vector<std::byte>> bytes) {
  const auto found = entries_.find(base_offset);
  MIRRORD_CHECK(found != entries_.end(), "no batch begins at {}", base_offset);
  if (!bytes) {
    entries_.erase(found);
    return;
  }
  place(*bytes, base_offset, found->second.header.partition_leader_epoch);
  const auto batch = only_batch(*bytes);
  MIRRORD_CHECK(batch && batch->header.next_offset() == found->second.header.next_offset(), "compaction changed the offsets of {}", base_offset);
  found->second = {batch->header, std::move(*bytes)};
}

std::int64_t simulated_log::first_batch_at_start() const {
  auto entry = entries_.upper_bound(start_);
  if (entry != entries_.begin() && std::prev(entry)->second.header.next_offset() > start_) --entry;
  return entry == entries_.end() ? start_ : entry->first;
}

std::int64_t simulated_log::last_stable(std::int64_t high_watermark) const {
  auto stable = high_watermark;
  for (const auto& [producer, transactions] : transactions_) {
    // From the newest back: a producer's transactions follow each other.
    for (auto transaction = transactions.rbegin(); transaction != transactions.rend(); ++transaction) {
      if (transaction->end_offset && *transaction->end_offset < high_watermark) break;
      stable = std::min(stable, transaction->first_offset < start_ ? first_batch_at_start() : transaction->first_offset);
    }
  }
  return stable;
}

const log_transaction* simulated_log::transaction_at(std::int64_t producer, std::int64_t offset) const {
  const auto found = transactions_.find(producer);
  if (found == transactions_.end()) return nullptr;
  for (const auto& transaction : found->second)
    if (transaction.first_offset <= offset && (!transaction.end_offset || offset < *transaction.end_offset)) return &transaction;
  return nullptr;
}

}  // namespace mirrord::sim
