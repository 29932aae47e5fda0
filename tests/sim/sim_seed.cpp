#include "tests/sim/sim_seed.hpp"

#include "tests/sim/seed_world.hpp"

#include <algorithm>
#include <memory>
#include <vector>

namespace mirrord::sim {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

namespace {

// What a daemon's last view was.
struct watched {
  bool was_mirroring = false;
  bool replaced = false;
};

class seed_run {
 public:
  seed_run(std::uint64_t seed, const seed_options& options) : world_(seed, options), random_(world_.random), options_(options) {}
  seed_result run();

 private:
  sim_daemon& start_daemon(bool fresh, std::string name = "daemon");
  void schedule_writes();
  void schedule_restarts();
  void schedule_second_owner();
  void pause_for_a_while(std::size_t daemon);
  void restart(bool crash);
  void start_over_after_lease();
  [[nodiscard]] sim_daemon& last() { return *world_.daemons.back(); }
  [[nodiscard]] bool is_outcome_unknown(const sim_daemon& daemon) const;
  [[nodiscard]] bool caught_up(const sim_daemon& daemon) const;
  void finish();
  void finish_foreign();
  void finish_two_owners();
  void judge_after_failures(bool is_wrong, const std::string& difference);
  void stop_in_order();
  void wait(sim_clock::duration limit, const std::function<bool()>& until, const char* what);
  void pass(sim_clock::duration length);
  void check_views();
  void check_view(const sim_daemon& daemon, watched& before);
  [[nodiscard]] seed_result told();

  seed_world world_;
  sim_random& random_;
  seed_options options_;
  std::vector<watched> watched_;
  std::int64_t writes_left_ = 0;
  bool restarting_ = false;
  bool second_started_ = false;
  bool foreign_ = false;
  seed_coverage seen_;
};

sim_daemon& seed_run::start_daemon(bool fresh, std::string name) {
  mirror::partition_options options;
  options.batch_bytes_max = world_.settings.batch_bytes_max;
  options.fresh = fresh;
  options.marker_retention = world_.writers.profile().marker_retention;
  options.late_request_time = world_.to_destination.late_max + milliseconds(300);
  // A new topic is not compact-only yet; later the policy may have changed without anybody's telling the loop.
  options.trims = world_.settings.deletes || (!fresh && random_.chance(0.5));
  world_.daemons.push_back(std::make_unique<sim_daemon>(world_.clusters, random_.fork(), options, std::move(name)));
  watched_.emplace_back();
  last().start();
  return last();
}

void seed_run::schedule_writes() {
  if (writes_left_-- <= 0) return;
  world_.writers.act();
  const auto pause = random_.chance(0.05) ? milliseconds(random_.between(0, 2'000)) : milliseconds(random_.between(0, 20));
  world_.clock.after(pause, [this] { schedule_writes(); });
}

void seed_run::schedule_restarts() {
  for (auto left = world_.restarts; left > 0; --left) {
    const bool crash = options_.crashes && random_.chance(0.8);
    const auto action = [this, crash] { restart(crash); };
    if (random_.chance(0.6)) world_.at_an_interesting_moment(action);
    else if (random_.chance(0.2)) world_.clock.after(milliseconds(random_.between(0, 60)), action);  // while it takes over or fills
    else world_.clock.after(world_.some_moment(), action);
  }
}

void seed_run::restart(bool crash) {
  if (restarting_ || last().ended()) return;
  restarting_ = true;
  ++seen_[crash ? "crashes" : "orderly restarts"];
  if (crash) last().crash();
  else last().stop();
}

// As after a SIGSTOP of the first for longer than its lease, or two instances with one configuration.
void seed_run::schedule_second_owner() {
  const auto start_second = [this] {
    if (second_started_) return;
    second_started_ = true;
    if (random_.chance(0.6)) pause_for_a_while(0);
    start_daemon(false, "second");
  };
  if (random_.chance(0.6)) world_.at_an_interesting_moment(start_second);
  world_.clock.after(world_.some_moment(), start_second);
  for (auto left = random_.between(0, 3); left > 0; --left) {
    const auto pause_one = [this] {
      pause_for_a_while(static_cast<std::size_t>(random_.between(0, static_cast<std::int64_t>(world_.daemons.size()) - 1)));
    };
    if (random_.chance(0.6)) world_.at_an_interesting_moment(pause_one);
    else world_.clock.after(world_.some_moment(), pause_one);
  }
}

void seed_run::pause_for_a_while(std::size_t daemon) {
  sim_daemon& paused = *world_.daemons[daemon];
  if (paused.ended() || paused.paused()) return;
  ++seen_["pauses"];
  paused.pause(random_.chance(0.5));
  const auto length = milliseconds(random_.chance(0.5) ? random_.between(1, 300) : random_.between(300, 15'000));
  world_.clock.after(length, [&paused] { paused.resume(); });
}

// A daemon that was stopped for longer than its lease begins anew, with nothing of what it knew.
void seed_run::start_over_after_lease() {
  const auto count = world_.daemons.size();
  for (std::size_t i = 0; i < count; ++i) {
    if (watched_[i].replaced || !world_.daemons[i]->ended() || world_.daemons[i]->failed_for_good()) continue;
    watched_[i].replaced = true;
    ++seen_["leases lost"];
    start_daemon(false, "anew " + std::to_string(count));
  }
}

void seed_run::wait(sim_clock::duration limit, const std::function<bool()>& until, const char* what) {
  const auto stop = [&] { return !world_.trace.ok() || until(); };
  const auto each_step = [this] {
    check_views();
    if (restarting_ && last().ended()) {
      restarting_ = false;
      start_daemon(false);
    }
    if (options_.two_owners) start_over_after_lease();
  };
  switch (drive(world_.clock, limit, stop, each_step)) {
    case drive_end::done: return;
    case drive_end::idle: return world_.trace.violation("{}: nothing is left that could happen", what);
    case drive_end::time_limit:
      return world_.trace.violation("{}: not within {} s; the mirror is {}, destination end {} of {}, start {} of {}", what,
                                    std::chrono::duration_cast<seconds>(limit).count(), core::name(last().view().state),
                                    world_.destination.log().end(), world_.source.log().end(), world_.destination.log().start(),
                                    world_.source.log().start());
  }
}

void seed_run::pass(sim_clock::duration length) {
  auto is_over = std::make_shared<bool>(false);
  world_.clock.after(length, [is_over] { *is_over = true; });
  wait(2 * length, [is_over] { return *is_over; }, "letting time pass");
}

void seed_run::check_views() {
  if (foreign_) return;
  for (std::size_t i = 0; i < world_.daemons.size(); ++i) check_view(*world_.daemons[i], watched_[i]);
  if (!options_.two_owners) world_.checks.when_caught_up();
}

// What an operator is shown is never ahead of what is so.
void seed_run::check_view(const sim_daemon& daemon, watched& before) {
  const auto& view = daemon.view();
  if (view.state == core::partition_state::preparing && before.was_mirroring) ++seen_["rounds failed"];
  before.was_mirroring = view.state == core::partition_state::mirroring;
  if (view.destination_end > world_.destination.committed())
    world_.trace.violation("the mirror counts {} as mirrored, {} is replicated", view.destination_end, world_.destination.committed());
  if (view.destination_start > world_.destination.log().start())
    world_.trace.violation("the mirror shows log start {}, it is {}", view.destination_start, world_.destination.log().start());
  if (view.source_end > world_.source.log().end())
    world_.trace.violation("the mirror shows source end {}, it is {}", view.source_end, world_.source.log().end());
  if (daemon.failed_for_good() && !options_.two_owners && !is_outcome_unknown(daemon))
    world_.trace.violation("FAILED without a reason: {}", view.last_error ? view.last_error->message() : "no error");
}

// FAILED because an end was compacted away before we had seen it, and nothing tells any more what it was.
bool seed_run::is_outcome_unknown(const sim_daemon& daemon) const {
  const auto& reason = daemon.view().last_error;
  return daemon.failed_for_good() && reason && reason->code == errc::outcome_unknown && world_.checks.has_unknown_outcome();
}

bool seed_run::caught_up(const sim_daemon& daemon) const {
  const auto& view = daemon.view();
  const auto& destination = world_.destination;
  const auto end = world_.source.log().end();
  return !restarting_ && view.state == core::partition_state::mirroring && view.destination_end == end && destination.log().end() == end &&
         destination.high_watermark() == end &&
         (!world_.settings.deletes || destination.log().start() == world_.source.log().start());
}

void seed_run::stop_in_order() {
  last().stop();
  wait(minutes(1), [this] { return last().ended(); }, "stopping in order");
  if (!world_.trace.ok()) return;
  const auto end = world_.destination.log().end();
  if (world_.state.partition.hand_over != end) world_.trace.violation("no hand-over at {} after an orderly stop", end);
  if (world_.state.partition.fill_plan) world_.trace.violation("a fill plan is left");
}

void seed_run::finish() {
  world_.no_more_faults();
  if (random_.chance(0.6)) world_.writers.end_open_transactions();
  wait(minutes(30), [this] { return caught_up(last()) || is_outcome_unknown(last()); }, "catching up");
  // A late request must not find its place now; and a mirror that has all can still find that an end is missing.
  if (world_.trace.ok()) pass(seconds(options_.very_late ? 10 : 2));
  if (!world_.trace.ok()) return;
  if (is_outcome_unknown(last())) {
    ++seen_["outcomes unknown, FAILED"];
    const auto difference = world_.checks.difference();
    if (!difference.empty()) world_.trace.violation("FAILED, and the log is wrong: {}", difference);
    return;
  }
  stop_in_order();
  if (world_.trace.ok()) world_.checks.at_the_end(world_.settings.deletes);
}

// Somebody else wrote one record, and nothing else went wrong: found, told with both offsets, nothing written after.
void seed_run::finish_foreign() {
  // What is in the log before the position is proved counts as the mirror's; who wrote it is the alignment's question.
  wait(minutes(5), [this] { return last().view().state == core::partition_state::mirroring; }, "beginning to mirror");
  if (!world_.trace.ok()) return;
  foreign_ = true;
  world_.checks.foreign_write();
  world_.destination.foreign_append();
  writes_left_ = random_.between(0, 20);
  schedule_writes();
  wait(minutes(5), [this] { return last().ended(); }, "finding a foreign write");
  if (!world_.trace.ok()) return;
  const auto& view = last().view();
  if (view.state != core::partition_state::failed || !view.last_error || view.last_error->code != errc::foreign_write)
    return world_.trace.violation("a foreign write at {} ended in {}", *world_.destination.foreign_offset(),
                                  view.last_error ? view.last_error->message() : "nothing");
  const auto& text = view.last_error->context;
  std::size_t numbers = 0;
  for (std::size_t i = 0; i < text.size(); ++i)
    if (text[i] >= '0' && text[i] <= '9' && (i + 1 == text.size() || text[i + 1] < '0' || text[i + 1] > '9')) ++numbers;
  if (numbers < 3) world_.trace.violation("'{}' does not tell both offsets", text);  // the partition's number is one
  const auto end = world_.destination.log().end();
  pass(seconds(60));
  if (world_.destination.log().end() != end) world_.trace.violation("appended after FAILED");
  ++seen_["foreign writes found"];
}

// Equal, or FAILED loudly by everybody; never a difference while somebody says that he is mirroring.
void seed_run::finish_two_owners() {
  for (auto& daemon : world_.daemons) daemon->resume();
  world_.no_more_faults();
  if (random_.chance(0.6)) world_.writers.end_open_transactions();
  const auto settled = [this] {
    return std::all_of(world_.daemons.begin(), world_.daemons.end(), [this](const auto& each) { return each->ended() || caught_up(*each); });
  };
  wait(minutes(30), settled, "two owners: equal, or FAILED");
  if (!world_.trace.ok()) return;
  pass(seconds(70));  // two audits
  if (world_.trace.ok()) wait(minutes(30), settled, "two owners: equal, or FAILED");
  if (!world_.trace.ok()) return;
  const auto difference = world_.checks.difference();
  const bool is_longer = world_.destination.log().end() > world_.source.log().end();
  const auto at_work = std::count_if(world_.daemons.begin(), world_.daemons.end(), [](const auto& each) { return !each->ended(); });
  const auto told = is_longer && difference.empty() ? "the log is longer than the source's" : difference;
  if (at_work > 0) {
    if (!told.empty()) return world_.trace.violation("SILENT: {} while a daemon says that it is mirroring", told);
    ++seen_[at_work == 2 ? "two owners: equal, both at work" : "two owners: equal, one FAILED"];
    return;
  }
  for (std::size_t i = 0; i < world_.daemons.size(); ++i) {
    if (watched_[i].replaced) continue;
    const auto& daemon = world_.daemons[i];
    const auto& reason = daemon->view().last_error;
    if (!daemon->failed_for_good() || !reason) return world_.trace.violation("a daemon ended without FAILED");
    if (reason->code != errc::foreign_write && reason->code != errc::diverged && reason->code != errc::outcome_unknown)
      return world_.trace.violation("FAILED for another reason: {}", reason->message());
  }
  judge_after_failures(!told.empty(), told);
}

// Whether a restart takes a wrong log for a right one.
void seed_run::judge_after_failures(bool is_wrong, const std::string& difference) {
  start_daemon(false, "restarted");
  pass(minutes(5));
  if (!world_.trace.ok()) return;
  const bool failed_again = last().view().state == core::partition_state::failed;
  if (!failed_again && !caught_up(last())) return world_.trace.violation("a restart after FAILED neither fails nor catches up");
  const auto after = world_.checks.difference();
  if (!failed_again && (is_wrong || !after.empty()))
    return world_.trace.violation("SILENT: {} and a restart goes on", is_wrong ? difference : after);
  ++seen_[is_wrong         ? "two owners: wrong log, all FAILED"
          : failed_again ? "two owners: right log, all FAILED for good"
                         : "two owners: right log, all FAILED, a restart goes on"];
}

seed_result seed_run::told() {
  seed_result result;
  result.violation = world_.trace.first_violation();
  if (!world_.trace.ok()) result.trace = world_.trace.text();
  seen_["endings lost to compaction, aborted"] = world_.checks.lost_endings();
  seen_["offsets"] = world_.source.log().end();
  seen_["leader moves"] = world_.destination.epoch();
  seen_["daemons"] = static_cast<std::int64_t>(world_.daemons.size());
  seen_["batches cut off by leader moves"] = world_.destination.losses.data_batches;
  seen_["markers cut off"] = world_.destination.losses.markers;
  seen_["producers forgotten"] = world_.destination.losses.producers;
  for (const auto& daemon : world_.daemons) {
    seen_["batches forwarded"] += static_cast<std::int64_t>(daemon->view().batches_forwarded);
    seen_["re-encoded"] += static_cast<std::int64_t>(daemon->view().batches_reencoded);
    seen_["offsets filled"] += static_cast<std::int64_t>(daemon->view().filler);
  }
  result.seen = seen_;
  return result;
}

seed_result seed_run::run() {
  const bool is_foreign = !options_.two_owners && random_.chance(0.05);
  world_.from_source.knows_producers = random_.chance(0.8);
  world_.from_source.batches_max = random_.chance(0.3) ? 1 : random_.between(2, 20);
  for (auto left = random_.chance(0.2) ? 0 : random_.between(1, 60); left > 0; --left) world_.writers.act();
  world_.source.settle_high_watermark();
  if (!is_foreign) {
    world_.draw_faults();
    world_.schedule_cluster_misfortunes();
    schedule_restarts();
  }
  if (options_.two_owners) {
    world_.checks.note_only();
    schedule_second_owner();
  }
  start_daemon(random_.chance(0.7), options_.two_owners ? "first" : "daemon");
  writes_left_ = random_.between(10, 120);
  schedule_writes();
  wait(minutes(2), [this] { return writes_left_ <= 0; }, "writing");
  if (world_.trace.ok() && !is_foreign) pass(seconds(9));
  if (world_.trace.ok()) {
    if (is_foreign) finish_foreign();
    else if (options_.two_owners) finish_two_owners();
    else finish();
  }
  const auto result = told();
  // Whatever failed: the coroutines end before what they refer to.
  for (auto& daemon : world_.daemons)
    if (!daemon->ended()) daemon->crash();
  (void)drive(world_.clock, minutes(10), [this] {
    return std::all_of(world_.daemons.begin(), world_.daemons.end(), [](const auto& daemon) { return daemon->ended(); });
  });
  return result;
}

}  // namespace

seed_result run_seed(std::uint64_t seed, const seed_options& options) {
  seed_run run(seed, options);
  return run.run();
}

}  // namespace mirrord::sim
