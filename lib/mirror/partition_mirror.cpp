#include "mirror/partition_mirror.hpp"

#include "base/log.hpp"
#include "mirror/partition_round.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

namespace mirrord::mirror {
namespace {

using namespace std::chrono_literals;

constexpr int counted_attempts_max = 20;           // KIP-1279: mirror.failed.retry.max.attempts
constexpr std::uint32_t quiet_attempts = 10;       // passing errors in a row before a person is told: about 12 s
constexpr auto new_leader_pause_max = 300ms;
constexpr auto stop_check_interval = 200ms;        // a waiting partition notices a stop within this

// What a leader answers that was elected just now: it has not heard of its own epoch yet, or its followers have not come.
// However long the outage was, this is over in a moment.
bool is_new_leader_error(const error& e) {
  return e.code == errc::broker && (is(e.broker_code, kafka_error::unknown_leader_epoch) || is(e.broker_code, kafka_error::offset_not_available));
}

}  // namespace

std::string_view name(partition_phase phase) noexcept {
  switch (phase) {
    case partition_phase::unknown: return "UNKNOWN";
    case partition_phase::preparing: return "PREPARING";
    case partition_phase::mirroring: return "MIRRORING";
    case partition_phase::failed: return "FAILED";
    case partition_phase::stopped: return "STOPPED";
  }
  return "UNKNOWN";
}

partition_mirror::partition_mirror(asio::any_io_executor executor, topic_partition id, partition_ports ports, partition_options options)
    : executor_(std::move(executor)), id_(std::move(id)), ports_(ports), options_(options),
      backoff_(options.retry_backoff_min, options.retry_backoff_max) {}

partition_mirror::~partition_mirror() = default;

void partition_mirror::stop() { stopping_ = true; }

const topic_partition& partition_mirror::id() const noexcept { return id_; }

const partition_view& partition_mirror::view() const noexcept { return view_; }

asio::awaitable<void> partition_mirror::run() {
  const auto term = ports_.lease.term();
  // A recorded hand-over says that the previous owner left nothing under way; a topic made just now has had no owner.
  previous_writer previous;
  previous.unclean = !ports_.journal.hand_over() && !options_.fresh;
  if (previous.unclean) previous.late_until = ports_.clock.now() + options_.late_request_time;
  while (!stopping_ && ports_.lease.term() == term) {
    view_.phase = partition_phase::preparing;
    partition_round round(executor_, id_, ports_, options_, view_, stopping_);
    auto ended = co_await round.run(previous);
    if (ended) break;  // asked to stop, in order
    if (round.made_progress()) backoff_.succeeded();
    if (ports_.lease.term() != term) break;  // another owner may have come meanwhile: what we know must not be recorded
    const bool foreign = ended.error().code == errc::foreign_write;
    const bool goes_on = co_await wait_before_retry(std::move(ended.error()));
    if (goes_on && !stopping_) continue;
    if (ports_.lease.term() != term) break;
    co_await remember_open_slots(previous);
    if (foreign) co_await remember_own_end();
    if (!goes_on) co_return;
  }
  if (view_.phase != partition_phase::failed) view_.phase = partition_phase::stopped;
}

// A round that ended in an error hands nothing over; what it knew of open transactions still helps the next owner.
asio::awaitable<void> partition_mirror::remember_open_slots(const previous_writer& previous) {
  if (!previous.issued) co_return;  // no round got as far as knowing any
  auto open = previous.open;
  auto recorded = co_await ports_.journal.record_open_slots(std::move(open));
  if (!recorded) log::warn("open_transactions_not_recorded", {{"partition", id_.text()}, {"error", core::explain(recorded.error(), options_.advice)}});
}

// So that a restart finds the foreign write again, instead of taking the log's end for its own: tried until it is recorded
// or a stop is asked for, since nobody else knows.
asio::awaitable<void> partition_mirror::remember_own_end() {
  if (view_.destination_end < 0) co_return;
  const auto term = ports_.lease.term();
  client::backoff pace(options_.retry_backoff_min, options_.passing_backoff_max);
  while (!ports_.journal.hand_over() && ports_.lease.term() == term) {
    auto recorded = co_await ports_.journal.record_hand_over(view_.destination_end);
    if (recorded) co_return;
    const auto delay = pace.after_failure(ports_.random.uniform());
    if (std::has_single_bit(pace.failures())) {
      log::warn("own_end_not_recorded", {{"partition", id_.text()}, {"own_end", view_.destination_end}, {"in_ms", delay.count()},
                                         {"error", core::explain(recorded.error(), options_.advice)}});
    }
    if (stopping_) co_return;
    co_await wait(delay);
  }
}

asio::awaitable<bool> partition_mirror::wait_before_retry(error reason) {
  const core::consequence then = core::decide_consequence(reason);
  view_.last_error = reason;
  const std::string text = core::explain(reason, options_.advice);
  const bool counts = then == core::consequence::count_attempt;
  const double unit = ports_.random.uniform();
  auto delay = backoff_.after_failure(unit);
  const bool passes = then == core::consequence::start_over || then == core::consequence::wait_for_cluster;
  if (passes) {
    const auto longest = is_new_leader_error(reason) ? std::min<std::chrono::milliseconds>(options_.passing_backoff_max, new_leader_pause_max)
                                                     : options_.passing_backoff_max;
    delay = std::min(delay, client::backoff(longest, longest).initial(unit));
  }
  if (counts) ++view_.retry_attempt;
  if (then == core::consequence::fail_partition || view_.retry_attempt > counted_attempts_max) {
    view_.phase = partition_phase::failed;
    view_.retry_attempt = -1;
    log::error("partition_failed", {{"partition", id_.text()}, {"destination_end", view_.destination_end}, {"error", text}});
    co_return false;
  }
  // An election, or a broker that restarts: PREPARING with the error beside it; FAILED when it lasts.
  const bool passing = passes && backoff_.failures() <= quiet_attempts;
  if (!passing) view_.phase = partition_phase::failed;
  // Told at the 1st, 2nd, 4th, 8th ... failure in a row: an outage of an hour is a dozen lines per partition.
  const bool told = std::has_single_bit(backoff_.failures());
  const auto level = !told ? log::level::debug : passing ? log::level::info : log::level::warn;
  log::write(level, "partition_retries", {{"partition", id_.text()},
                                          {"in_ms", delay.count()},
                                          {"attempt", backoff_.failures()},
                                          {"error", text}});
  co_await wait(delay);
  co_return true;
}

// Ends early at a stop.
asio::awaitable<void> partition_mirror::wait(clock_port::duration length) {
  const auto until = ports_.clock.now() + length;
  while (!stopping_ && ports_.clock.now() < until) {
    co_await ports_.clock.sleep(std::min<clock_port::duration>(until - ports_.clock.now(), stop_check_interval));
  }
}

}  // namespace mirrord::mirror
