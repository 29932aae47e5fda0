// What a source log can hold, one case each: the destination ends with the same offsets.
#include "tests/sim/scenario.hpp"

#include <catch2/catch.hpp>

namespace mirrord::sim {
namespace {

TEST_CASE("plain batches of several producers and of none become the writer's", "[shapes]") {
  scenario s;
  s.plain(3);
  s.plain(2, 101);
  s.plain(1, -1);
  s.start(true);
  s.expect_equal();
  CHECK(s.data_batches() == 3);
  CHECK(s.markers() == 0);
  CHECK(s.state.pool.size() == 1);
}

TEST_CASE("interleaved transactions keep their outcomes, and open ones the last stable offset", "[shapes]") {
  scenario s;
  s.transactional(200, 2);
  s.transactional(201, 1);
  s.plain(1);
  s.transactional(200, 1);
  s.end(201, false);
  s.transactional(202, 1);
  s.end(200, true);
  s.start(true);
  s.expect_equal();
  CHECK(s.destination.log().last_stable(s.destination.log().end()) == 6);
  // The lowest free slot: 202 took what 201 had left.
  CHECK(s.state.pool.size() == 3);
  s.end(202, true);
  s.expect_equal();
  CHECK(s.destination.log().last_stable(s.destination.log().end()) == 9);
}

TEST_CASE("markers without data here and control batches of other kinds become filler of the writer", "[shapes]") {
  scenario s;
  s.end(300, true);
  auto unknown = control_batch(-1, -1, 6, 0, 5);
  unknown.transactional = false;
  s.source.append(unknown);
  s.end(301, false);
  s.plain(1);
  s.start(true);
  s.expect_equal();
  CHECK(s.markers() == 3);
  CHECK(s.state.pool.size() == 1);
}

TEST_CASE("holes inside a batch, a cut tail, an empty batch and a missing one are filled", "[shapes]") {
  scenario s;
  s.plain(5);      // 0 .. 4, loses 1 and 2
  s.plain(4);      // 5 .. 8, loses 7 and 8
  s.plain(3);      // 9 .. 11, stays as an empty batch
  s.plain(3);      // 12 .. 14, gone
  s.plain(1);
  s.compact(0, {1, 2});
  s.compact(5, {7, 8});
  s.compact(9, {9, 10, 11});
  s.compact(12, {12, 13, 14}, true);
  s.start(true);
  s.expect_equal();
  CHECK(s.markers() == 10);
  CHECK(s.destination_text(3) == "3");
  CHECK(s.destination_text(7) == "control");
}

TEST_CASE("append times become the records' times", "[shapes]") {
  scenario s;
  record_spec record;
  record.key = "k";
  record.timestamp = 12;
  auto batch = consecutive({record, record});
  batch.append_time = 1'650'000'000'000;
  s.source.append(batch);
  s.start(true);
  s.expect_equal();
  CHECK(s.daemon().view().batches_reencoded == 1);
}

TEST_CASE("a batch above the destination's limit is split, a record above it fails the partition", "[shapes]") {
  scenario s(log_settings{300, false, true});
  s.plain(40);
  s.start(true);
  s.expect_equal();
  CHECK(s.data_batches() > 1);

  record_spec large;
  large.key = "k";
  large.value = std::string(400, 'x');
  s.source.append(consecutive({large}));
  CHECK(s.expect_failed().code == errc::limit_exceeded);
  CHECK(s.destination.log().end() == 40);
}

TEST_CASE("the delete horizon of a cleaned batch does not go along", "[shapes]") {
  scenario s;
  s.plain(3);
  s.source.compact(0, [](std::int64_t) { return true; }, false, 1'800'000'000'000);
  s.start(true);
  s.expect_equal();
  CHECK(s.daemon().view().batches_forwarded == 1);
}

TEST_CASE("a fresh destination begins where the source does: filled in bulk, trimmed, plan cleared", "[shapes]") {
  scenario s;
  s.plain(100);
  s.plain(10);
  s.source.settle_high_watermark();
  s.source.move_start(104);  // in the middle of a batch
  s.start(true);
  s.expect_equal();
  CHECK(s.markers() == 0);
  CHECK_FALSE(s.state.partition.fill_plan.has_value());
}

TEST_CASE("an empty source that ends where it starts, beyond 0", "[shapes]") {
  scenario s;
  s.plain(30);
  s.source.settle_high_watermark();
  s.source.move_start(30);
  s.start(true);
  s.expect_equal();
  CHECK(s.destination.log().start() == 30);
  s.plain(1);
  s.expect_equal();
}

TEST_CASE("a leading gap on a topic that may have readers is filled with markers only", "[shapes]") {
  scenario s;
  s.plain(700);
  s.plain(10);
  s.source.settle_high_watermark();
  s.source.move_start(700);
  s.start(false);
  s.expect_equal();
  CHECK(s.markers() == 700);
}

TEST_CASE("a gap above hole.fill.max fails the partition before anything is written", "[shapes]") {
  const bool fresh = GENERATE(true, false);
  scenario s;
  s.options.hole_fill_max = 99;
  s.plain(100);
  s.plain(1);
  s.source.settle_high_watermark();
  s.source.move_start(100);
  s.start(fresh);
  const auto reason = s.expect_failed();
  CHECK(reason.code == errc::limit_exceeded);
  CHECK(reason.context.find("100") != std::string::npos);
  CHECK(s.destination.log().end() == 0);
}

TEST_CASE("the source's log start is followed, to its very end too", "[shapes]") {
  scenario s;
  s.plain(10);
  s.start(true);
  s.expect_equal();
  s.source.move_start(4);
  s.expect_equal();
  s.source.move_start(10);
  s.expect_equal();
  CHECK(s.destination.log().start() == 10);
}

TEST_CASE("retention that passes the mirror leaves a gap of markers, trimmed", "[shapes]") {
  scenario s;
  s.plain(5);
  s.start(true);
  s.expect_equal();
  s.stop();
  s.plain(20);
  s.plain(2);
  s.source.settle_high_watermark();
  s.source.move_start(25);
  s.start(false);
  s.expect_equal();
  CHECK(s.markers() == 20);
}

TEST_CASE("a compact-only destination is not trimmed and the partition goes on", "[shapes]") {
  scenario s(log_settings{1'048'588, false, false});
  s.options.trims = true;  // nobody told the loop
  s.plain(10);
  s.start(false);
  s.expect_equal();
  s.source.move_start(4);
  s.pass(std::chrono::seconds(2));
  s.plain(3);
  s.expect_equal();
  CHECK(s.destination.log().start() == 0);
}

}  // namespace
}  // namespace mirrord::sim
