// Batches above what the destination topic takes are split; a record that cannot be made to fit is named.
#include "tests/unit/core/destination_model.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <random>
#include <string>
#include <variant>
#include <vector>

using namespace mirrord;
using namespace mirrord::core_tests;

namespace {

// Values that no codec makes smaller.
source_batch noise(std::int64_t base, const std::vector<std::size_t>& value_bytes, wire::codec codec) {
  std::mt19937_64 random(20'240'607);
  source_batch batch = compressed(dense_batch(base, base + static_cast<std::int64_t>(value_bytes.size()) - 1), codec);
  for (std::size_t i = 0; i < value_bytes.size(); ++i) {
    std::string& value = batch.records[i].value.emplace(value_bytes[i], '\0');
    std::generate(value.begin(), value.end(), [&] { return static_cast<char>(random() & 0xff); });
  }
  return batch;
}

std::size_t stored_bytes(const source_batch& batch) { return store({batch}).bytes.size(); }

// What one record of the batch makes when it is alone in one.
std::size_t bytes_alone(const source_batch& batch, std::int64_t offset) {
  core::write_planner planner(offset, {}, no_limits);
  std::vector<core::planned_write> plan;
  source_batch alone = batch;
  alone.records.assign(1, batch.records.at(static_cast<std::size_t>(offset - batch.base_offset)));
  const stored_log one = store({alone});
  REQUIRE(planner.add(one.batches.front(), plan).has_value());
  return std::get<core::data_write>(plan.at(0)).batch.bytes.size();
}

}  // namespace

TEST_CASE("a batch of exactly the limit goes on as it is, one byte more is split", "[write_plan]") {
  for (const wire::codec codec : all_codecs) {
    CAPTURE(wire::name(codec));
    const source_batch batch = noise(10, std::vector<std::size_t>(8, 200), codec);
    const stored_log source = store({batch});
    CHECK(planned(source, 10, {}, {0, source.bytes.size()}) == "writer[10,18)");
    CHECK(planned(source, 10, {}, {0, source.bytes.size() - 1}) != "writer[10,18)");
    CHECK_THAT(planned(source, 10, {}, {0, source.bytes.size() * 3 / 4}), Catch::Equals("writer*[10,14) writer*[14,18)"));
  }
}

TEST_CASE("a batch is split for every limit that its largest record can keep, and refused below", "[write_plan]") {
  // Uneven sizes, so that halves are uneven too.
  std::vector<std::size_t> sizes;
  for (std::size_t i = 0; i < 23; ++i) sizes.push_back(i % 7 == 3 ? 400 : 10 + 13 * (i % 5));
  for (const wire::codec codec : all_codecs) {
    const source_batch batch = noise(10, sizes, codec);
    std::size_t smallest_limit = 0;
    for (const source_record& record : batch.records) smallest_limit = std::max(smallest_limit, bytes_alone(batch, record.offset));
    for (const bool in_transaction : {false, true}) {
      const source_batch kind = in_transaction ? transactional(batch, 7) : batch;
      const stored_log source = store({kind});
      const log_contents expected = expect({kind}, 10).contents;
      for (std::size_t limit = smallest_limit; limit <= source.bytes.size(); limit += 17) {
        CAPTURE(wire::name(codec), in_transaction, limit);
        core::write_planner planner(10, {}, {0, limit});
        std::vector<core::planned_write> plan;
        REQUIRE(planner.add(source.batches.front(), plan).has_value());
        REQUIRE(first_difference(laid_out(plan, 10, limit), expected) == "");
      }
      CAPTURE(wire::name(codec), in_transaction);
      CHECK(planned(source, 10, {}, {0, smallest_limit - 1}) == "error limit_exceeded");
    }
  }
}

TEST_CASE("a split batch is the same from every position inside it", "[write_plan]") {
  const source_batch batch = transactional(noise(10, std::vector<std::size_t>(12, 100), wire::codec::lz4), 7);
  const stored_log source = store({batch});
  for (std::int64_t position = 11; position < batch.next_offset(); ++position) {
    CAPTURE(position);
    const open_slots open{{7, {0, 10}}};
    core::write_planner planner(position, slots_of(open), {0, 500});
    std::vector<core::planned_write> plan;
    REQUIRE(planner.add(source.batches.front(), plan).has_value());
    CHECK(first_difference(laid_out(plan, position, 500), expect({batch}, position, open).contents) == "");
  }
}

TEST_CASE("what is built anew for another reason keeps the limit too", "[write_plan]") {
  std::vector<std::int64_t> offsets;
  for (std::int64_t offset = 0; offset < 40; ++offset) {
    if (offset != 3) offsets.push_back(offset);
  }
  source_batch holed = batch_of(0, 39, offsets);
  source_batch timed = dense_batch(0, 39);
  timed.append_time = 5;
  const source_batch old = legacy(compressed(dense_batch(0, 39), wire::codec::snappy), 1);
  for (const source_batch& batch : {holed, timed, old}) {
    const stored_log source = store({batch});
    core::write_planner planner(0, {}, {1, 300});
    std::vector<core::planned_write> plan;
    REQUIRE(planner.add(source.batches.front(), plan).has_value());
    CHECK(first_difference(laid_out(plan, 0, 300), expect({batch}, 0).contents) == "");
    CHECK(plan.size() >= 4);
  }
}

TEST_CASE("a record too large for the topic is named with its offset, its size and the limit", "[write_plan]") {
  for (const wire::codec codec : all_codecs) {
    CAPTURE(wire::name(codec));
    const source_batch batch = noise(10, {50, 50, 4000, 50}, codec);
    const std::size_t needed = bytes_alone(batch, 12);
    const stored_log source = store({batch});
    core::write_planner planner(10, {}, {0, 2000});
    std::vector<core::planned_write> plan;
    const auto added = planner.add(source.batches.front(), plan);
    REQUIRE_FALSE(added.has_value());
    CHECK(added.error().code == errc::limit_exceeded);
    CHECK_THAT(added.error().message(), Catch::Contains("record at offset 12") && Catch::Contains(std::to_string(needed) + " bytes") &&
                                            Catch::Contains("max.message.bytes is 2000"));
    CHECK(planned(source, 10, {}, {0, needed}).starts_with("writer"));
    CHECK(stored_bytes(batch) > needed);
  }
}

TEST_CASE("a compressed batch that fits goes on as it is, however large its records are", "[write_plan]") {
  for (const wire::codec codec : {wire::codec::gzip, wire::codec::snappy, wire::codec::lz4, wire::codec::zstd}) {
    CAPTURE(wire::name(codec));
    source_batch batch = compressed(dense_batch(10, 13), codec);
    for (source_record& record : batch.records) record.value = std::string(100'000, 'x');
    CHECK(planned(store({batch}), 10, {}, {0, 40'000}) == "writer[10,14)");
    // Built anew for its hole, it keeps its codec and still fits.
    batch.records.erase(batch.records.begin() + 2);
    CHECK(planned(store({batch}), 10, {}, {1, 40'000}) == "writer*[10,12) filler[12,13) writer*[13,14)");
  }
}

TEST_CASE("what is built anew keeps its codec", "[write_plan]") {
  for (const wire::codec codec : all_codecs) {
    const stored_log source = store({compressed(batch_of(10, 12, {10, 12}), codec)});
    core::write_planner planner(10, {}, no_limits);
    std::vector<core::planned_write> plan;
    REQUIRE(planner.add(source.batches.front(), plan).has_value());
    CHECK(std::get<core::data_write>(plan.at(0)).batch.header.compression() == codec);
    CHECK(std::get<core::data_write>(plan.at(2)).batch.header.compression() == codec);
  }
}
