// Decision table: every kind of source batch, at every relation of the position to it.
#include "tests/unit/core/destination_model.hpp"

#include <catch2/catch.hpp>

#include <string>
#include <utility>
#include <vector>

using namespace mirrord;
using namespace mirrord::core_tests;

namespace {

struct kind {
  std::string name;
  source_batch batch;
  open_slots open;
  // gap of two before it, at its base, one offset in, at its last offset
  std::string from_8, from_10, from_11, from_13;
};

constexpr std::int64_t producer = 7;

source_batch with_append_time(source_batch batch) {
  batch.append_time = 1'800'000'000'000;
  return batch;
}

source_batch with_delete_horizon(source_batch batch) {
  batch.delete_horizon = 1'900'000'000'000;
  return batch;
}

source_batch idempotent(source_batch batch) {
  batch.producer_id = producer;
  return batch;
}

std::vector<kind> data_kinds(wire::codec codec) {
  const source_batch plain = compressed(dense_batch(10, 13), codec);
  const source_batch holed = compressed(batch_of(10, 13, {10, 12}), codec);
  const source_batch emptied = compressed(batch_of(10, 13, {}), codec);
  const open_slots in_slot_1{{producer, {1, 2}}};
  const open_slots others_in_0_and_2{{8, {0, 3}}, {9, {2, 4}}};
  return {
      {"plain", plain, {}, "filler[8,10) writer[10,14)", "writer[10,14)", "writer*[11,14)", "writer*[13,14)"},
      {"idempotent", idempotent(plain), {}, "filler[8,10) writer[10,14)", "writer[10,14)", "writer*[11,14)", "writer*[13,14)"},
      {"idempotent while its producer id has a transaction open", idempotent(plain), in_slot_1,
       "filler[8,10) writer[10,14)", "writer[10,14)", "writer*[11,14)", "writer*[13,14)"},
      {"transactional, the first", transactional(plain, producer), {},
       "filler[8,10) slot0[10,14)", "slot0[10,14)", "slot0*[11,14)", "slot0*[13,14)"},
      {"transactional, the first, other slots taken", transactional(plain, producer), others_in_0_and_2,
       "filler[8,10) slot1[10,14)", "slot1[10,14)", "slot1*[11,14)", "slot1*[13,14)"},
      {"transactional, the next", transactional(plain, producer), in_slot_1,
       "filler[8,10) slot1[10,14)", "slot1[10,14)", "slot1*[11,14)", "slot1*[13,14)"},
      {"append time", with_append_time(plain), {},
       "filler[8,10) writer*[10,14)", "writer*[10,14)", "writer*[11,14)", "writer*[13,14)"},
      {"transactional with append time", with_append_time(transactional(plain, producer)), {},
       "filler[8,10) slot0*[10,14)", "slot0*[10,14)", "slot0*[11,14)", "slot0*[13,14)"},
      {"delete horizon", with_delete_horizon(plain), {},
       "filler[8,10) writer[10,14)", "writer[10,14)", "writer*[11,14)", "writer*[13,14)"},
      {"transactional with delete horizon", with_delete_horizon(transactional(plain, producer)), in_slot_1,
       "filler[8,10) slot1[10,14)", "slot1[10,14)", "slot1*[11,14)", "slot1*[13,14)"},
      {"holes", holed, {},
       "filler[8,10) writer*[10,11) filler[11,12) writer*[12,13) filler[13,14)", "writer*[10,11) filler[11,12) writer*[12,13) filler[13,14)",
       "filler[11,12) writer*[12,13) filler[13,14)", "filler[13,14)"},
      {"transactional with holes", transactional(holed, producer), {},
       "filler[8,10) slot0*[10,11) filler[11,12) slot0*[12,13) filler[13,14)", "slot0*[10,11) filler[11,12) slot0*[12,13) filler[13,14)",
       "filler[11,12) slot0*[12,13) filler[13,14)", "filler[13,14)"},
      {"holes and delete horizon", with_delete_horizon(holed), {},
       "filler[8,10) writer*[10,11) filler[11,12) writer*[12,13) filler[13,14)", "writer*[10,11) filler[11,12) writer*[12,13) filler[13,14)",
       "filler[11,12) writer*[12,13) filler[13,14)", "filler[13,14)"},
      {"holes and append time", with_append_time(holed), {},
       "filler[8,10) writer*[10,11) filler[11,12) writer*[12,13) filler[13,14)", "writer*[10,11) filler[11,12) writer*[12,13) filler[13,14)",
       "filler[11,12) writer*[12,13) filler[13,14)", "filler[13,14)"},
      {"emptied", emptied, {}, "filler[8,14)", "filler[10,14)", "filler[11,14)", "filler[13,14)"},
      {"emptied with append time", with_append_time(emptied), {}, "filler[8,14)", "filler[10,14)", "filler[11,14)", "filler[13,14)"},
      {"emptied, transactional", transactional(emptied, producer), {}, "filler[8,14)", "filler[10,14)", "filler[11,14)", "filler[13,14)"},
      {"emptied, transactional, the next", transactional(emptied, producer), in_slot_1,
       "filler[8,14)", "filler[10,14)", "filler[11,14)", "filler[13,14)"},
  };
}

void check(const kind& row) {
  CAPTURE(row.name);
  const stored_log source = store({row.batch});
  const std::pair<std::int64_t, const std::string*> columns[] = {{8, &row.from_8}, {10, &row.from_10}, {11, &row.from_11}, {13, &row.from_13}};
  for (const auto& [position, expected] : columns) {
    CAPTURE(position);
    core::write_planner planner(position, slots_of(row.open), no_limits);
    std::vector<core::planned_write> plan;
    REQUIRE(planner.add(source.batches.front(), plan).has_value());
    CHECK(text(plan) == *expected);
    CHECK(planner.position() == 14);
    const expected_log log = expect({row.batch}, position, row.open);
    CHECK(first_difference(laid_out(plan, position, no_limits.batch_bytes_max), log.contents) == "");
    CHECK(same(open_in(planner.slots()), log.open));
  }
  // Wholly below the position: nothing, and no slot is opened or closed.
  for (const std::int64_t position : {14, 15, 1'000'000}) {
    CAPTURE(position);
    core::write_planner planner(position, slots_of(row.open), no_limits);
    std::vector<core::planned_write> plan;
    REQUIRE(planner.add(source.batches.front(), plan).has_value());
    CHECK(text(plan) == "");
    CHECK(planner.position() == position);
    CHECK(same(open_in(planner.slots()), row.open));
  }
}

}  // namespace

TEST_CASE("every kind of data batch at every position, with each codec", "[write_plan]") {
  for (const wire::codec codec : all_codecs) {
    CAPTURE(wire::name(codec));
    for (const kind& row : data_kinds(codec)) check(row);
  }
}

TEST_CASE("a batch of magic 0 or 1 is built anew", "[write_plan]") {
  const auto magic = static_cast<std::int8_t>(GENERATE(0, 1));
  CAPTURE(int(magic));
  SECTION("compressed") {
    for (const wire::codec codec : {wire::codec::gzip, wire::codec::snappy, wire::codec::lz4}) {
      CAPTURE(wire::name(codec));
      check({"dense wrapper", legacy(compressed(dense_batch(10, 13), codec), magic), {},
             "filler[8,10) writer*[10,14)", "writer*[10,14)", "writer*[11,14)", "writer*[13,14)"});
      check({"wrapper with holes", legacy(compressed(batch_of(10, 13, {11, 13}), codec), magic), {},
             "filler[8,11) writer*[11,12) filler[12,13) writer*[13,14)", "filler[10,11) writer*[11,12) filler[12,13) writer*[13,14)",
             "writer*[11,12) filler[12,13) writer*[13,14)", "writer*[13,14)"});
    }
  }
  SECTION("plain") {
    check({"one message", legacy(batch_of(13, 13, {13}), magic), {},
           "filler[8,13) writer*[13,14)", "filler[10,13) writer*[13,14)", "filler[11,13) writer*[13,14)", "writer*[13,14)"});
  }
  SECTION("append time") {
    check({"one message", legacy(with_append_time(batch_of(13, 13, {13})), magic), {},
           "filler[8,13) writer*[13,14)", "filler[10,13) writer*[13,14)", "filler[11,13) writer*[13,14)", "writer*[13,14)"});
    check({"wrapper", legacy(with_append_time(compressed(dense_batch(10, 13), wire::codec::gzip)), magic), {},
           "filler[8,10) writer*[10,14)", "writer*[10,14)", "writer*[11,14)", "writer*[13,14)"});
  }
}

TEST_CASE("every kind of control batch, with and without its transaction here", "[write_plan]") {
  struct row {
    control what;
    bool open;
    std::string at_base;  // from its own offset on
  };
  const auto r = GENERATE(values<row>({
      {control::commit, true, "commit1@10"},
      {control::abort, true, "abort1@10"},
      {control::unknown, true, "filler[10,11)"},
      {control::emptied, true, "abort1@10"},
      {control::commit, false, "filler[10,11)"},
      {control::abort, false, "filler[10,11)"},
      {control::unknown, false, "filler[10,11)"},
      {control::emptied, false, "filler[10,11)"},
  }));
  CAPTURE(int(r.what), r.open);
  // Another producer's transaction is never touched.
  open_slots open{{8, {0, 2}}};
  if (r.open) open[producer] = {1, 3};
  const stored_log source = store({control_batch(10, producer, r.what)});

  CHECK(planned(source, 10, open) == r.at_base);
  const bool joins = r.at_base.starts_with("filler");
  // Of an emptied one it is certain that its data is gone, so that the first free offset before it will do for the abort.
  const bool emptied_open = r.what == control::emptied && r.open;
  const std::string after_gap = joins ? "filler[8,11)" : emptied_open ? "abort1@8 filler[9,11)" : "filler[8,10) " + r.at_base;
  CHECK(planned(source, 8, open) == after_gap);
  CHECK(planned(source, 11, open) == "");
  CHECK(planned(source, 20, open) == "");

  core::write_planner planner(10, slots_of(open), no_limits);
  std::vector<core::planned_write> plan;
  CHECK(planner.add(source.batches.front(), plan).has_value());
  const bool closed = r.open && r.what != control::unknown;
  CHECK(planner.slots().find(source_pid{producer}).has_value() == (r.open && !closed));
  CHECK(planner.slots().find(source_pid{8}) == 0);
}

TEST_CASE("a control batch of several offsets has its marker first and filler after it", "[write_plan]") {
  source_batch wide = control_batch(10, producer, control::commit);
  wide.last_offset = 12;
  CHECK(planned(store({wide}), 8, {{producer, {0, 2}}}) == "filler[8,10) commit0@10 filler[11,13)");
  CHECK(planned(store({wide}), 8) == "filler[8,13)");
  // Begun below the position: a transaction that is still open here has not been ended by what stands below.
  CHECK(planned(store({wide}), 11, {{producer, {0, 2}}}) == "commit0@11 filler[12,13)");
  CHECK(planned(store({wide}), 11) == "filler[11,13)");
}

// A source batch of `producer` with an epoch of its own.
source_batch with_epoch(source_batch batch, std::int16_t epoch) {
  batch.producer_epoch = epoch;
  return batch;
}

// What becomes of a transaction that is open here in slot 0 since offset 2, under source epoch 4.
std::string planned_with_open(const std::vector<source_batch>& batches, std::int64_t position, bool gone, std::int64_t source_start = 0) {
  const stored_log source = store(batches);
  core::producer_slots slots;
  REQUIRE(slots.restore(source_pid{producer}, {0, 2, 4, 0}));
  core::write_planner planner(position, slots, no_limits);
  planner.begin_chunk(0, source_start);
  if (gone) planner.note_gone(source_pid{producer});
  std::vector<core::planned_write> plan;
  for (const auto& batch : source.batches) {
    const auto added = planner.add(batch, plan);
    if (!added) return text(plan) + (plan.empty() ? "" : " ") + "error " + std::string(name(added.error().code));
  }
  return text(plan);
}

TEST_CASE("a transaction that the source lost is aborted at the next free offset, and no later data joins it", "[write_plan]") {
  const source_batch data = with_epoch(transactional(dense_batch(10, 11), producer), 4);
  const source_batch commit = with_epoch(control_batch(12, producer, control::commit), 4);
  CHECK(planned_with_open({data, commit}, 8, true) == "abort0@8 filler[9,10) slot0[10,12) commit0@12");
  CHECK(planned_with_open({commit}, 12, true) == "abort0@12");
  CHECK(planned_with_open({data}, 10, true) == "error outcome_unknown");
  // All of the old transaction lies before the log start, on both sides: nobody can see the difference.
  CHECK(planned_with_open({data, commit}, 10, true, 10) == "slot0[10,12) commit0@12");
}

TEST_CASE("a higher producer epoch tells that a transaction's end was missed", "[write_plan]") {
  const source_batch data = with_epoch(transactional(dense_batch(10, 11), producer), 5);
  CHECK(planned_with_open({data}, 8, false) == "abort0@8 filler[9,10) slot0[10,12)");
  CHECK(planned_with_open({data}, 10, false) == "error outcome_unknown");
  CHECK(planned_with_open({with_epoch(control_batch(10, producer, control::commit), 4)}, 10, false) == "commit0@10");
  CHECK(planned_with_open({with_epoch(control_batch(10, producer, control::commit), 5)}, 10, false) == "commit0@10");
  // The end of a later transaction is not the end of this one.
  CHECK(planned_with_open({with_epoch(control_batch(10, producer, control::commit), 6)}, 10, false) == "abort0@10");
}

TEST_CASE("a batch that goes on as it is stays a view of the fetched bytes", "[write_plan]") {
  const stored_log source = store({dense_batch(10, 13)});
  core::write_planner planner(10, {}, no_limits);
  std::vector<core::planned_write> plan;
  REQUIRE(planner.add(source.batches.front(), plan).has_value());
  const auto& write = std::get<core::data_write>(plan.at(0));
  CHECK(write.batch.bytes.data() == source.bytes.data());
  CHECK(write.batch.bytes.size() == source.bytes.size());
  CHECK(write.owner == nullptr);
}

TEST_CASE("a batch that is built anew owns its bytes", "[write_plan]") {
  std::vector<core::planned_write> plan;
  {
    const stored_log source = store({batch_of(10, 13, {10, 11, 13})});
    core::write_planner planner(10, {}, no_limits);
    REQUIRE(planner.add(source.batches.front(), plan).has_value());
  }
  CHECK(text(plan) == "writer*[10,12) filler[12,13) writer*[13,14)");
  CHECK(laid_out(plan, 10, no_limits.batch_bytes_max).size() == 4);
}

TEST_CASE("a plan of many batches is in source order, and its filler is joined", "[write_plan]") {
  const stored_log source = store({
      dense_batch(0, 2),
      transactional(dense_batch(3, 4), 7),
      transactional(dense_batch(5, 5), 9),
      control_batch(6, 7, control::commit),
      batch_of(7, 9, {}),
      control_batch(10, 5, control::abort),    // of a transaction without data here
      control_batch(12, 5, control::unknown),  // after a hole
      transactional(dense_batch(13, 13), 7),   // the next transaction of 7 takes the slot that it freed
      control_batch(14, 9, control::abort),
      control_batch(15, 7, control::commit),
  });
  CHECK(planned(source, 0) ==
        "writer[0,3) slot0[3,5) slot1[5,6) commit0@6 filler[7,13) slot0[13,14) abort1@14 commit0@15");
  CHECK(planned(source, 1) ==
        "writer*[1,3) slot0[3,5) slot1[5,6) commit0@6 filler[7,13) slot0[13,14) abort1@14 commit0@15");
}

TEST_CASE("filler up to an offset, without a batch", "[write_plan]") {
  core::write_planner planner(10, {}, no_limits);
  std::vector<core::planned_write> plan;
  REQUIRE(planner.fill_to(9, plan).has_value());
  REQUIRE(planner.fill_to(10, plan).has_value());
  CHECK(text(plan) == "");
  REQUIRE(planner.fill_to(11, plan).has_value());
  REQUIRE(planner.fill_to(15, plan).has_value());
  CHECK(text(plan) == "filler[10,15)");
  CHECK(planner.position() == 15);
}
