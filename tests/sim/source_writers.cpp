#include "tests/sim/source_writers.hpp"

#include <algorithm>

namespace mirrord::sim {

writers_profile writers_profile::draw(sim_random& random) {
  writers_profile profile;
  profile.transactional_producers = random.chance(0.2) ? 0 : random.between(1, 5);
  profile.raises_epochs = random.chance(0.3);
  profile.compresses = random.chance(0.15);
  profile.append_times = random.chance(0.2);
  if (random.chance(0.3)) profile.old_batches = random.chance(0.5) ? 1.0 : random.uniform();
  profile.compacts = random.chance(0.4);
  profile.deletes = random.chance(0.6);
  // An overrun takes end markers with it, which is another story.
  profile.overruns = profile.transactional_producers == 0 && random.chance(0.5);
  profile.odd_controls = random.chance(0.5);
  profile.records_max = random.between(1, 12);
  profile.value_bytes_max = random.chance(0.2) ? 150 : 40;
  return profile;
}

source_writers::source_writers(sim_clock& clock, sim_random random, simulated_source& source, writers_profile profile,
                               std::function<std::int64_t()> mirrored, std::function<std::int64_t()> first_open)
    : clock_(clock), random_(random), source_(source), profile_(profile), mirrored_(std::move(mirrored)), first_open_(std::move(first_open)) {
  for (std::int64_t i = 0; i < profile_.transactional_producers; ++i) transactional_.push_back({200 + i});
}

void source_writers::act() {
  const auto draw = random_.between(0, 99);
  if (draw < 35) return write_plain();
  if (draw < 80) return write_transactional();
  if (draw < 86) return write_odd_control();
  if (draw < 94) return clean();
  move_start();
}

record_spec source_writers::random_record() {
  record_spec record;
  const auto text = [&](std::int64_t bytes) {
    return std::string(static_cast<std::size_t>(random_.between(0, bytes)), static_cast<char>(random_.between('a', 'z')));
  };
  if (random_.chance(0.8)) record.key = text(8);
  if (random_.chance(0.9)) record.value = text(profile_.value_bytes_max) + std::to_string(random_.next() % 1'000'000);
  for (auto left = random_.chance(0.3) ? random_.between(1, 3) : 0; left > 0; --left) {
    std::optional<std::string> value;
    if (random_.chance(0.7)) value = text(5);
    record.headers.emplace_back(random_.chance(0.5) ? "h" : text(3), std::move(value));
  }
  record.timestamp = clock_.wall_ms() - random_.between(0, 100'000);
  if (random_.chance(0.05)) record.timestamp = random_.between(0, 3) * 86'400'000;
  return record;
}

batch_spec source_writers::random_batch() {
  std::vector<record_spec> records;
  for (auto left = random_.between(1, profile_.records_max); left > 0; --left) records.push_back(random_record());
  if (random_.chance(profile_.old_batches)) {
    const auto age = random_.between(2, 20) * 86'400'000;
    for (auto& record : records) record.timestamp -= std::min(age, record.timestamp);
  }
  auto batch = consecutive(std::move(records));
  if (profile_.compresses && random_.chance(0.5)) batch.compression = static_cast<wire::codec>(random_.between(1, 4));
  if (profile_.append_times && random_.chance(0.3)) batch.append_time = clock_.wall_ms();
  return batch;
}

void source_writers::send(producer& by, batch_spec batch) {
  batch.producer_id = by.pid;
  batch.producer_epoch = by.epoch;
  batch.base_sequence = by.sequence;
  by.sequence += static_cast<std::int32_t>(batch.records.size());
  const auto offset = source_.append(std::move(batch));
  if (batch.transactional && !by.open_since) by.open_since = offset;
}

void source_writers::write_plain() {
  if (random_.chance(0.4)) {
    source_.append(random_batch());
  } else {
    send(idempotent_, random_batch());
  }
}

void source_writers::write_transactional() {
  if (transactional_.empty()) return write_plain();
  producer& by = transactional_[static_cast<std::size_t>(random_.between(0, static_cast<std::int64_t>(transactional_.size()) - 1))];
  if (by.open_since && random_.chance(0.35)) return end_one(by);
  auto batch = random_batch();
  batch.transactional = true;
  send(by, std::move(batch));
}

void source_writers::end_one(producer& of) {
  if (profile_.raises_epochs) {
    ++of.epoch;
    of.sequence = 0;
  }
  source_.end_transaction(of.pid, of.epoch, random_.chance(0.6));
  of.open_since.reset();
}

void source_writers::end_open_transactions() {
  for (auto& each : transactional_)
    if (each.open_since) end_one(each);
}

void source_writers::write_odd_control() {
  if (!profile_.odd_controls) return write_plain();
  if (random_.chance(0.5)) {
    source_.end_transaction(300 + random_.between(0, 2), 0, random_.chance(0.5));  // a transaction without data here
    return;
  }
  auto control = control_batch(-1, -1, static_cast<std::int16_t>(random_.between(2, 9)), 0, clock_.wall_ms());
  control.transactional = false;
  source_.append(std::move(control));
}

bool source_writers::may_touch(const log_transaction& transaction) const {
  if (!transaction.end_offset) return false;  // the cleaner stops below the first open transaction
  return profile_.wild_compaction || mirrored_() < 0 || *transaction.end_offset < mirrored_();
}

bool source_writers::has_data(const log_transaction& transaction) const {
  for (auto offset = transaction.first_offset; offset < *transaction.end_offset; ++offset) {
    const auto* truth = source_.truth_at(offset);
    if (truth && truth->what == offset_truth::kind::record && truth->producer == transaction.producer && source_.has_record(offset)) return true;
  }
  return false;
}

bool source_writers::outlived_retention(std::int64_t marker) {
  const auto since = dataless_since_.try_emplace(marker, clock_.now()).first->second;
  return clock_.now() - since >= profile_.marker_retention;
}

void source_writers::clean() {
  if (!profile_.compacts) return write_plain();
  const auto limit = source_.log().last_stable(source_.high_watermark());
  std::vector<std::int64_t> batches;
  for (const auto& [base_offset, entry] : source_.log().entries())
    if (entry.header.next_offset() <= limit) batches.push_back(base_offset);
  if (!batches.empty()) batches.pop_back();  // the active segment stays
  for (const auto base_offset : batches)
    if (random_.chance(0.3)) clean_batch(base_offset);
}

void source_writers::clean_batch(std::int64_t base_offset) {
  const auto& header = source_.log().entries().at(base_offset).header;
  const bool remove_if_empty = random_.chance(0.5);
  if (header.is_control()) {
    if (header.record_count == 0) return;
    const auto* truth = source_.truth_at(base_offset);
    if (!truth || truth->what != offset_truth::kind::end_marker) return;
    // The end marker of a transaction with data outlives the data.
    const auto* transaction = source_.log().transaction_at(header.producer_id, base_offset - 1);
    if (transaction && transaction->end_offset == base_offset) {
      if (!may_touch(*transaction) || has_data(*transaction) || !outlived_retention(base_offset)) return;
    }
    if (random_.chance(0.5)) source_.compact(base_offset, [](std::int64_t) { return false; }, remove_if_empty, std::nullopt);
    return;
  }
  std::optional<std::int64_t> horizon;
  if (random_.chance(0.2)) horizon = clock_.wall_ms() + 86'400'000;
  if (header.is_transactional()) {
    const auto* transaction = source_.log().transaction_at(header.producer_id, base_offset);
    if (!transaction || !may_touch(*transaction)) return;
    if (!transaction->committed) return source_.compact(base_offset, [](std::int64_t) { return false; }, remove_if_empty, horizon);
  }
  const double loss = random_.chance(0.2) ? 1.0 : random_.uniform();
  const auto keep = [&](std::int64_t) { return !random_.chance(loss); };
  source_.compact(base_offset, keep, remove_if_empty, horizon);
}

void source_writers::move_start() {
  if (!profile_.deletes) return write_plain();
  const auto mirrored = mirrored_();
  auto limit = source_.high_watermark();
  if (mirrored >= 0 && !profile_.overruns) limit = std::min(limit, mirrored);
  // Once the log start has passed an open transaction's first batch, a mirror that lost its memory cannot know whose it is.
  if (mirrored >= 0 && profile_.keeps_open_transactions) limit = std::min(limit, first_open_());
  const auto start = source_.log().start();
  if (limit > start) source_.move_start(random_.chance(0.2) ? limit : random_.between(start, limit));
}

}  // namespace mirrord::sim
