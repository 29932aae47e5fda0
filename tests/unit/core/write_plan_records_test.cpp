// What is built anew holds the same records: keys, values, headers, times; also from batches that Java clients wrote.
#include "tests/unit/core/destination_model.hpp"

#include "wire/records.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

using namespace mirrord;
using namespace mirrord::core_tests;

namespace {

// Null and empty are different; headers have an order, can repeat, can be null or empty; times can be anything.
source_batch awkward_records() {
  source_batch batch = dense_batch(10, 21);
  auto& r = batch.records;
  r[0].key = std::nullopt;
  r[0].timestamp = -1;
  r[1].value = std::nullopt;
  r[1].timestamp = 0;
  r[2].key = r[2].value = std::nullopt;
  r[2].timestamp = std::numeric_limits<std::int64_t>::max();
  r[3].key = "";
  r[3].timestamp = 1;
  r[4].value = "";
  r[5].key = r[5].value = "";
  r[5].timestamp = r[4].timestamp;
  r[6].headers = {{"a", "1"}, {"b", "2"}, {"a", "1"}, {"a", "3"}};
  r[7].headers = {{"b", "2"}, {"a", "1"}};
  r[8].headers = {{"null", std::nullopt}, {"empty", ""}, {"", "no key"}, {"", std::nullopt}};
  r[9].value = std::string(70'000, 'v');
  r[10].key = std::string("\0\xff\x80", 3);
  r[10].timestamp = 1'500'000'000'000;
  r[11].headers.assign(300, {"many", std::string(3, 'h')});
  return batch;
}

std::vector<source_batch> batches_to_build_anew(wire::codec codec) {
  source_batch timed = compressed(awkward_records(), codec);
  timed.append_time = 1'800'000'000'000;
  source_batch holed = compressed(awkward_records(), codec);
  holed.records.erase(holed.records.begin() + 4);
  source_batch wide = compressed(awkward_records(), codec);
  wide.last_offset = 25;
  source_batch horizon = wide;
  horizon.delete_horizon = 1'900'000'000'000;
  std::vector<source_batch> batches{timed, holed, wide, horizon, transactional(holed, 7), transactional(timed, 7)};
  if (codec != wire::codec::none && codec != wire::codec::zstd) {
    batches.push_back(legacy(compressed(awkward_records(), codec), 0));
    batches.push_back(legacy(compressed(awkward_records(), codec), 1));
  }
  return batches;
}

std::vector<std::byte> read_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string all{std::istreambuf_iterator<char>(file), {}};
  const auto raw = std::as_bytes(std::span(all));
  return {raw.begin(), raw.end()};
}

std::optional<std::string> as_text(const std::optional<wire::bytes_view>& bytes) {
  if (!bytes) return std::nullopt;
  return std::string(reinterpret_cast<const char*>(bytes->data()), bytes->size());
}

// What the expectation needs to know of a batch that somebody else wrote, read by the reader that the golden tests check.
source_batch read_back(const wire::stored_batch& stored) {
  source_batch batch;
  batch.magic = 2;  // the reader gives the times that consumers see
  batch.base_offset = stored.header.base_offset;
  batch.last_offset = stored.header.last_offset();
  batch.producer_id = stored.header.producer_id;
  batch.transactional = stored.header.is_transactional();
  if (stored.header.is_control()) {
    const auto marker = wire::read_control_marker(stored).value();
    batch.control = marker.type == wire::control_type::commit  ? control::commit
                    : marker.type == wire::control_type::abort ? control::abort
                                                               : control::unknown;
    return batch;
  }
  auto reader = wire::record_reader::open(stored).value();
  for (auto record = reader.next().value(); record; record = reader.next().value()) {
    source_record& copy = batch.records.emplace_back();
    copy = {record->offset, record->timestamp, as_text(record->key), as_text(record->value), {}};
    for (const auto& header : wire::headers_of(*record)) copy.headers.emplace_back(*as_text(header.key), as_text(header.value));
  }
  if (!batch.records.empty()) batch.base_offset = std::min(batch.base_offset, batch.records.front().offset);
  return batch;
}

}  // namespace

TEST_CASE("records survive being built anew, for every reason and codec, split or not", "[write_plan]") {
  for (const wire::codec codec : all_codecs) {
    for (const source_batch& batch : batches_to_build_anew(codec)) {
      const stored_log source = store({batch});
      for (const std::int64_t position : {9, 10, 12, 19}) {
        for (const std::size_t limit : {std::size_t{1} << 20, std::size_t{72'000}}) {
          CAPTURE(wire::name(codec), int(batch.magic), batch.transactional, batch.append_time.has_value(), position, limit);
          core::write_planner planner(position, {}, {10, limit});
          std::vector<core::planned_write> plan;
          REQUIRE(planner.add(source.batches.front(), plan).has_value());
          REQUIRE(first_difference(laid_out(plan, position, limit), expect({batch}, position).contents) == "");
        }
      }
    }
  }
}

TEST_CASE("append time becomes the time of each record, and the producer's hidden times are gone", "[write_plan]") {
  source_batch batch = dense_batch(10, 12);
  batch.records[0].timestamp = 1'000;
  batch.records[1].timestamp = 2'000;
  batch.records[2].timestamp = 3'000;
  batch.append_time = 1'800'000'000'000;
  const stored_log source = store({batch});
  core::write_planner planner(10, {}, no_limits);
  std::vector<core::planned_write> plan;
  REQUIRE(planner.add(source.batches.front(), plan).has_value());
  const auto& built = std::get<core::data_write>(plan.at(0)).batch;
  CHECK_FALSE(built.header.has_append_time());
  CHECK(built.header.base_timestamp == 1'800'000'000'000);
  CHECK(built.header.max_timestamp == 1'800'000'000'000);
  for (const auto& [offset, at] : laid_out(plan, 10, no_limits.batch_bytes_max)) CHECK(at.record.timestamp == 1'800'000'000'000);
}

TEST_CASE("a delete horizon does not change the records' times, forwarded or built anew", "[write_plan]") {
  source_batch batch = dense_batch(10, 13);
  batch.records[1].value = std::nullopt;  // the tombstone that the horizon is for
  batch.delete_horizon = 1'900'000'000'000;
  for (const std::int64_t position : {10, 11}) {
    const stored_log source = store({batch});
    core::write_planner planner(position, {}, no_limits);
    std::vector<core::planned_write> plan;
    REQUIRE(planner.add(source.batches.front(), plan).has_value());
    CHECK(first_difference(laid_out(plan, position, no_limits.batch_bytes_max), expect({batch}, position).contents) == "");
  }
}

TEST_CASE("batches written by Java clients and brokers keep their records from any position", "[write_plan]") {
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(std::filesystem::path(MIRRORD_GOLDEN_DIR) / "batches")) {
    if (entry.path().extension() != ".bin") continue;
    ++files;
    CAPTURE(entry.path().filename());
    const std::vector<std::byte> bytes = read_file(entry.path());
    std::vector<wire::stored_batch> stored;
    std::vector<source_batch> source;
    wire::batch_cursor cursor(bytes);
    for (auto batch = cursor.next().value(); batch; batch = cursor.next().value()) {
      stored.push_back(*batch);
      source.push_back(read_back(*batch));
    }
    REQUIRE_FALSE(source.empty());
    const std::int64_t first = source.front().base_offset;
    const std::int64_t middle = (first + source.back().last_offset) / 2;
    for (const std::int64_t position : {std::max<std::int64_t>(0, first - 1), first, first + 1, middle, source.back().last_offset}) {
      CAPTURE(position);
      core::write_planner planner(position, {}, no_limits);
      std::vector<core::planned_write> plan;
      for (const wire::stored_batch& batch : stored) REQUIRE(planner.add(batch, plan).has_value());
      CHECK(first_difference(laid_out(plan, position, no_limits.batch_bytes_max), expect(source, position).contents) == "");
    }
  }
  CHECK(files > 30);
}
