#include "tests/sim/sim_checks.hpp"

#include <algorithm>

namespace mirrord::sim {

using kind = offset_truth::kind;

namespace {

std::string_view outcome_name(const log_transaction* transaction) {
  if (!transaction) return "in no transaction";
  if (!transaction->end_offset) return "open";
  return transaction->committed ? "committed" : "aborted";
}

}  // namespace

void sim_checks::after_append(const log_entry& entry) {
  const bool is_pool_pid = std::any_of(state_.pool.begin(), state_.pool.end(), [&](const auto& known) { return known.second.value == entry.header.producer_id; });
  if (!is_pool_pid) wrong("offset {}: producer id {} is not of the pool", entry.header.base_offset, entry.header.producer_id);
  if (state_.partition.hand_over && !may_arrive_late_ && !notes_only_) wrong("offset {}: appended while a hand-over at {} is recorded", entry.header.base_offset, *state_.partition.hand_over);
  if (is_foreign_) return;
  if (entry.header.is_control()) check_marker(entry);
  else check_data(entry);
}

void sim_checks::check_data(const log_entry& entry) {
  const auto& header = entry.header;
  if (header.has_append_time() || header.has_delete_horizon()) wrong("offset {}: attributes {:#x}", header.base_offset, header.attributes);
  const auto writer = state_.pool.find(core::writer_index);
  const bool by_writer = writer != state_.pool.end() && writer->second.value == header.producer_id;
  if (by_writer == header.is_transactional()) wrong("offset {}: the wrong kind of producer id {}", header.base_offset, header.producer_id);
  const auto records = decode(entry.view());
  if (!records) return wrong("offset {}: does not decode", header.base_offset);
  const auto filled_to = state_.partition.fill_plan.value_or(-1);
  const bool is_bulk_filler = header.next_offset() <= filled_to && by_writer;
  for (const auto& record : *records) {
    if (is_bulk_filler && record.key == "" && record.value == "") continue;
    compare_record(entry, record);
  }
}

void sim_checks::compare_record(const log_entry& entry, const record_spec& record) {
  const auto offset = entry.header.base_offset + record.offset_delta;
  const auto* truth = source_.truth_at(offset);
  if (!truth || truth->what != kind::record) return wrong("offset {}: a record where the source never had one", offset);
  auto written = record;
  written.offset_delta = 0;
  if (written != truth->record) {
    return wrong("offset {}: key '{}' value '{}' time {} headers {}, the source had key '{}' value '{}' time {} headers {}", offset,
                            written.key.value_or("<null>"), written.value.value_or("<null>"), written.timestamp, written.headers.size(),
                            truth->record.key.value_or("<null>"), truth->record.value.value_or("<null>"), truth->record.timestamp,
                            truth->record.headers.size());
  }
  if (truth->transactional != entry.header.is_transactional()) wrong("offset {}: transactional on one side only", offset);
  if (!truth->transactional) return;
  // All data of one transaction here is data of one source producer.
  const auto* transaction = destination_.log().transaction_at(entry.header.producer_id, offset);
  const auto* first = transaction ? source_.truth_at(transaction->first_offset) : nullptr;
  if (!first || first->producer != truth->producer)
    wrong("offset {}: data of source producer {} in a transaction of source producer {}", offset, truth->producer, first ? first->producer : -1);
}

void sim_checks::check_marker(const log_entry& entry) {
  const auto offset = entry.header.base_offset;
  const auto* truth = source_.truth_at(offset);
  const auto* ended = destination_.log().transaction_at(entry.header.producer_id, offset - 1);
  if (ended && ended->end_offset != offset) ended = nullptr;
  if (source_.has_record(offset)) return wrong("offset {}: a marker where the source has a record", offset);
  if (!ended || ended->first_offset < source_.log().start()) return;
  if (may_lose_endings_ && !ended->committed && is_lost_on_source(*ended)) {
    ++lost_endings_;
    return;
  }
  if (!truth || truth->what != kind::end_marker) return wrong("offset {}: ends the transaction since {}, the source ended none here", offset, ended->first_offset);
  const auto* first = source_.truth_at(ended->first_offset);
  if (!first || first->producer != truth->producer)
    wrong("offset {}: ends the transaction since {}, which is another source producer's", offset, ended->first_offset);
  if (ended->committed != truth->commit)
    wrong("offset {}: {} on the destination, {} on the source", offset, ended->committed ? "COMMIT" : "ABORT", truth->commit ? "COMMIT" : "ABORT");
}

// The source's transaction is over, and the cleaner has taken all of its records that this one here holds.
bool sim_checks::is_lost_on_source(const log_transaction& here) const {
  const auto* first = source_.truth_at(here.first_offset);
  const auto* there = first ? source_.log().transaction_at(first->producer, here.first_offset) : nullptr;
  if (!there || !there->end_offset) return false;
  const auto end = here.end_offset.value_or(destination_.log().end());
  const auto& entries = destination_.log().entries();
  for (auto entry = entries.lower_bound(here.first_offset); entry != entries.end() && entry->first < end; ++entry) {
    const auto& header = entry->second.header;
    if (header.producer_id != here.producer || header.is_control()) continue;
    for (auto offset = header.base_offset; offset < header.next_offset(); ++offset)
      if (source_.has_record(offset)) return false;
  }
  return true;
}

bool sim_checks::has_unknown_outcome() const {
  for (const auto& [pid, entry] : destination_.log().producers().entries())
    if (entry.open_since && !source_.has_record(*entry.open_since)) return true;
  return false;
}

void sim_checks::before_hand_over(std::int64_t end, std::size_t under_way) {
  if (is_foreign_ || may_arrive_late_ || notes_only_) return;
  if (under_way != 0) wrong("hand-over at {} with {} writes under way", end, under_way);
  if (end != destination_.log().end()) wrong("hand-over at {}, the log ends at {}", end, destination_.log().end());
  if (end > destination_.committed()) wrong("hand-over at {}, only {} is replicated", end, destination_.committed());
}

void sim_checks::before_clear_fill_plan() {
  if (notes_only_) return;
  const auto plan = std::min(state_.partition.fill_plan.value_or(0), destination_.log().end());
  if (destination_.log().start() < plan) wrong("fill plan {} done, but the log starts at {}", plan, destination_.log().start());
}

void sim_checks::at_the_end(bool follows_start) {
  const auto& source = source_.log();
  const auto& destination = destination_.log();
  if (destination.end() != source.end()) wrong("log end {} on the destination, {} on the source", destination.end(), source.end());
  if (destination_.high_watermark() != destination.end()) wrong("high watermark {}, log end {}", destination_.high_watermark(), destination.end());
  if (follows_start && destination.start() != source.start()) wrong("log start {} on the destination, {} on the source", destination.start(), source.start());
  compare_stable();
  compare_logs(source.end());
}

void sim_checks::when_caught_up() {
  const auto& source = source_.log();
  const auto& destination = destination_.log();
  if (is_foreign_ || destination.end() != source.end() || destination.end() == stable_checked_at_) return;
  stable_checked_at_ = destination.end();
  // It is FAILED a moment after it has all; if not, the check at the end tells.
  if (may_lose_endings_ && has_unknown_outcome()) return;
  compare_stable();
}

void sim_checks::compare_stable() {
  const auto& source = source_.log();
  const auto& destination = destination_.log();
  if (is_foreign_ || destination.end() != source.end()) return;
  // Below the log start the batches differ, and nobody reads there.
  const auto start = std::max(source.start(), destination.start());
  const auto source_stable = std::max(source.last_stable(source.end()), start);
  const auto destination_stable = std::max(destination.last_stable(destination.end()), start);
  if (source_stable != destination_stable) wrong("last stable offset {} on the destination, {} on the source", destination_stable, source_stable);
}

std::string sim_checks::difference() {
  difference_.clear();
  stable_checked_at_ = -1;
  when_caught_up();
  compare_logs(std::min(destination_.log().end(), source_.log().end()));
  return difference_;
}

// Every record of the destination, and every record of the source that a reader can still get.
void sim_checks::compare_logs(std::int64_t end) {
  const auto& destination = destination_.log();
  const auto start = std::max(destination.start(), state_.partition.fill_plan.value_or(0));
  std::map<std::int64_t, std::int64_t> records;  // offset -> producer id
  for (const auto& [base_offset, entry] : destination.entries()) {
    if (entry.header.is_control() || entry.header.next_offset() <= start) continue;
    const auto decoded = decode(entry.view());
    if (!decoded) continue;  // told when it was appended
    for (const auto& record : *decoded) {
      const auto offset = base_offset + record.offset_delta;
      if (offset < start) continue;
      compare_record(entry, record);
      records.emplace(offset, entry.header.producer_id);
      if (offset >= source_.log().start()) compare_outcome(offset, entry.header.producer_id);
    }
  }
  for (auto offset = std::max(source_.log().start(), start); offset < end; ++offset)
    if (source_.has_record(offset) && !records.contains(offset)) wrong("offset {}: a record on the source only", offset);
}

void sim_checks::compare_outcome(std::int64_t offset, std::int64_t destination_producer) {
  const auto* truth = source_.truth_at(offset);
  if (!truth || !truth->transactional) return;
  const auto* on_source = source_.log().transaction_at(truth->producer, offset);
  const bool has_ended = on_source && on_source->end_offset && *on_source->end_offset < destination_.log().end();
  const auto here = outcome_name(destination_.log().transaction_at(destination_producer, offset));
  const auto there = on_source && !has_ended ? "open" : outcome_name(on_source);
  // Open is as invisible as aborted; that it does not stay open unnoticed, the last stable offset tells.
  const bool is_superseded = may_lose_endings_ && here != "committed" && !source_.has_record(offset) && on_source &&
                             on_source->end_offset;
  if (here != there && !is_superseded) wrong("offset {}: {} on the destination, {} on the source", offset, here, there);
}

}  // namespace mirrord::sim
