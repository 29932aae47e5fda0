#include "tests/sim/scenario.hpp"

#include <catch2/catch.hpp>

#include <algorithm>

namespace mirrord::sim {

using std::chrono::milliseconds;
using std::chrono::minutes;

scenario::scenario(log_settings destination_settings, std::uint64_t with_seed)
    : seed(with_seed), destination(clock, sim_random(10 * seed + 2), trace, destination_settings) {
  destination.on_append = [this](const log_entry& entry) { checks.after_append(entry); };
  options.batch_bytes_max = destination_settings.batch_bytes_max;
  options.late_request_time = to_destination.late_max + milliseconds(300);
  options.trims = destination_settings.deletes;
}

// The coroutines end before what they refer to.
scenario::~scenario() {
  for (auto& each : daemons)
    if (!each->ended()) each->crash();
  (void)drive(clock, minutes(10), [this] { return std::all_of(daemons.begin(), daemons.end(), [](const auto& each) { return each->ended(); }); });
}

batch_spec scenario::batch(int records, std::int64_t producer) {
  std::vector<record_spec> made;
  for (int i = 0; i < records; ++i) {
    record_spec record;
    record.key = std::to_string(source.log().end() + i);
    record.value = "value";
    record.timestamp = clock.wall_ms() - record_age.count() + i;
    made.push_back(std::move(record));
  }
  auto spec = consecutive(std::move(made));
  if (producer < 0) return spec;
  spec.producer_id = producer;
  spec.producer_epoch = 0;
  spec.base_sequence = sequences_[producer];
  sequences_[producer] += records;
  return spec;
}

std::int64_t scenario::plain(int records, std::int64_t producer) { return source.append(batch(records, producer)); }

std::int64_t scenario::transactional(std::int64_t producer, int records) {
  auto spec = batch(records, producer);
  spec.transactional = true;
  return source.append(std::move(spec));
}

std::int64_t scenario::end(std::int64_t producer, bool commit) { return source.end_transaction(producer, 0, commit); }

void scenario::compact(std::int64_t base_offset, std::vector<std::int64_t> gone, bool remove_if_empty) {
  const auto keep = [&](std::int64_t offset) { return std::find(gone.begin(), gone.end(), offset) == gone.end(); };
  source.compact(base_offset, keep, remove_if_empty, std::nullopt);
}

sim_daemon& scenario::start(bool fresh) {
  source.settle_high_watermark();
  auto with = options;
  with.fresh = fresh;
  daemons.push_back(std::make_unique<sim_daemon>(clusters, sim_random(10 * seed + 3 + daemons.size()), with));
  daemons.back()->want(desired);
  daemons.back()->start();
  return *daemons.back();
}

void scenario::run_until(minutes limit, const std::function<bool()>& until) {
  const auto each_step = [this] {
    checks.when_caught_up();
    if (!restarting_ || !daemon().ended()) return;
    restarting_ = false;
    start(false);
  };
  const auto end = drive(clock, limit, [&] { return !trace.ok() || (!restarting_ && until()); }, each_step);
  if (end != drive_end::done) trace.violation("what was waited for did not come");
  INFO(trace.text());
  INFO(came_from_);
  REQUIRE(trace.first_violation() == "");
}

void scenario::stop() {
  daemon().stop();
  run_until(minutes(1), [this] { return daemon().ended(); });
}

void scenario::want(core::desired_state wanted) {
  desired = wanted;
  if (!daemons.empty()) daemon().want(wanted);
}

void scenario::restart_in_order() {
  sim_daemon& asked = daemon();
  asked.stop();
  run_until(minutes(1), [&asked] { return asked.ended(); });
  if (&asked == &daemon()) start(false);
}

void scenario::crash() {
  daemon().crash();
  run_until(minutes(1), [this] { return daemon().ended(); });
}

void scenario::crash_and_restart() {
  if (restarting_ || daemons.empty() || daemon().ended()) return;
  daemon().crash();
  restarting_ = true;
}

void scenario::pass(milliseconds length) {
  auto is_over = std::make_shared<bool>(false);
  clock.after(length, [is_over] { *is_over = true; });
  run_until(std::chrono::duration_cast<minutes>(length) + minutes(1), [is_over] { return *is_over; });
}

void scenario::pass_one_event() {
  auto is_over = std::make_shared<bool>(false);
  clock.after_events(1, [is_over] { *is_over = true; });
  run_until(minutes(1), [is_over] { return *is_over; });
}

void scenario::expect_equal() {
  const auto follows_start = destination.log().settings().deletes;
  run_until(minutes(10), [&] {
    const auto& view = daemon().view();
    return view.state == core::partition_state::mirroring && view.destination_end == source.log().end() &&
           destination.log().end() == source.log().end() && destination.high_watermark() == destination.log().end() &&
           (!follows_start || destination.log().start() == source.log().start());
  });
  checks.at_the_end(follows_start);
  INFO(trace.text());
  REQUIRE(trace.first_violation() == "");
}

error scenario::expect_failed() {
  run_until(minutes(10), [this] { return daemon().ended(); });
  INFO(trace.text());
  REQUIRE(daemon().view().state == core::partition_state::failed);
  REQUIRE(daemon().view().last_error.has_value());
  return *daemon().view().last_error;
}

std::size_t scenario::data_batches() const {
  return static_cast<std::size_t>(std::count_if(destination.log().entries().begin(), destination.log().entries().end(),
                                                [](const auto& each) { return !each.second.header.is_control(); }));
}

std::size_t scenario::markers() const { return destination.log().entries().size() - data_batches(); }

std::string scenario::destination_text(std::int64_t offset) const {
  auto after = destination.log().entries().upper_bound(offset);
  REQUIRE(after != destination.log().entries().begin());
  const auto& entry = std::prev(after)->second;
  if (entry.header.is_control()) return "control";
  const auto records = decode(entry.view());
  REQUIRE(records.has_value());
  for (const auto& record : *records)
    if (entry.header.base_offset + record.offset_delta == offset) return record.key.value_or("<null>");
  return "nothing";
}

}  // namespace mirrord::sim
