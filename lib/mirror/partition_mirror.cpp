#include "mirror/partition_mirror.hpp"

#include "base/log.hpp"
#include "mirror/partition_round.hpp"
#include "mirror/partition_stop.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

namespace mirrord::mirror {
namespace {

using namespace std::chrono_literals;

constexpr int counted_attempts_max = 20;           // KIP-1279: mirror.failed.retry.max.attempts
constexpr std::uint32_t quiet_attempts = 10;       // passing errors in a row before a person is told: about 12 s
constexpr auto new_leader_pause_max = 300ms;
constexpr auto change_check_interval = 200ms;      // a waiting partition notices a new wish within this
constexpr auto late_check_pause_min = 1s;          // for transactions that come late after STOPPED
constexpr auto late_check_pause_max = 20s;

// What a leader answers that was elected just now: it has not heard of its own epoch yet, or its followers have not come.
// However long the outage was, this is over in a moment.
bool is_new_leader_error(const error& e) {
  return e.code == errc::broker && (is(e.broker_code, kafka_error::unknown_leader_epoch) || is(e.broker_code, kafka_error::offset_not_available));
}

// What was wanted when it failed in that state.
core::desired_state wish_of(core::partition_state failed_in) {
  if (failed_in == core::partition_state::stopping) return core::desired_state::stopped;
  return failed_in == core::partition_state::pausing ? core::desired_state::paused : core::desired_state::mirroring;
}

}  // namespace

partition_mirror::partition_mirror(asio::any_io_executor executor, topic_partition id, partition_ports ports, partition_options options)
    : executor_(std::move(executor)), id_(std::move(id)), ports_(ports), options_(options), changed_(executor_),
      backoff_(options.retry_backoff_min, options.retry_backoff_max) {
  follow_standing(ports_.journal.standing());
}

partition_mirror::~partition_mirror() = default;

const topic_partition& partition_mirror::id() const noexcept { return id_; }

const partition_view& partition_mirror::view() const noexcept { return view_; }

void partition_mirror::end() {
  ending_ = true;
  changed();
}

void partition_mirror::want(core::desired_state desired) {
  if (desired == desired_) return;
  desired_ = desired;
  if (desired != core::desired_state::mirroring) allowed_ = false;  // the topic is prepared anew before it goes on
  changed();
}

void partition_mirror::allow_mirroring(partition_options options) {
  allowed_ = true;
  obstacle_.reset();
  verdict_.reset();
  if (std::exchange(is_obstructed_, false)) view_.retry_attempt = 0;
  options_ = std::move(options);
  if (options_.fresh) previous_ = {.unclean = false, .issued = {}, .late_until = {}, .open = {}};
  changed();
}

void partition_mirror::not_ready(error reason) {
  obstacle_ = std::move(reason);
  changed();
}

void partition_mirror::give_up(error reason) {
  verdict_ = std::move(reason);
  changed();
}

void partition_mirror::recover() {
  if (view_.state != core::partition_state::failed) return;
  view_.retry_attempt = 0;
  backoff_.succeeded();
  allowed_ = false;  // the topic is prepared first: it may have been deleted, as its error says
  changed();
}

void partition_mirror::changed() {
  interrupted_ = true;
  // Stays until the round has ended: it may have left a plan half-way, and must not go on.
  if (ending_ || verdict_ || desired_ != core::desired_state::mirroring) round_may_end_ = true;
  changed_.notify();
}

void partition_mirror::follow_standing(const partition_standing& standing) {
  view_.state = standing.state;
  view_.retry_attempt = standing.retry_attempt;
  if (standing.state == core::partition_state::failed) view_.last_error = fail(errc::recorded, standing.error_message);
}

bool partition_mirror::is_failed_for_good() const noexcept { return view_.state == core::partition_state::failed && view_.retry_attempt == -1; }

asio::awaitable<void> partition_mirror::run() {
  term_ = ports_.lease.term();
  if (!options_.fresh) expect_previous_owner();  // a topic made just now has had none
  std::optional<core::desired_state> failed_for;  // what was wanted when the partition failed for good
  if (is_failed_for_good()) failed_for = wish_of(ports_.journal.standing().failed_in);
  while (!ending_ && ports_.lease.term() == term_) {
    interrupted_ = false;
    const core::desired_state wanted = desired_;  // it can change while something is awaited
    const partition_standing standing = ports_.journal.standing();
    const auto next = core::decide_next(standing.state, standing.failed_in, wanted);
    const bool mirrors = next == core::partition_state::preparing || next == core::partition_state::mirroring;
    if (mirrors && !allowed_ && obstacle_) {
      co_await show_obstacle(*std::exchange(obstacle_, std::nullopt));
      failed_for = wanted;
      continue;
    }
    const bool waits_for_person = is_failed_for_good() && failed_for == wanted;
    const bool rests = next == core::partition_state::paused || next == core::partition_state::stopped;
    if (mirrors && verdict_) {
      const error reason = *std::exchange(verdict_, std::nullopt);
      co_await fail_for_good(reason, next);
      failed_for = wanted;
      continue;
    }
    if (waits_for_person || rests || (mirrors && !allowed_)) {
      if (rests) follow_standing(standing);
      else if (!waits_for_person && view_.state != core::partition_state::failed) view_.state = core::partition_state::preparing;
      rests_ = true;
      if (!interrupted_) (void)co_await changed_.wait();
      rests_ = false;
      continue;
    }
    auto ended = co_await act(next);
    if (ended) continue;
    if (ports_.lease.term() != term_) break;  // another owner may have come meanwhile: what we know must not be recorded
    co_await wait_before_retry(std::move(ended.error()), next);
    if (is_failed_for_good()) failed_for = wanted;
    else if (ending_ && ports_.lease.term() == term_) co_await remember_open_slots();
  }
}

asio::awaitable<result<void>> partition_mirror::act(core::partition_state next) {
  using enum core::partition_state;
  if (next == pausing) return pause();
  if (next == stopping) return stop();
  return mirror(next);
}

asio::awaitable<result<void>> partition_mirror::mirror(core::partition_state next) {
  const partition_standing standing = ports_.journal.standing();
  if (const auto plan = ports_.journal.stop_plan()) {
    co_return fail(errc::diverged, fmt::format("{}: its mirror was stopped at offset {}, and what follows there is not the source's; delete the "
                                               "destination topic, so that it is mirrored anew", id_.text(), plan->mirrored_end));
  }
  // A retry that begins by itself stays FAILED on record, with its count, until it has come as far as it was.
  const bool is_retry = standing.state == core::partition_state::failed && standing.retry_attempt != -1;
  if (next != standing.state && !is_retry) {
    auto recorded = co_await record_state(next, view_.retry_attempt);
    if (!recorded) co_return recorded;
  }
  view_.state = core::partition_state::preparing;
  round_may_end_ = ending_ || verdict_ || desired_ != core::desired_state::mirroring;
  partition_round round(executor_, id_, ports_, options_, view_, round_may_end_);
  auto ended = co_await round.run(previous_);
  if (round.made_progress()) backoff_.succeeded();
  if (!ended) co_return ended;
  options_.fresh = false;  // somebody may read it from now on
  previous_ = {};
  expect_previous_owner();
  co_return ended;
}

// A recorded hand-over says that the previous owner left nothing under way.
void partition_mirror::expect_previous_owner() {
  previous_.unclean = !ports_.journal.hand_over();
  if (previous_.unclean) previous_.late_until = ports_.clock.now() + options_.late_request_time;
}

asio::awaitable<result<void>> partition_mirror::pause() {
  view_.state = core::partition_state::pausing;
  if (auto recorded = co_await record_state(core::partition_state::pausing, 0); !recorded) co_return recorded;
  co_await remember_open_slots();
  if (auto recorded = co_await record_state(core::partition_state::paused, 0); !recorded) co_return recorded;
  view_.state = core::partition_state::paused;
  view_.retry_attempt = 0;
  view_.last_error.reset();
  log::info("partition_paused", {{"partition", id_.text()}, {"destination_end", view_.destination_end}});
  co_return result<void>{};
}

asio::awaitable<result<void>> partition_mirror::stop() {
  const stop_ports ports{ports_.destination, ports_.producers, ports_.journal, ports_.clock};
  view_.retry_attempt = std::max(view_.retry_attempt, 0);  // what was FAILED for good is no matter here
  if (ports_.journal.standing().state != core::partition_state::stopping) {
    auto recorded = co_await record_state(core::partition_state::stopping, view_.retry_attempt);
    if (!recorded) co_return recorded;
  }
  view_.state = core::partition_state::stopping;
  stop_circumstances circumstances{id_.text(), previous_.unclean, stop_epoch_, view_.last_source_epoch, previous_.issued, options_.settle_time};
  if (previous_.unclean || previous_.issued) {
    circumstances.highest_sent_epoch = std::max(stop_epoch_, highest_sent_epoch(previous_, ports_.producers));
  }
  auto stopped = co_await stop_partition(ports, std::move(circumstances));
  // Whatever it sent, its plan tells the next try about it.
  previous_ = {};
  stop_epoch_ = ports_.producers.epoch();
  if (!stopped) co_return std::move(stopped.error()).within(fmt::format("stop {}", id_.text()));
  view_.destination_end = stopped->end;
  if (auto recorded = co_await record_state(core::partition_state::stopped, 0); !recorded) co_return recorded;
  view_.state = core::partition_state::stopped;
  view_.retry_attempt = 0;
  view_.last_error.reset();
  log::info("partition_stopped", {{"partition", id_.text()}, {"mirrored_end", stopped->mirrored_end}, {"aborted", stopped->aborted}, {"end", stopped->end}});
  co_await abort_late();
  co_return result<void>{};
}

// A late first batch of a slot that was idle opens a transaction that nobody would end: readers of committed records would
// wait before it for ever.
asio::awaitable<void> partition_mirror::abort_late() {
  const stop_ports ports{ports_.destination, ports_.producers, ports_.journal, ports_.clock};
  const auto until = ports_.clock.now() + 2 * options_.late_request_time;
  const auto given_up = until + options_.late_request_time;  // the topic is gone, or has no leader
  clock_port::duration pause = late_check_pause_min;
  while (!ending_ && desired_ == core::desired_state::stopped && ports_.clock.now() < given_up) {
    interrupted_ = false;
    co_await wait(pause);
    pause = std::min<clock_port::duration>(2 * pause, late_check_pause_max);
    if (ports_.lease.term() != term_) co_return;
    auto aborted = co_await abort_late_transactions(ports);
    if (!aborted) {
      log::info("late_transactions_unknown", {{"partition", id_.text()}, {"error", core::explain(aborted.error(), options_.advice)}});
    } else if (*aborted > 0) {
      log::warn("late_transactions_aborted", {{"partition", id_.text()}, {"transactions", *aborted}});
    }
    if (aborted && ports_.clock.now() >= until) co_return;
  }
}

asio::awaitable<result<void>> partition_mirror::record_state(core::partition_state state, std::int32_t retry_attempt) {
  partition_standing standing;
  standing.state = state;
  standing.retry_attempt = retry_attempt;
  return record(std::move(standing));
}

asio::awaitable<result<void>> partition_mirror::record(partition_standing standing) {
  if (ports_.lease.term() != term_) co_return fail(errc::fenced, fmt::format("{}: this process was stopped for a while", id_.text()));
  co_return co_await ports_.journal.record_standing(std::move(standing));
}

// A round that ended in an error hands nothing over; what it knew of open transactions still helps the next owner.
asio::awaitable<void> partition_mirror::remember_open_slots() {
  if (!previous_.issued) co_return;  // no round got as far as knowing any, or one has handed over
  auto open = previous_.open;
  auto recorded = co_await ports_.journal.record_open_slots(std::move(open));
  if (!recorded) log::warn("open_transactions_not_recorded", {{"partition", id_.text()}, {"error", core::explain(recorded.error(), options_.advice)}});
}

// So that a restart finds the foreign write again, instead of taking the log's end for its own: tried until it is recorded
// or an end is asked for, since nobody else knows.
asio::awaitable<void> partition_mirror::remember_own_end() {
  if (view_.destination_end < 0) co_return;
  client::backoff pace(options_.retry_backoff_min, options_.passing_backoff_max);
  while (!ports_.journal.hand_over() && ports_.lease.term() == term_) {
    auto recorded = co_await ports_.journal.record_hand_over(view_.destination_end);
    if (recorded) co_return;
    const auto delay = pace.after_failure(ports_.random.uniform());
    if (std::has_single_bit(pace.failures())) {
      log::warn("own_end_not_recorded", {{"partition", id_.text()}, {"own_end", view_.destination_end}, {"in_ms", delay.count()},
                                         {"error", core::explain(recorded.error(), options_.advice)}});
    }
    if (ending_) co_return;
    interrupted_ = false;
    co_await wait(delay);
  }
}

asio::awaitable<void> partition_mirror::wait_before_retry(error reason, core::partition_state failed_in) {
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
    co_await fail_for_good(reason, failed_in);
    co_return;
  }
  // An election, or a broker that restarts: the state stays, with the error beside it; FAILED when it lasts.
  const bool passing = passes && backoff_.failures() <= quiet_attempts;
  if (!passing) {
    view_.state = core::partition_state::failed;
    (void)co_await record_failure(reason, failed_in);
  } else if (view_.state != core::partition_state::failed && failed_in == core::partition_state::mirroring) {
    view_.state = core::partition_state::preparing;
  }
  // Told at the 1st, 2nd, 4th, 8th ... failure in a row: an outage of an hour is a dozen lines per partition.
  const bool told = std::has_single_bit(backoff_.failures());
  const auto level = !told ? log::level::debug : passing ? log::level::info : log::level::warn;
  log::write(level, "partition_retries", {{"partition", id_.text()},
                                          {"in_ms", delay.count()},
                                          {"attempt", backoff_.failures()},
                                          {"error", text}});
  co_await wait(delay);
}

asio::awaitable<void> partition_mirror::show_obstacle(error reason) {
  const bool passes = core::decide_consequence(reason) != core::consequence::fail_partition;
  view_.last_error = reason;
  view_.state = core::partition_state::failed;
  view_.retry_attempt = passes ? std::max(view_.retry_attempt, 1) : -1;
  is_obstructed_ = true;
  (void)co_await record_failure(std::move(reason), core::partition_state::preparing);
}

asio::awaitable<void> partition_mirror::fail_for_good(error reason, core::partition_state failed_in) {
  view_.last_error = reason;
  view_.state = core::partition_state::failed;
  view_.retry_attempt = -1;
  log::error("partition_failed", {{"partition", id_.text()}, {"destination_end", view_.destination_end},
                                  {"error", core::explain(reason, options_.advice)}});
  if (ports_.lease.term() != term_) co_return;
  co_await remember_open_slots();
  // Before the state: a partition that is FAILED on record can be recovered, and must then know its own end.
  if (reason.code == errc::foreign_write) co_await remember_own_end();
  // Until the state topic takes it, since a restart would not know; a new wish makes it needless.
  client::backoff pace(options_.retry_backoff_min, options_.passing_backoff_max);
  const auto wanted = desired_;
  while (!ending_ && desired_ == wanted && is_failed_for_good() && ports_.lease.term() == term_) {
    const bool recorded = co_await record_failure(reason, failed_in);
    if (recorded) co_return;
    interrupted_ = false;
    co_await wait(pace.after_failure(ports_.random.uniform()));
  }
}

// Only what is new is recorded: an outage is one record, not one for each try.
asio::awaitable<bool> partition_mirror::record_failure(error reason, core::partition_state failed_in) {
  const partition_standing known = ports_.journal.standing();
  const bool was_failed = known.state == core::partition_state::failed;
  if (was_failed && known.failed_in == failed_in && known.retry_attempt == view_.retry_attempt) co_return true;
  partition_standing failed{core::partition_state::failed, failed_in, view_.retry_attempt, core::explain(reason, options_.advice)};
  auto recorded = co_await record(std::move(failed));
  if (!recorded) log::info("state_not_recorded", {{"partition", id_.text()}, {"error", core::explain(recorded.error(), options_.advice)}});
  co_return recorded.has_value();
}

asio::awaitable<void> partition_mirror::wait(clock_port::duration length) {
  const auto until = ports_.clock.now() + length;
  while (!ending_ && !interrupted_ && ports_.clock.now() < until) {
    co_await ports_.clock.sleep(std::min<clock_port::duration>(until - ports_.clock.now(), change_check_interval));
  }
}

}  // namespace mirrord::mirror
