// PAUSED and STOPPED: what the log holds afterwards, also when the daemon dies at any step on the way.
#include "tests/sim/scenario.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <cstdlib>

namespace mirrord::sim {
namespace {

using core::desired_state;
using core::partition_state;
using std::chrono::milliseconds;
using std::chrono::minutes;

// Transactions of three producers, of which two are open, around plain data.
void open_two_transactions(scenario& s) {
  s.transactional(200, 2);
  s.plain(3);
  s.transactional(201, 1);
  s.end(201, true);
  s.transactional(201, 2);
  s.transactional(200, 1);
}

// All of it mirrored; from here on the destination may differ from the source.
void mirror_two_open_transactions(scenario& s) {
  open_two_transactions(s);
  s.start(true);
  s.expect_equal();
  s.checks.foreign_write();
}

// FAILED, since somebody else wrote; answers the destination's end.
std::int64_t fail_for_a_foreign_write(scenario& s) {
  s.plain(5);
  s.start(true);
  s.expect_equal();
  s.checks.foreign_write();
  s.destination.foreign_append();
  s.plain(3);
  CHECK(s.expect_failed().code == errc::foreign_write);
  return s.destination.log().end();
}

bool is_stopped(scenario& s) {
  return s.state.partition.standing.state == partition_state::stopped && s.daemon().view().state == partition_state::stopped;
}

void stop(scenario& s) {
  s.want(desired_state::stopped);
  s.run_until(minutes(2), [&] { return is_stopped(s); });
}

// The mirrored log, then one ABORT for each open transaction, then the reset marker of the writer; nothing is open.
void check_stopped(scenario& s, std::int64_t open) {
  const auto& plan = s.state.partition.stop_plan;
  REQUIRE(plan.has_value());
  INFO(s.trace.text());
  CHECK(static_cast<std::int64_t>(plan->open.size()) == open);
  CHECK(s.state.partition.last_mirrored_end == plan->mirrored_end);
  CHECK(s.destination.log().end() == plan->mirrored_end + open + 1);
  CHECK(plan->end_offset == s.destination.log().end());
  CHECK(s.destination.log().last_stable(s.destination.log().end()) == s.destination.log().end());
  std::vector<std::int64_t> ended;
  for (const auto& [offset, entry] : s.destination.log().entries()) {
    if (offset < plan->mirrored_end) continue;
    CHECK(entry.header.is_control());
    ended.push_back(entry.header.producer_id);
  }
  REQUIRE(static_cast<std::int64_t>(ended.size()) == open + 1);
  CHECK(ended.back() == s.state.pool.at(core::writer_index).value);
  std::vector<std::int64_t> aborted;
  for (const auto pid : plan->open) aborted.push_back(pid.value);
  ended.pop_back();
  CHECK(std::is_permutation(ended.begin(), ended.end(), aborted.begin(), aborted.end()));
}

TEST_CASE("a stop aborts what is open and ends the mirrored log with a reset marker", "[stopping]") {
  scenario s;
  mirror_two_open_transactions(s);
  stop(s);
  check_stopped(s, 2);
  CHECK(s.state.partition.stop_plan->mirrored_end == s.source.log().end());

  const auto end = s.destination.log().end();
  s.plain(5);  // the source goes on
  s.pass(minutes(5));
  CHECK(s.destination.log().end() == end);
  s.crash();
  s.start();
  s.pass(minutes(5));
  CHECK(s.destination.log().end() == end);
}

TEST_CASE("a stop works while the source is down, and of a partition that was never mirrored", "[stopping]") {
  scenario s;
  open_two_transactions(s);
  s.from_source.lost_answer = 1;
  s.checks.foreign_write();
  s.want(desired_state::stopped);
  s.start();
  s.run_until(minutes(2), [&] { return is_stopped(s); });
  check_stopped(s, 0);
  CHECK(s.destination.log().end() == 1);
}

TEST_CASE("a FAILED partition can be stopped, and what others wrote stays behind the mirrored end", "[stopping]") {
  scenario s;
  const auto found = fail_for_a_foreign_write(s);
  stop(s);
  CHECK(s.state.partition.last_mirrored_end == 5);
  CHECK(s.state.partition.stop_plan->mirrored_end == found);
  CHECK(s.destination.log().end() == found + 1);
}

TEST_CASE("a late first batch of an idle slot is aborted after the stop", "[stopping]") {
  scenario s;
  mirror_two_open_transactions(s);
  stop(s);
  check_stopped(s, 2);
  auto late = consecutive({record_spec{}});
  late.transactional = true;
  late.producer_id = s.state.pool.rbegin()->second.value;
  late.producer_epoch = static_cast<std::int16_t>(s.state.producer_epoch);
  late.base_sequence = 0;
  s.destination.produce(s.destination.epoch(), encode(late), mirror::acks::all, [](append_outcome) {});
  s.run_until(minutes(5), [&] { return s.destination.log().last_stable(s.destination.log().end()) == s.destination.log().end(); });
}

TEST_CASE("bulk filler is trimmed before a stop ends the log", "[stopping]") {
  scenario s;
  s.plain(3'000);
  s.plain(4);
  s.source.settle_high_watermark();
  s.source.move_start(3'000);
  s.start(true);
  s.run_until(minutes(1), [&] { return s.destination.log().end() > 0; });
  REQUIRE(s.state.partition.fill_plan.has_value());
  s.crash();
  s.checks.foreign_write();
  s.want(desired_state::stopped);
  s.start();
  s.run_until(minutes(2), [&] { return is_stopped(s); });
  CHECK_FALSE(s.state.partition.fill_plan.has_value());
  CHECK(s.destination.log().start() == s.state.partition.stop_plan->mirrored_end);
  check_stopped(s, 0);
}

TEST_CASE("a paused partition neither reads nor writes, also after a restart, and goes on where it was", "[stopping]") {
  scenario s;
  open_two_transactions(s);
  s.start(true);
  s.expect_equal();
  s.want(desired_state::paused);
  s.run_until(minutes(1), [&] { return s.state.partition.standing.state == partition_state::paused; });
  CHECK(s.state.partition.hand_over == s.destination.log().end());
  CHECK(s.state.partition.open_slots.size() == 2);
  const auto end = s.destination.log().end();
  s.end(200, true);
  s.plain(4);
  s.pass(minutes(5));
  CHECK(s.destination.log().end() == end);
  s.stop();
  s.start();
  s.pass(minutes(5));
  CHECK(s.destination.log().end() == end);
  s.want(desired_state::mirroring);
  s.expect_equal();
  CHECK(s.state.partition.standing.state == partition_state::mirroring);
}

TEST_CASE("a pause that is taken back at once, at any moment, does no harm", "[stopping]") {
  for (int moment = 0; moment < 60; ++moment) {
    scenario s;
    for (int i = 0; i < 10; ++i) s.plain(3);
    s.start(true);
    for (int i = 0; i < moment; ++i) s.pass_one_event();
    for (int i = 0; i < 10; ++i) s.transactional(200 + i, 2);
    s.want(desired_state::paused);
    s.pass_one_event();
    s.want(desired_state::mirroring);
    s.expect_equal();
  }
}

TEST_CASE("a stop of a FAILED partition is carried out after a restart", "[stopping]") {
  scenario s;
  const auto found = fail_for_a_foreign_write(s);
  s.crash();
  s.want(desired_state::stopped);
  s.daemons.push_back(std::make_unique<sim_daemon>(s.clusters, sim_random(7), s.options));
  s.daemon().want(desired_state::stopped);
  s.daemon().start(false);
  s.run_until(minutes(2), [&] { return is_stopped(s); });
  CHECK(s.destination.log().end() == found + 1);
}

TEST_CASE("a stop behind somebody else's record after a crash does not vouch for it", "[stopping]") {
  scenario s;
  s.plain(5);
  s.start(true);
  s.expect_equal();
  s.crash();
  s.checks.foreign_write();
  s.destination.foreign_append();
  s.want(desired_state::stopped);
  s.start();
  s.run_until(minutes(2), [&] { return is_stopped(s); });
  CHECK(s.state.partition.last_mirrored_end == 0);
  CHECK(s.destination.log().end() == 7);
}

TEST_CASE("a partition that is FAILED on record stays so over a restart until a person acts", "[stopping]") {
  scenario s;
  const auto found = fail_for_a_foreign_write(s);
  s.crash();
  s.daemons.push_back(std::make_unique<sim_daemon>(s.clusters, sim_random(7), s.options));
  s.daemon().start(false);
  s.pass(minutes(10));
  const error told = s.expect_failed();
  CHECK(told.code == errc::recorded);
  CHECK(told.message().find("foreign") == std::string::npos);  // the words of the reason, not its code
  CHECK(told.message().find("somebody else") != std::string::npos);
  CHECK(s.destination.log().end() == found);
}

TEST_CASE("a stopped partition is not mirrored again over what was written behind its end", "[stopping]") {
  scenario s;
  mirror_two_open_transactions(s);
  stop(s);
  const auto end = s.destination.log().end();
  for (int i = 0; i < 20; ++i) s.plain(2);
  s.want(desired_state::mirroring);
  CHECK(s.expect_failed().code == errc::diverged);
  CHECK(s.destination.log().end() == end);
}

// Whether the crash came before the partition was STOPPED.
bool stop_with_crash(std::uint64_t seed, std::uint64_t step, bool in_mid_load) {
  scenario s({}, seed);
  s.record_source_of_failure("seed " + std::to_string(seed) + ", step " + std::to_string(step));
  open_two_transactions(s);
  s.start(true);
  if (in_mid_load) {
    for (int i = 0; i < 10; ++i) s.plain(2);
    s.pass(milliseconds(5 + 3 * seed));
  } else {
    s.expect_equal();
  }
  s.checks.foreign_write();
  s.want(desired_state::stopped);
  bool crashed = false;
  s.clock.after_events(step, [&] {
    if (is_stopped(s)) return;
    crashed = true;
    s.crash_and_restart();
    if (seed % 2 == 1) s.clock.after_events(3 + step * 7 % 40, [&] { s.crash_and_restart(); });
  });
  s.run_until(minutes(5), [&] { return is_stopped(s); });
  if (crashed) s.pass(std::chrono::seconds(2));
  check_stopped(s, static_cast<std::int64_t>(s.state.partition.stop_plan->open.size()));
  if (!in_mid_load) CHECK(s.state.partition.stop_plan->mirrored_end == s.source.log().end());
  return crashed;
}

TEST_CASE("a crash at any step of a stop leaves one ABORT for each open transaction and one reset marker", "[stopping]") {
  for (const bool in_mid_load : {false, true}) {
    for (std::uint64_t seed = 0; seed < 6; ++seed) {
      std::uint64_t step = 1;
      while (stop_with_crash(seed, step, in_mid_load)) REQUIRE(++step < 2'000);
      CHECK(step > 10);
    }
  }
}

}  // namespace
}  // namespace mirrord::sim
