#include "tests/sim/simulated_destination.hpp"

#include "base/broker_error.hpp"
#include "base/check.hpp"
#include "tests/sim/batch_bytes.hpp"

#include <algorithm>

namespace mirrord::sim {

using std::chrono::microseconds;
using std::chrono::milliseconds;

namespace {

constexpr milliseconds replication_timeout{800};  // the request's timeout.ms

std::string describe(const log_entry& entry) {
  return fmt::format("[{}, {}) pid {} epoch {} seq {}{}{}", entry.header.base_offset, entry.header.next_offset(),
                     entry.header.producer_id, entry.header.producer_epoch, entry.header.base_sequence,
                     entry.header.is_transactional() ? " txn" : "", entry.header.is_control() ? " control" : "");
}

}  // namespace

simulated_destination::simulated_destination(sim_clock& clock, sim_random random, sim_trace& trace, log_settings settings)
    : clock_(clock), random_(random), trace_(trace), log_(settings) {}

bool simulated_destination::is_led_by_leader_of(std::int32_t epoch) const {
  return !leaderless() && leader_of(epoch) == leader_of(epoch_);
}

void simulated_destination::appended(std::int64_t base_offset) {
  const log_entry& entry = log_.entries().at(base_offset);
  trace_.add("destination: appended {}", describe(entry));
  on_append(entry);
  on_interest(entry.header.is_control() ? interest::marker_appended : interest::data_appended);
  if (random_.chance(faults.replication_stall)) stalled_until_ = std::max(stalled_until_, clock_.now() + milliseconds(random_.between(5, 1'000)));
  replicate();
}

void simulated_destination::replicate() {
  const auto end = log_.end();
  const auto epoch = epoch_;
  const auto delay = std::max<sim_clock::duration>(stalled_until_ - clock_.now(), {}) + microseconds(random_.between(200, 4'000));
  clock_.after(delay, [this, end, epoch] {
    if (epoch == epoch_) advance_high_watermark(std::min(end, log_.end()));
  });
}

void simulated_destination::advance_high_watermark(std::int64_t to) {
  high_watermark_ = std::max(high_watermark_, to);
  committed_ = std::max(committed_, high_watermark_);
  for (auto request = waiting_.begin(); request != waiting_.end();) {
    const auto next = std::next(request);
    if (request->end <= high_watermark_) {
      auto ready = std::move(*request);
      waiting_.erase(request);
      if (ready.outcome.code == 0 && !ready.outcome.duplicate && random_.chance(faults.not_enough_replicas_after))
        ready.outcome = {code_of(kafka_error::not_enough_replicas_after_append)};
      ready.done(ready.outcome);
    }
    request = next;
  }
}

void simulated_destination::wait_for_replicas(append_outcome outcome, std::int64_t end, answer done) {
  if (end <= high_watermark_) return done(outcome);
  waiting_.push_back({end, std::move(done), outcome, clock_.now() + replication_timeout});
  clock_.after(replication_timeout, [this] {
    for (auto request = waiting_.begin(); request != waiting_.end();) {
      const auto next = std::next(request);
      if (request->deadline <= clock_.now()) {
        const auto late = std::move(*request);
        waiting_.erase(request);
        late.done({code_of(kafka_error::request_timed_out)});
      }
      request = next;
    }
  });
}

void simulated_destination::produce(std::int32_t epoch, std::vector<std::byte> batch, mirror::acks confirmation, answer done) {
  if (!is_led_by_leader_of(epoch)) return done({not_leader});
  if (confirmation == mirror::acks::all && random_.chance(faults.not_enough_replicas)) {
    trace_.add("destination: refused, not enough replicas");
    return done({code_of(kafka_error::not_enough_replicas)});
  }
  const auto outcome = log_.produce(batch, epoch_);
  if (outcome.code != 0) {
    trace_.add("destination: refused with {}", broker_error_name(outcome.code));
    return done(outcome);
  }
  if (outcome.duplicate) trace_.add("destination: duplicate of {}", outcome.base_offset);
  else appended(outcome.base_offset);
  if (confirmation == mirror::acks::leader) return done(outcome);
  wait_for_replicas(outcome, log_.entries().at(outcome.base_offset).header.next_offset(), std::move(done));
}

void simulated_destination::mark(std::int32_t epoch, const std::vector<mirror::end_marker>& markers, answer done) {
  if (!is_led_by_leader_of(epoch)) return done({not_leader});
  // Each marker is an append of its own: replicas can become too few in the middle of a request.
  const auto count = static_cast<std::int64_t>(markers.size());
  const auto enough_for = random_.chance(faults.not_enough_replicas) ? random_.between(0, count - 1) : count;
  marker_codes codes(random_.chance(0.8));  // sometimes the replicas are there at once
  std::int64_t last = -1;
  std::int64_t index = 0;
  for (const auto& marker : markers) {
    append_outcome outcome{code_of(kafka_error::not_enough_replicas)};
    if (index++ < enough_for)
      outcome = log_.mark(marker.pid.value, marker.epoch, marker.commit, marker.coordinator_epoch, epoch_, clock_.wall_ms());
    codes.add(marker.pid.value, outcome.code);
    if (outcome.code != 0) continue;
    last = outcome.base_offset;
    appended(outcome.base_offset);
  }
  append_outcome merged{0, last};
  for (const auto& [producer, code] : codes.of_producers())
    if (code != 0) merged.code = code;
  if (merged.code != 0) trace_.add("destination: a marker refused with {}", broker_error_name(merged.code));
  wait_for_replicas(merged, last < 0 ? 0 : log_.end(), std::move(done));
}

std::int16_t simulated_destination::trim(std::int32_t epoch, std::int64_t offset) {
  if (!is_led_by_leader_of(epoch)) return not_leader;
  const auto code = log_.delete_records(offset, high_watermark_);
  trace_.add("destination: trim to {}: {}", offset, broker_error_name(code));
  on_interest(interest::trimmed);
  return code;
}

void simulated_destination::foreign_append() {
  record_spec record;
  record.value = "foreign";
  record.key = "foreign";
  const auto outcome = log_.produce(encode(consecutive({record})), epoch_);
  MIRRORD_CHECK(outcome.code == 0, "the foreign append is refused with {}", outcome.code);
  if (!foreign_offset_) foreign_offset_ = outcome.base_offset;
  trace_.add("destination: FOREIGN append at {}", outcome.base_offset);
  replicate();
}

// The new leader has all that is committed and, of the rest, whole batches up to somewhere.
void simulated_destination::cut_tail() {
  auto cut = committed_;
  const auto wanted = random_.between(committed_, log_.end());
  for (auto entry = log_.entries().lower_bound(committed_); entry != log_.entries().end(); ++entry) {
    if (entry->second.header.next_offset() <= wanted) cut = entry->second.header.next_offset();
    else ++(entry->second.header.is_control() ? losses.markers : losses.data_batches);
  }
  log_.truncate(cut);
}

void simulated_destination::expire_producers() {
  for (const auto producer : log_.producers().expired(clock_.wall_ms())) {
    trace_.add("destination: forgets pid {}", producer);
    log_.forget_producer(producer);
    ++losses.producers;
  }
}

void simulated_destination::move_leader(bool lose_tail) { lead_from(static_cast<std::int32_t>(random_.between(0, 2)), lose_tail); }

void simulated_destination::move_leader_and_back(bool lose_tail) {
  const auto broker = leaders_.back();
  lead_from((broker + 1) % 3, lose_tail);
  lead_from(broker, false);
}

void simulated_destination::lead_from(std::int32_t broker, bool lose_tail) {
  stale_producers_ = log_.producers();
  stale_bounds_ = {log_.start(), high_watermark_};
  ++epoch_;
  leaders_.push_back(broker);
  const auto end_before = log_.end();
  if (lose_tail && log_.end() > committed_) cut_tail();
  // Each broker makes its own expiry passes: the new leader may know whom the old one forgot, or the reverse.
  if (random_.chance(0.5)) log_.truncate(log_.end());
  if (random_.chance(0.5)) expire_producers();
  // A new leader learns the high watermark only from its followers' fetches.
  high_watermark_ = random_.between(log_.start(), std::min(high_watermark_, log_.end()));
  stalled_until_ = clock_.now();
  leader_back_at_ = random_.chance(faults.leaderless) ? clock_.now() + milliseconds(random_.between(10, 3'000)) : clock_.now();
  trace_.add("destination: leader moved, epoch {}, end {} (was {}), high watermark {}", epoch_, log_.end(), end_before, high_watermark_);
  for (auto request = waiting_.begin(); request != waiting_.end();) {
    const auto next = std::next(request);
    auto orphan = std::move(*request);
    waiting_.erase(request);
    orphan.done({not_leader});  // DelayedProduce of a former leader: appended there, told nothing
    request = next;
  }
  stalled_until_ = clock_.now() + milliseconds(random_.chance(0.3) ? random_.between(1'000, 6'000) : random_.between(0, 300));
  replicate();
}

}  // namespace mirrord::sim
