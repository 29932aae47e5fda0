#include "tests/sim/producer_table.hpp"

#include "base/broker_error.hpp"

#include <limits>

namespace mirrord::sim {

namespace {

constexpr std::size_t remembered_batches = 5;  // ProducerStateEntry.NUM_BATCHES_TO_RETAIN
constexpr std::int64_t expiration_ms = 86'400'000;  // producer.id.expiration.ms

data_verdict refuse(kafka_error e) { return {code_of(e), std::nullopt}; }

bool follows(std::int32_t last, std::int32_t next) {
  return (last == std::numeric_limits<std::int32_t>::max() && next == 0) || next == static_cast<std::int64_t>(last) + 1;
}

}  // namespace

std::int32_t last_sequence_of(std::int32_t first, std::int32_t records) {
  const auto sum = static_cast<std::int64_t>(first) + records - 1;
  const auto limit = static_cast<std::int64_t>(std::numeric_limits<std::int32_t>::max());
  return static_cast<std::int32_t>(sum > limit ? sum - limit - 1 : sum);
}

data_verdict producer_table::check_data(const wire::batch_header& batch) const {
  if (batch.producer_id < 0) return {};
  const auto found = entries_.find(batch.producer_id);
  if (found == entries_.end()) return {};  // unknown: any epoch and sequence will do
  const producer_entry& known = found->second;
  const auto last = last_sequence_of(batch.base_sequence, batch.record_count);
  if (batch.producer_epoch == known.epoch) {
    for (const auto& range : known.recent)
      if (range.first_sequence == batch.base_sequence && range.last_sequence == last) return {0, range.base_offset};
  }
  if (batch.producer_epoch < known.epoch) return refuse(kafka_error::invalid_producer_epoch);
  if (known.epoch < 0) {
    // As good as unknown.
  } else if (batch.producer_epoch > known.epoch) {
    if (batch.base_sequence != 0) return refuse(kafka_error::out_of_order_sequence_number);
  } else if (!follows(known.last_sequence(), batch.base_sequence)) {
    return refuse(kafka_error::out_of_order_sequence_number);
  }
  if (known.open_since && !batch.is_transactional()) return refuse(kafka_error::invalid_txn_state);
  return {};
}

void producer_table::apply_data(const wire::batch_header& batch, std::int64_t base_offset) {
  if (batch.producer_id < 0) return;
  producer_entry& entry = entries_[batch.producer_id];
  if (entry.epoch != batch.producer_epoch) {
    entry.recent.clear();
    entry.epoch = batch.producer_epoch;
  }
  entry.recent.push_back({batch.base_sequence, last_sequence_of(batch.base_sequence, batch.record_count), base_offset});
  if (entry.recent.size() > remembered_batches) entry.recent.pop_front();
  entry.last_timestamp = batch.max_timestamp;
  if (batch.is_transactional() && !entry.open_since) entry.open_since = base_offset;
}

std::int16_t producer_table::check_marker(std::int64_t producer, std::int16_t epoch, std::int32_t coordinator_epoch) const {
  const auto found = entries_.find(producer);
  if (found == entries_.end()) return 0;
  if (epoch < found->second.epoch) return code_of(kafka_error::invalid_producer_epoch);
  if (coordinator_epoch < found->second.coordinator_epoch) return code_of(kafka_error::transaction_coordinator_fenced);
  return 0;
}

std::optional<std::int64_t> producer_table::apply_marker(std::int64_t producer, std::int16_t epoch, std::int32_t coordinator_epoch,
                                                         std::int64_t timestamp) {
  producer_entry& entry = entries_[producer];
  if (entry.epoch != epoch) {
    entry.recent.clear();
    entry.epoch = epoch;
  }
  entry.coordinator_epoch = coordinator_epoch;
  entry.last_timestamp = timestamp;
  const auto ended = entry.open_since;
  entry.open_since.reset();
  return ended;
}

std::vector<std::int64_t> producer_table::expired(std::int64_t now_ms) const {
  std::vector<std::int64_t> gone;
  for (const auto& [producer, entry] : entries_)
    if (!entry.open_since && now_ms - entry.last_timestamp >= expiration_ms) gone.push_back(producer);
  return gone;
}

}  // namespace mirrord::sim
