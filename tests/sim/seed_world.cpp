#include "tests/sim/seed_world.hpp"

namespace mirrord::sim {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

namespace {

constexpr minutes expiry_interval{10};  // producer.id.expiration.check.interval.ms

}  // namespace

seed_world::seed_world(std::uint64_t seed, const seed_options& with)
    : random(seed), trace(clock, "seed " + std::to_string(seed)), options(with),
      restarts(with.two_owners || !random.chance(0.4) ? 0 : random.between(1, 3)), settings(draw_destination(random)),
      source(clock, random.fork(), trace), destination(clock, random.fork(), trace, settings), checks(trace, source, destination, state),
      clusters{clock, trace, source, destination, state, checks, from_source, to_destination},
      writers(clock, random.fork(), source, draw_writers(), [this] { return daemons.empty() ? -1 : destination.log().end(); },
              [this] { return destination.log().last_stable(destination.committed()); }) {
  destination.on_append = [this](const log_entry& entry) { checks.after_append(entry); };
  destination.on_interest = [this](interest what) { notice(what); };
  state.on_write = [this] { notice(interest::state_written); };
  clock.after(milliseconds(random.between(0, milliseconds(expiry_interval).count())), [this] { expire_each_interval(); });
}

writers_profile seed_world::draw_writers() {
  auto profile = writers_profile::draw(random);
  profile.wild_compaction = options.wild_compaction || random.chance(0.2);
  if (profile.wild_compaction) {
    profile.compacts = true;
    checks.allow_lost_endings();
  }
  profile.keeps_open_transactions = restarts > 0 || options.two_owners;
  return profile;
}

log_settings seed_world::draw_destination(sim_random& random) {
  log_settings settings;
  if (random.chance(0.15)) settings.batch_bytes_max = static_cast<std::size_t>(random.between(400, 1'200));
  settings.deletes = random.chance(0.9);
  return settings;
}

void seed_world::draw_faults() {
  if (random.chance(0.3)) return;
  const double level = random.chance(0.3) ? 0.08 : 0.015;
  const auto draw = [&] { return random.chance(0.6) ? level * random.uniform() : 0.0; };
  to_destination.lost_request = draw();
  to_destination.lost_answer = draw();
  to_destination.late_request = draw();
  to_destination.lost_question = draw();
  if (options.very_late) {
    to_destination.late_max = seconds(6);
    checks.allow_late_arrivals();
  }
  to_destination.stale_lead = random.uniform();
  destination.faults = {draw(), draw(), 3 * draw(), random.uniform(), random.uniform()};
  from_source.lost_answer = draw();
  from_source.empty_answer = 3 * draw();
  state.fault_probability = draw();
}

void seed_world::no_more_faults() {
  to_destination = {};
  destination.faults = {};
  from_source.lost_answer = from_source.empty_answer = 0;
  state.fault_probability = 0;
  triggers_.clear();
  source.settle_high_watermark();
}

void seed_world::schedule_cluster_misfortunes() {
  for (auto left = random.chance(0.5) ? random.between(1, 3) : 0; left > 0; --left)
    clock.after(some_moment(), [this] { destination.move_leader(random.chance(0.7)); });
  // Right after an append its replication is under way, so that a move can take it: data, markers, filler.
  for (auto left = random.chance(0.4) ? random.between(1, 3) : 0; left > 0; --left)
    at_an_interesting_moment([this] { destination.move_leader(true); });
  for (auto left = random.between(0, 4); left > 0; --left)
    clock.after(some_moment(), [this] { destination.expire_producers(); });
  for (auto left = random.between(0, 2); left > 0; --left)
    clock.after(some_moment(), [this] { daemons.back()->raise_producer_epoch(); });
  if (random.chance(0.2)) clock.after(some_moment(), [this] { source.regress_high_watermark(milliseconds(random.between(10, 2'000))); });
}

void seed_world::at_an_interesting_moment(std::function<void()> action) {
  const auto what = static_cast<interest>(random.between(0, interests - 1));
  const auto most = what == interest::data_appended ? 60 : what == interest::marker_appended ? 20 : 4;
  triggers_.push_back({what, random.between(1, most), static_cast<std::uint64_t>(random.between(0, 12)), std::move(action)});
}

void seed_world::notice(interest what) {
  for (auto& each : triggers_)
    if (each.what == what && --each.occurrences_left == 0) clock.after_events(each.events_after, each.action);
}

void seed_world::expire_each_interval() {
  destination.expire_producers();
  clock.after(expiry_interval, [this] { expire_each_interval(); });
}

}  // namespace mirrord::sim
