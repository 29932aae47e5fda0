#include "tests/sim/real_broker/history.hpp"

#include "base/broker_error.hpp"
#include "core/sequence.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace mirrord::sim {

namespace {

constexpr std::int64_t records_max = 4;
constexpr std::int64_t markers_max = 6;

std::string text_of(const batch_spec& spec) {
  return fmt::format("pid {} epoch {} seq {} count {} {}{}", spec.producer_id, spec.producer_epoch, spec.base_sequence, spec.records.size(), wire::name(spec.compression),
                     spec.transactional ? " txn" : "");
}

}  // namespace

operation sending(const batch_spec& spec, std::string text) {
  operation made;
  made.batch = encode(spec);
  made.transactional = spec.transactional;
  made.text = std::move(text);
  return made;
}

std::string describe(const operation_outcome& outcome) {
  std::string text = fmt::format("{} at {}", broker_error_name(outcome.code), outcome.base_offset);
  for (const auto& [producer, code] : outcome.code_of_producer) text += fmt::format(", pid {}: {}", producer, broker_error_name(code));
  return text;
}

std::string describe(const observation& seen) {
  std::string text = fmt::format("[{}, {}) high watermark {} last stable {}", seen.start, seen.end, seen.high_watermark, seen.last_stable);
  for (const auto& [pid, known] : seen.producers)
    text += fmt::format(", pid {} epoch {} seq {} coordinator {} open since {} time {}", pid, known.epoch, known.last_sequence,
                        known.coordinator_epoch, known.open_since, known.last_timestamp);
  return text;
}

history::history(std::uint64_t seed, log_settings settings, std::int64_t now_ms) : random_(seed), now_ms_(now_ms), log_(settings) {
  for (auto left = random_.between(1, 4); left > 0; --left) producers_.push_back({1'000 + left});
}

operation history::next() {
  const auto draw = random_.between(0, 99);
  if (draw < 60) return produce();
  if (draw < 65) return odd_produce();
  if (draw < 95) return mark();
  return trim();
}

history::producer& history::any_producer() {
  return producers_[static_cast<std::size_t>(random_.between(0, static_cast<std::int64_t>(producers_.size()) - 1))];
}

const producer_entry* history::known(std::int64_t pid) const {
  const auto found = log_.producers().entries().find(pid);
  return found == log_.producers().entries().end() ? nullptr : &found->second;
}

batch_spec history::records(std::int64_t most) {
  std::vector<record_spec> made;
  for (auto left = random_.between(1, most); left > 0; --left) {
    record_spec record;
    if (!random_.chance(0.05)) record.key = "key" + std::to_string(random_.between(0, 9));
    record.value = std::string(static_cast<std::size_t>(random_.chance(0.05) ? 400 : random_.between(0, 30)), 'v');
    record.timestamp = now_ms_ - random_.between(0, 3'600'000);
    made.push_back(std::move(record));
  }
  auto spec = consecutive(std::move(made));
  if (random_.chance(0.2)) spec.compression = static_cast<wire::codec>(random_.between(1, 4));
  return spec;
}

// Mostly the epoch that the log knows, or one below or above it.
std::int16_t history::epoch_near(std::int64_t pid) {
  const auto* entry = known(pid);
  const std::int64_t now = entry ? std::max<std::int64_t>(entry->epoch, 0) : 0;
  if (random_.chance(0.85)) return static_cast<std::int16_t>(now);
  if (random_.chance(0.05)) return static_cast<std::int16_t>(random_.between(0, std::numeric_limits<std::int16_t>::max()));
  return static_cast<std::int16_t>(std::clamp<std::int64_t>(now + random_.between(-2, 2), 0, std::numeric_limits<std::int16_t>::max()));
}

operation history::produce() {
  if (random_.chance(0.1)) return sending(records(records_max), "produce without pid");
  producer& by = any_producer();
  if (!by.sent.empty() && random_.chance(0.25)) {
    const auto last = static_cast<std::int64_t>(by.sent.size()) - 1;
    auto again = by.sent[static_cast<std::size_t>(random_.between(std::max<std::int64_t>(0, last - 7), last))];
    std::string what = "repeat";
    if (random_.chance(0.2)) {
      what = "repeat with another length or kind";
      if (random_.chance(0.3)) again.transactional = !again.transactional;
      else if (again.records.size() > 1) again.records.pop_back(), --again.last_offset_delta;
      else again.base_sequence = core::sequence_after(again.base_sequence, 1);
    }
    return sending(again, what + " " + text_of(again));
  }
  auto spec = records(records_max);
  spec.producer_id = by.pid;
  spec.producer_epoch = epoch_near(by.pid);
  const auto* entry = known(by.pid);
  const bool goes_on = entry && entry->epoch == spec.producer_epoch;
  spec.base_sequence = goes_on && !entry->recent.empty() ? core::sequence_after(entry->last_sequence(), 1) : 0;
  if (random_.chance(0.1)) spec.base_sequence = static_cast<std::int32_t>(std::max<std::int64_t>(0, spec.base_sequence + random_.between(-2, 3)));
  if (!entry && random_.chance(0.2)) spec.base_sequence = std::numeric_limits<std::int32_t>::max() - static_cast<std::int32_t>(random_.between(0, 6));
  spec.transactional = entry && entry->open_since ? !random_.chance(0.05) : random_.chance(0.4);
  return sending(spec, "produce " + text_of(spec));
}

// What no client may append.
operation history::odd_produce() {
  producer& by = any_producer();
  auto spec = records(records_max);
  spec.producer_id = by.pid;
  spec.producer_epoch = epoch_near(by.pid);
  spec.base_sequence = 0;
  switch (random_.between(0, 7)) {
    case 0: {
      auto made = sending(spec, "produce damaged " + text_of(spec));
      made.batch.back() ^= std::byte{1};
      return made;
    }
    case 1: spec.base_offset = 3; return sending(spec, "produce with base offset 3 " + text_of(spec));
    case 2: spec.append_time = now_ms_; return sending(spec, "produce with append time " + text_of(spec));
    case 3: return sending(control_batch(by.pid, spec.producer_epoch, 0, 0, now_ms_), "produce a control batch");
    case 4: spec.records.back().offset_delta += 1; spec.last_offset_delta += 1; return sending(spec, "produce with a hole " + text_of(spec));
    case 5: {
      auto made = sending(spec, "produce two batches " + text_of(spec));
      const auto second = encode(records(2));
      made.batch.insert(made.batch.end(), second.begin(), second.end());
      return made;
    }
    case 6: spec.producer_epoch = -1; return sending(spec, "produce with epoch -1 " + text_of(spec));
    default: spec.base_sequence = -1; return sending(spec, "produce with sequence -1 " + text_of(spec));
  }
}

operation history::mark() {
  operation made;
  made.what = operation::kind::mark;
  made.text = "markers:";
  for (auto left = random_.chance(0.7) ? 1 : random_.between(2, markers_max); left > 0; --left) {
    const auto pid = random_.chance(0.05) ? 2'000 + random_.between(0, 2) : any_producer().pid;
    const auto* entry = known(pid);
    mirror::end_marker marker{destination_pid{pid}, epoch_near(pid), random_.chance(0.5), entry ? std::max(0, entry->coordinator_epoch) : 0};
    if (random_.chance(0.15)) marker.coordinator_epoch = static_cast<std::int32_t>(std::max<std::int64_t>(0, marker.coordinator_epoch + random_.between(-1, 2)));
    made.text += fmt::format(" {} pid {} epoch {} coordinator {};", marker.commit ? "COMMIT" : "ABORT", pid, marker.epoch, marker.coordinator_epoch);
    made.markers.push_back(marker);
  }
  return made;
}

operation history::trim() {
  operation made;
  made.what = operation::kind::trim;
  made.offset = random_.chance(0.2) ? log_.end() : random_.between(0, log_.end() + 2);
  made.text = fmt::format("delete records before {}", made.offset);
  return made;
}

operation_outcome history::apply(const operation& what) {
  switch (what.what) {
    case operation::kind::produce: {
      const auto outcome = log_.produce(what.batch, 0);
      if (outcome.code != 0 || outcome.duplicate) return {outcome.code, outcome.base_offset};
      const auto& header = log_.entries().at(outcome.base_offset).header;
      const auto by = std::find_if(producers_.begin(), producers_.end(), [&](const producer& each) { return each.pid == header.producer_id; });
      if (by != producers_.end()) {
        batch_spec spec;
        spec.compression = header.compression();
        spec.transactional = header.is_transactional();
        spec.producer_id = header.producer_id;
        spec.producer_epoch = header.producer_epoch;
        spec.base_sequence = header.base_sequence;
        spec.last_offset_delta = header.last_offset_delta;
        spec.records = *decode(log_.entries().at(outcome.base_offset).view());
        by->sent.push_back(std::move(spec));
      }
      return {0, outcome.base_offset};
    }
    case operation::kind::mark: {
      marker_codes codes(false);
      for (const auto& marker : what.markers)
        codes.add(marker.pid.value, log_.mark(marker.pid.value, marker.epoch, marker.commit, marker.coordinator_epoch, 0, marker_time).code);
      return {0, -1, codes.of_producers()};
    }
    case operation::kind::trim: break;
  }
  return {log_.delete_records(what.offset, log_.end()), -1};
}

observation history::observe() const {
  observation seen{log_.start(), log_.end(), log_.end(), log_.last_stable(log_.end())};
  for (const auto& [pid, entry] : log_.producers().entries())
    seen.producers[pid] = {entry.epoch, entry.last_sequence(), entry.coordinator_epoch, entry.open_since.value_or(-1), entry.last_timestamp};
  return seen;
}

void history::expire_producers(std::int64_t now_ms) {
  for (const auto pid : log_.producers().expired(now_ms))
    if (known(pid)->last_timestamp != marker_time) log_.forget_producer(pid);
}

}  // namespace mirrord::sim
