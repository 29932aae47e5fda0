#include "tests/sim/sim_seed.hpp"

#include "tests/sim/sim_daemon.hpp"
#include "tests/sim/source_writers.hpp"

#include <algorithm>
#include <memory>
#include <vector>

namespace mirrord::sim {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

namespace {

class seed_run {
 public:
  seed_run(std::uint64_t seed, const seed_options& options);
  seed_result run();

 private:
  [[nodiscard]] static log_settings draw_destination(sim_random& random);
  void draw_faults();
  void no_more_faults();
  void start_daemon(bool fresh);
  void schedule_writes();
  void schedule_misfortunes();
  void restart(bool crash);
  [[nodiscard]] bool done() const;
  void finish();
  void finish_foreign();
  void wait(sim_clock::duration limit, const std::function<bool()>& until, const char* what);
  void pass(sim_clock::duration length);
  void check_view();

  asio::io_context context_{1};
  sim_random random_;
  std::int64_t restarts_;
  sim_clock clock_;
  sim_trace trace_;
  seed_options options_;
  log_settings settings_;
  simulated_source source_;
  simulated_destination destination_;
  simulated_state state_;
  sim_checks checks_;
  source_faults from_source_;
  network_faults to_destination_;
  sim_clusters clusters_;
  source_writers writers_;
  std::vector<std::unique_ptr<sim_daemon>> daemons_;
  std::int64_t writes_left_ = 0;
  bool restarting_ = false;
  bool was_mirroring_ = false;
  std::int64_t failed_rounds_ = 0;
  bool foreign_ = false;
};

seed_run::seed_run(std::uint64_t seed, const seed_options& options)
    : random_(seed), restarts_(random_.chance(0.4) ? random_.between(1, 3) : 0), clock_(context_), trace_(clock_, "seed " + std::to_string(seed)), options_(options),
      settings_(draw_destination(random_)), source_(clock_, random_.fork(), trace_),
      destination_(clock_, random_.fork(), trace_, settings_), checks_(trace_, source_, destination_, state_),
      clusters_{clock_, trace_, source_, destination_, state_, checks_, from_source_, to_destination_},
      writers_(clock_, random_.fork(), source_,
               [&] {
                 auto profile = writers_profile::draw(random_);
                 profile.wild_compaction = options.wild_compaction;
                 profile.keeps_open_transactions = restarts_ > 0;
                 return profile;
               }(),
               [this] { return daemons_.empty() ? -1 : destination_.log().end(); },
               [this] { return destination_.log().last_stable(destination_.committed()); }) {
  destination_.on_append = [this](const log_entry& entry) { checks_.after_append(entry); };
}

log_settings seed_run::draw_destination(sim_random& random) {
  log_settings settings;
  if (random.chance(0.15)) settings.batch_bytes_max = static_cast<std::size_t>(random.between(400, 1'200));
  settings.deletes = random.chance(0.9);
  return settings;
}

void seed_run::draw_faults() {
  if (random_.chance(0.3)) return;
  const double level = random_.chance(0.3) ? 0.08 : 0.015;
  const auto draw = [&] { return random_.chance(0.6) ? level * random_.uniform() : 0.0; };
  to_destination_.lost_request = draw();
  to_destination_.lost_answer = draw();
  to_destination_.late_request = draw();
  to_destination_.lost_question = draw();
  if (options_.very_late) {
    to_destination_.late_max = seconds(6);
    checks_.allow_late_arrivals();
  }
  to_destination_.stale_lead = random_.uniform();
  destination_.faults = {draw(), draw(), 3 * draw(), random_.uniform(), random_.uniform()};
  from_source_.lost_answer = draw();
  from_source_.empty_answer = 3 * draw();
  state_.fault_probability = draw();
}

void seed_run::no_more_faults() {
  to_destination_ = {};
  destination_.faults = {};
  from_source_.lost_answer = from_source_.empty_answer = 0;
  state_.fault_probability = 0;
  source_.settle_high_watermark();
}

void seed_run::start_daemon(bool fresh) {
  mirror::partition_options options;
  options.batch_bytes_max = settings_.batch_bytes_max;
  options.fresh = fresh;
  options.late_request_time = to_destination_.late_max + milliseconds(300);
  // A new topic is not compact-only yet; later the policy may have changed without anybody's telling the loop.
  options.trims = settings_.deletes || (!fresh && random_.chance(0.5));
  daemons_.push_back(std::make_unique<sim_daemon>(clusters_, random_.fork(), options));
  daemons_.back()->start();
}

void seed_run::schedule_writes() {
  if (writes_left_-- <= 0) return;
  writers_.act();
  const auto pause = random_.chance(0.05) ? milliseconds(random_.between(0, 2'000)) : milliseconds(random_.between(0, 20));
  clock_.after(pause, [this] { schedule_writes(); });
}

void seed_run::schedule_misfortunes() {
  const auto at = [&] { return milliseconds(random_.between(0, 8'000)); };
  for (auto left = random_.chance(0.5) ? random_.between(1, 3) : 0; left > 0; --left)
    clock_.after(at(), [this] { destination_.move_leader(random_.chance(0.7)); });
  for (auto left = random_.between(0, 2); left > 0; --left)
    clock_.after(at(), [this] { daemons_.back()->raise_producer_epoch(); });
  if (random_.chance(0.2)) clock_.after(at(), [this] { source_.regress_high_watermark(milliseconds(random_.between(10, 2'000))); });
  for (auto left = restarts_; left > 0; --left) {
    const bool crash = options_.crashes && random_.chance(0.7);
    const bool early = random_.chance(0.2);  // while it takes over, or fills the leading gap
    clock_.after(early ? milliseconds(random_.between(0, 60)) : at(), [this, crash] { restart(crash); });
  }
}

void seed_run::restart(bool crash) {
  if (restarting_ || daemons_.back()->ended()) return;
  restarting_ = true;
  if (crash) daemons_.back()->crash();
  else daemons_.back()->stop();
}

void seed_run::wait(sim_clock::duration limit, const std::function<bool()>& until, const char* what) {
  const auto stop = [&] { return !trace_.ok() || until(); };
  const auto each_step = [this] {
    check_view();
    if (restarting_ && daemons_.back()->ended()) {
      restarting_ = false;
      start_daemon(false);
    }
  };
  switch (drive(clock_, limit, stop, each_step)) {
    case drive_end::done: return;
    case drive_end::idle: return trace_.violation("{}: nothing is left that could happen", what);
    case drive_end::time_limit:
      return trace_.violation("{}: not within {} s; the mirror is {}, destination end {} of {}, start {} of {}", what,
                              std::chrono::duration_cast<seconds>(limit).count(), mirror::name(daemons_.back()->view().phase),
                              destination_.log().end(), source_.log().end(), destination_.log().start(), source_.log().start());
  }
}

void seed_run::pass(sim_clock::duration length) {
  auto is_over = std::make_shared<bool>(false);
  clock_.after(length, [is_over] { *is_over = true; });
  wait(2 * length, [is_over] { return *is_over; }, "letting time pass");
}

void seed_run::check_view() {
  if (daemons_.empty() || foreign_) return;
  const auto& view = daemons_.back()->view();
  if (view.phase == mirror::partition_phase::preparing && was_mirroring_) ++failed_rounds_;
  was_mirroring_ = view.phase == mirror::partition_phase::mirroring;
  if (view.destination_end > destination_.committed())
    trace_.violation("the mirror counts {} as mirrored, {} is replicated", view.destination_end, destination_.committed());
  const bool for_good = view.phase == mirror::partition_phase::failed && view.retry_attempt == -1;
  if (daemons_.back()->ended() && for_good)
    trace_.violation("FAILED without a reason: {}", view.last_error ? view.last_error->message() : "no error");
}

bool seed_run::done() const {
  const auto& view = daemons_.back()->view();
  return !restarting_ && view.phase == mirror::partition_phase::mirroring && destination_.log().end() == source_.log().end() &&
         destination_.high_watermark() == destination_.log().end() && view.destination_end == source_.log().end() &&
         (!settings_.deletes || destination_.log().start() == source_.log().start());
}

void seed_run::finish() {
  no_more_faults();
  if (random_.chance(0.6)) writers_.end_open_transactions();
  wait(minutes(30), [this] { return done(); }, "catching up");
  if (!trace_.ok()) return;
  // A late request must not find its place now.
  pass(seconds(options_.very_late ? 10 : 2));
  daemons_.back()->stop();
  wait(minutes(1), [this] { return daemons_.back()->ended(); }, "stopping in order");
  if (!trace_.ok()) return;
  if (state_.partition.hand_over != destination_.log().end()) trace_.violation("no hand-over at {} after an orderly stop", destination_.log().end());
  if (state_.partition.fill_plan) trace_.violation("a fill plan is left");
  checks_.at_the_end(settings_.deletes);
}

// Somebody else wrote one record, and nothing else went wrong: found, told with both offsets, nothing written after.
void seed_run::finish_foreign() {
  // What is in the log before the position is proved counts as the mirror's; who wrote it is the alignment's question.
  wait(minutes(5), [this] { return daemons_.back()->view().phase == mirror::partition_phase::mirroring; }, "beginning to mirror");
  if (!trace_.ok()) return;
  foreign_ = true;
  checks_.foreign_write();
  destination_.foreign_append();
  writes_left_ = random_.between(0, 20);
  schedule_writes();
  wait(minutes(5), [this] { return daemons_.back()->ended(); }, "finding a foreign write");
  if (!trace_.ok()) return;
  const auto& view = daemons_.back()->view();
  if (view.phase != mirror::partition_phase::failed || !view.last_error || view.last_error->code != errc::foreign_write)
    return trace_.violation("a foreign write at {} ended in {}", *destination_.foreign_offset(), view.last_error ? view.last_error->message() : "nothing");
  const auto& text = view.last_error->context;
  std::size_t numbers = 0;
  for (std::size_t i = 0; i < text.size(); ++i)
    if (text[i] >= '0' && text[i] <= '9' && (i + 1 == text.size() || text[i + 1] < '0' || text[i + 1] > '9')) ++numbers;
  if (numbers < 3) trace_.violation("'{}' does not tell both offsets", text);  // the partition's number is one
  const auto end = destination_.log().end();
  pass(seconds(60));
  if (destination_.log().end() != end) trace_.violation("appended after FAILED");
}

seed_result seed_run::run() {
  const bool is_foreign = random_.chance(0.05);
  from_source_.knows_producers = random_.chance(0.8);
  from_source_.batches_max = random_.chance(0.3) ? 1 : random_.between(2, 20);
  for (auto left = random_.chance(0.2) ? 0 : random_.between(1, 60); left > 0; --left) writers_.act();
  source_.settle_high_watermark();
  if (!is_foreign) {
    draw_faults();
    schedule_misfortunes();
  }
  start_daemon(random_.chance(0.7));
  writes_left_ = random_.between(10, 120);
  schedule_writes();
  wait(minutes(2), [this] { return writes_left_ <= 0; }, "writing");
  if (trace_.ok() && !is_foreign) {
    pass(seconds(9));
  }
  if (trace_.ok() && is_foreign) finish_foreign();
  else if (trace_.ok()) finish();
  seed_result result;
  result.violation = trace_.first_violation();
  if (!trace_.ok()) result.trace = trace_.text();
  result.seen.offsets = source_.log().end();
  result.seen.leader_moves = destination_.epoch();
  result.seen.daemons = static_cast<std::int64_t>(daemons_.size());
  result.seen.failed_rounds = failed_rounds_;
  for (const auto& daemon : daemons_) {
    result.seen.forwarded += static_cast<std::int64_t>(daemon->view().batches_forwarded);
    result.seen.reencoded += static_cast<std::int64_t>(daemon->view().batches_reencoded);
    result.seen.filler += static_cast<std::int64_t>(daemon->view().filler);
  }
  // Whatever failed: the coroutines end before what they refer to.
  for (auto& daemon : daemons_)
    if (!daemon->ended()) daemon->crash();
  (void)drive(clock_, minutes(10), [this] {
    return std::all_of(daemons_.begin(), daemons_.end(), [](const auto& daemon) { return daemon->ended(); });
  });
  return result;
}

}  // namespace

seed_coverage& seed_coverage::operator+=(const seed_coverage& other) {
  offsets += other.offsets;
  forwarded += other.forwarded;
  reencoded += other.reencoded;
  filler += other.filler;
  leader_moves += other.leader_moves;
  daemons += other.daemons;
  failed_rounds += other.failed_rounds;
  return *this;
}

seed_result run_seed(std::uint64_t seed, const seed_options& options) {
  seed_run run(seed, options);
  return run.run();
}

}  // namespace mirrord::sim
