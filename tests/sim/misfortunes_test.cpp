// Single misfortunes, each in a world where nothing else goes wrong.
#include "tests/sim/scenario.hpp"

#include <catch2/catch.hpp>

namespace mirrord::sim {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

TEST_CASE("a foreign write to an idle partition is found by the audit, with both offsets", "[misfortunes]") {
  scenario s;
  s.plain(7);
  s.start(true);
  s.expect_equal();
  s.checks.foreign_write();
  s.destination.foreign_append();
  const auto reason = s.expect_failed();
  CHECK(reason.code == errc::foreign_write);
  CHECK(reason.context.find("at offset 8") != std::string::npos);
  CHECK(reason.context.find("7 was expected") != std::string::npos);
  CHECK(s.clock.now() < seconds(40));
}

TEST_CASE("a foreign write is found at the next append, and nothing is written after it", "[misfortunes]") {
  scenario s;
  s.plain(7);
  s.start(true);
  s.expect_equal();
  s.checks.foreign_write();
  s.destination.foreign_append();
  s.plain(2);
  CHECK(s.expect_failed().code == errc::foreign_write);
  CHECK(s.destination.log().end() == 10);
  CHECK(s.clock.now() < seconds(10));
  s.pass(seconds(60));
  CHECK(s.destination.log().end() == 10);
}

TEST_CASE("a partition that is FAILED for a foreign write fails again after a restart", "[misfortunes]") {
  scenario s;
  s.plain(5);
  s.start();
  s.expect_equal();
  s.checks.foreign_write();
  s.destination.foreign_append();
  s.plain(3);
  CHECK(s.expect_failed().code == errc::foreign_write);
  s.stop();
  s.start();
  const error reason = s.expect_failed();
  CHECK(reason.code == errc::foreign_write);
  CHECK_THAT(reason.message(), Catch::Contains("left it at 5"));
}

TEST_CASE("a partition that is FAILED for a foreign write records its own end as soon as the state topic takes it", "[misfortunes]") {
  scenario s;
  s.plain(5);
  s.start();
  s.expect_equal();
  s.checks.foreign_write();
  s.state.fault_probability = 1;
  s.destination.foreign_append();
  s.plain(3);
  s.pass(seconds(60));
  CHECK(s.daemon().view().state == core::partition_state::failed);
  CHECK_FALSE(s.state.partition.hand_over.has_value());
  s.state.fault_probability = 0;
  CHECK(s.expect_failed().code == errc::foreign_write);
  CHECK(s.state.partition.hand_over == 5);
  s.crash();
  s.start();
  CHECK(s.expect_failed().code == errc::foreign_write);
}

TEST_CASE("a foreign write between an orderly stop and the next start is found before anything is written", "[misfortunes]") {
  scenario s;
  s.plain(7);
  s.start(true);
  s.expect_equal();
  s.stop();
  s.checks.foreign_write();
  s.destination.foreign_append();
  s.plain(2);
  s.start(false);
  CHECK(s.expect_failed().code == errc::foreign_write);
  CHECK(s.destination.log().end() == 8);
}

// All of seven records is mirrored, the daemon dies, and somebody else writes at offset 7.
void die_and_let_somebody_write(scenario& s) {
  s.plain(7);
  s.start(true);
  s.expect_equal();
  s.crash();
  s.checks.foreign_write();
  s.destination.foreign_append();
}

TEST_CASE("a foreign write between a crash and the next start is found before anything is written", "[misfortunes]") {
  for (const int written_meanwhile : {1, 4}) {  // as many as the source, and more: its end then explains the destination's
    scenario s;
    die_and_let_somebody_write(s);
    s.plain(written_meanwhile);
    s.start(false);
    CHECK(s.expect_failed().code == errc::diverged);
    CHECK(s.destination.log().end() == 8);
  }
}

TEST_CASE("a foreign write between a crash and the next start is found while the source is idle, and again when a person tries", "[misfortunes]") {
  scenario s;
  die_and_let_somebody_write(s);
  s.start(false);
  CHECK(s.expect_failed().code == errc::diverged);
  s.plain(5);  // the source's end explains the destination's now
  s.crash();
  s.start(false);
  CHECK(s.expect_failed().code == errc::diverged);
  CHECK(s.destination.log().end() == 8);
}

TEST_CASE("a foreign write behind a lost answer is not taken for our own", "[misfortunes]") {
  scenario s;
  s.plain(7);
  s.start(true);
  s.expect_equal();
  s.to_destination.lost_request = 1;
  s.plain(1);
  s.pass(milliseconds(10));
  s.checks.foreign_write();
  s.destination.foreign_append();
  s.to_destination.lost_request = 0;
  CHECK(s.expect_failed().code == errc::foreign_write);
  CHECK(s.destination.log().end() == 8);
}

TEST_CASE("a destination that is longer than the source fails the partition", "[misfortunes]") {
  scenario s;
  s.plain(3);
  s.checks.foreign_write();
  for (int i = 0; i < 4; ++i) s.destination.foreign_append();
  s.start(false);
  CHECK(s.expect_failed().code == errc::diverged);
  CHECK(s.destination.log().end() == 4);
}

TEST_CASE("data whose answer was lost is not sent again", "[misfortunes]") {
  scenario s;
  s.start(true);
  s.pass(milliseconds(100));
  s.to_destination.lost_answer = 1;
  s.plain(2);
  s.pass(milliseconds(20));
  s.to_destination.lost_answer = 0;
  s.plain(2);
  s.expect_equal();
  CHECK(s.data_batches() == 2);
}

TEST_CASE("an end marker whose answer was lost is not sent again", "[misfortunes]") {
  scenario s;
  s.transactional(200, 2);
  s.start(true);
  s.expect_equal();
  s.to_destination.lost_answer = 1;
  s.end(200, true);
  s.pass(milliseconds(20));
  s.to_destination.lost_answer = 0;
  s.transactional(200, 1);
  s.expect_equal();
  CHECK(s.markers() == 1);
}

TEST_CASE("requests that arrive after the client gave up do not shift anything", "[misfortunes]") {
  const bool marker = GENERATE(false, true);
  scenario s;
  s.transactional(200, 2);
  s.start(true);
  s.expect_equal();
  s.to_destination.late_request = 1;
  if (marker) s.end(200, true);
  else s.transactional(200, 2);
  s.pass(milliseconds(10));
  s.to_destination.late_request = 0;
  s.plain(2);
  s.expect_equal();
  s.pass(seconds(5));
  s.expect_equal();
}

TEST_CASE("a new destination leader that lacks the tail gets it again", "[misfortunes]") {
  scenario s;
  s.start(true);
  s.pass(milliseconds(100));
  s.destination.faults.replication_stall = 1;
  for (int i = 0; i < 10; ++i) s.plain(2);
  s.pass(milliseconds(6));
  s.destination.faults.replication_stall = 0;
  s.destination.move_leader(true);
  s.expect_equal();
}

TEST_CASE("nothing is written behind a batch that a leader lost together with its memory of the producer", "[misfortunes]") {
  const bool is_old = GENERATE(false, true);  // the writer's first batch, or one that lets it be forgotten
  scenario s;
  s.record_age = is_old ? std::chrono::hours(48) : std::chrono::hours(0);
  s.start(true);
  s.pass(milliseconds(100));
  if (is_old) {
    s.plain(2);
    s.expect_equal();
  }
  s.destination.faults.replication_stall = 1;
  for (int i = 0; i < 6; ++i) s.plain(2);
  const auto before = s.destination.log().end();
  while (s.destination.log().end() == before) s.pass_one_event();
  s.destination.expire_producers();
  while (s.destination.log().end() > before) s.destination.move_leader_and_back(true);
  s.destination.expire_producers();
  s.destination.faults.replication_stall = 0;
  s.expect_equal();
}

TEST_CASE("filler of which only a part was written is completed, not repeated", "[misfortunes]") {
  scenario s;
  s.plain(40);
  s.plain(1);
  s.compact(0, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30});
  s.destination.faults.not_enough_replicas = 0.6;
  s.start(true);
  s.pass(seconds(20));
  s.destination.faults.not_enough_replicas = 0;
  s.expect_equal();
  CHECK(s.markers() == 30);
}

TEST_CASE("a transaction open over an orderly restart goes on, though compaction took its first batch", "[misfortunes]") {
  scenario s;
  s.from_source.knows_producers = GENERATE(true, false);
  s.transactional(200, 2);
  s.plain(1);
  s.start(true);
  s.expect_equal();
  s.stop();
  CHECK(s.state.partition.open_slots.size() == 1);
  s.end(200, true);
  s.compact(0, {0, 1}, true);
  s.start(false);
  s.expect_equal();
  CHECK(s.markers() == 1);
  CHECK(s.destination.log().transaction_at(s.state.pool.at(0).value, 0)->committed);
}

TEST_CASE("a transaction open over a move of the leader goes on, though the source's log start passed its first batch", "[misfortunes]") {
  scenario s;
  s.from_source.knows_producers = false;
  s.transactional(200, 2);
  s.plain(1);
  s.start(true);
  s.expect_equal();
  s.source.move_start(3);
  s.expect_equal();
  s.destination.move_leader(false);
  s.transactional(200, 1);
  s.end(200, false);
  s.expect_equal();
  CHECK(s.destination.log().end() == 5);
}

TEST_CASE("a throttled answer of the source is not taken for a missing batch", "[misfortunes]") {
  scenario s;
  s.from_source.knows_producers = false;
  s.transactional(200, 2);
  s.start(true);
  s.expect_equal();
  s.crash();
  s.from_source.empty_answer = 1;
  s.start(false);
  s.pass(seconds(5));
  s.from_source.empty_answer = 0;
  s.end(200, true);
  s.expect_equal();
}

TEST_CASE("bulk filler left by a crash is trimmed before anything else, and never continued", "[misfortunes]") {
  scenario s;
  for (int i = 0; i < 120; ++i) s.plain(1'000);
  s.plain(3);
  s.source.settle_high_watermark();
  s.source.move_start(120'000);
  s.start(true);
  while (s.destination.log().end() == 0) s.pass(milliseconds(1));
  s.crash();
  s.pass(seconds(1));
  const auto filled_to = s.destination.log().end();
  REQUIRE(filled_to < 120'000);
  CHECK(s.state.partition.fill_plan == 120'000);
  s.start(false);
  while (!s.daemon().view().source_end || s.destination.log().end() == filled_to) s.pass(milliseconds(1));
  CHECK(s.destination.log().start() == filled_to);
  CHECK_FALSE(s.state.partition.fill_plan.has_value());
  s.expect_equal();
}

TEST_CASE("a null key refused by a compacted destination fails the partition", "[misfortunes]") {
  scenario s(log_settings{1'048'588, true, true});
  record_spec keyless;
  keyless.value = "v";
  s.plain(1);
  s.source.append(consecutive({keyless}));
  s.start(false);
  const auto reason = s.expect_failed();
  CHECK(reason.broker_code == 87);
  CHECK(s.destination.log().end() == 1);
}

TEST_CASE("a stop in the middle of a chunk of small transactions does not wait for its end", "[misfortunes]") {
  scenario s;
  for (int i = 0; i < 300; ++i) {
    s.transactional(200, 1);
    s.transactional(201, 1);
    s.end(200, true);
    s.end(201, false);
  }
  s.start(true);
  s.pass(std::chrono::milliseconds(1'000));
  const auto before = s.destination.log().end();
  REQUIRE(before > 0);
  const auto asked = s.clock.now();
  s.stop();
  CHECK(s.clock.now() - asked < seconds(1));
  CHECK(s.destination.log().end() < 1'200);
  CHECK(s.state.partition.hand_over == s.destination.log().end());
  s.start();
  s.expect_equal();
}

TEST_CASE("a stop ends within ten seconds while the destination has no leader", "[misfortunes]") {
  scenario s;
  s.plain(3);
  s.start(true);
  s.expect_equal();
  s.to_destination.lost_question = 1;
  s.destination.move_leader(false);
  s.plain(1);
  s.pass(seconds(30));
  const auto asked = s.clock.now();
  s.stop();
  CHECK(s.clock.now() - asked < seconds(10));
}

}  // namespace
}  // namespace mirrord::sim
