#include "batch_support.hpp"

#include <limits>
#include <random>

namespace mirrord::wire {
namespace {

using namespace test;

constexpr codec all_codecs[] = {codec::none, codec::gzip, codec::snappy, codec::lz4, codec::zstd};

bool has_holes(const stored_batch& batch) { return batch.header.record_count != batch.header.last_offset_delta + 1; }

// Builds the batch's records anew; the reader must outlive what is taken from it, so all happens here.
bytes rebuilt(const stored_batch& batch, codec c, const batch_patch& patch) {
  batch_builder builder({c, batch.header.is_transactional()});
  auto reader = record_reader::open(batch).value();
  while (const auto record = reader.next().value()) {
    const auto announced = builder.size_with(*record);
    builder.add(*record);
    CHECK(builder.size_estimate() == announced);
  }
  return builder.finish(patch).value();
}

TEST_CASE("an uncompressed batch of Kafka's builder comes out of ours with the same bytes") {
  for (const auto* file : {"mixed_none.bin", "sizes_none.bin", "times.bin", "transactional.bin"}) {
    INFO(file);
    const auto records = read_file(golden_batches() / file);
    const auto batch = batch_cursor(records).next().value().value();
    const batch_patch same{batch.header.producer_id, batch.header.producer_epoch, batch.header.base_sequence};
    const auto header = patched_header(batch, same);
    bytes expected(header.begin(), header.end());
    for (const std::byte payload : batch.bytes.subspan(batch_header_bytes)) expected.push_back(payload);
    CHECK(rebuilt(batch, codec::none, same) == expected);
  }
}

TEST_CASE("every golden batch without holes can be rebuilt with every codec and keeps its records") {
  for (const auto& file : golden_batch_files()) {
    const auto records = read_file(file);
    for (const auto& batch : batches_in(records)) {
      if (!batch.header.is_legacy() && (has_holes(batch) || batch.header.record_count == 0)) continue;
      if (batch.header.is_legacy() && file.string().find("holes") != std::string::npos) continue;
      for (const codec c : all_codecs) {
        INFO(file << " at " << batch.header.base_offset << " with " << name(c));
        const auto made = rebuilt(batch, c, {77, 5, 11});
        const auto again = only_batch(made);
        REQUIRE(verify_crc(again).has_value());
        CHECK(again.header.base_offset == 0);
        CHECK(again.header.compression() == c);
        CHECK(!again.header.has_append_time());
        CHECK(again.header.is_transactional() == batch.header.is_transactional());
        CHECK(again.header.producer_id == 77);
        CHECK(again.header.record_count == again.header.last_offset_delta + 1);

        auto before_reader = record_reader::open(batch).value();
        auto after_reader = record_reader::open(again).value();
        std::int64_t offset = 0;
        std::int64_t latest = std::numeric_limits<std::int64_t>::min();
        while (auto before = before_reader.next().value()) {
          latest = std::max(latest, before->timestamp);
          before->offset = offset++;
          CHECK(describe(after_reader.next().value().value()) == describe(*before));
        }
        CHECK(!after_reader.next().value());
        CHECK(again.header.max_timestamp == latest);
      }
    }
  }
}

TEST_CASE("values of every size that matters to a codec pass through a batch") {
  for (const std::size_t size : {0, 10, 31'000, 33'000, 200'000, 5'000'000}) {
    const auto value = pattern(size);
    for (const codec c : all_codecs) {
      INFO(name(c) << " " << size);
      batch_builder builder({.compression = c});
      builder.add({.offset = 10, .timestamp = 1, .key = std::nullopt, .value = value});
      const auto made = builder.finish({}).value();
      auto reader = record_reader::open(only_batch(made)).value();
      const auto record = reader.next().value().value();
      CHECK(std::ranges::equal(*record.value, value));
      CHECK(!record.key);
    }
  }
}

TEST_CASE("times far apart, before the epoch or absent survive the deltas") {
  constexpr auto least = std::numeric_limits<std::int64_t>::min();
  constexpr auto most = std::numeric_limits<std::int64_t>::max();
  batch_builder builder({});
  record_view record;
  record.offset = 5'000'000'000;
  for (const std::int64_t time : {std::int64_t{-1}, most, least, std::int64_t{0}, std::int64_t{-1}}) {
    record.timestamp = time;
    builder.add(record);
    ++record.offset;
  }
  const auto made = builder.finish({}).value();
  const auto batch = only_batch(made);
  CHECK(batch.header.base_timestamp == -1);
  CHECK(batch.header.max_timestamp == most);
  auto reader = record_reader::open(batch).value();
  for (const std::int64_t time : {std::int64_t{-1}, most, least, std::int64_t{0}, std::int64_t{-1}}) CHECK(reader.next().value()->timestamp == time);
}

TEST_CASE("records without times give a batch without a time") {
  batch_builder builder({});
  builder.add({});
  builder.add({.offset = 1});
  const auto made = builder.finish({}).value();
  CHECK(only_batch(made).header.base_timestamp == no_timestamp);
  CHECK(only_batch(made).header.max_timestamp == no_timestamp);
}

TEST_CASE("a builder is empty and as new after finish") {
  batch_builder builder({.compression = codec::lz4, .transactional = true});
  CHECK(builder.empty());
  CHECK(builder.size_estimate() == batch_header_bytes);
  builder.add({.offset = 3, .timestamp = 500});
  (void)builder.finish({}).value();
  CHECK(builder.empty());
  CHECK(builder.size_estimate() == batch_header_bytes);
  builder.add({.offset = 900, .timestamp = 100});
  CHECK(builder.record_count() == 1);
  const auto made = builder.finish({1, 2, 3}).value();
  const auto batch = only_batch(made);
  CHECK(batch.header.base_timestamp == 100);
  CHECK(batch.header.max_timestamp == 100);
  CHECK(batch.header.is_transactional());
}

TEST_CASE("filler occupies its offsets with empty records of time 0 and stays small") {
  for (const std::int32_t count : {1, 2, 64, 500, 50'000}) {
    INFO(count);
    const auto made = filler_batch(count, {900, 1, 17}).value();
    const auto batch = only_batch(made);
    REQUIRE(verify_crc(batch).has_value());
    CHECK(batch.header.next_offset() == count);
    CHECK(batch.header.record_count == count);
    CHECK(batch.header.producer_id == 900);
    CHECK(batch.header.base_sequence == 17);
    CHECK(batch.header.max_timestamp == 0);
    CHECK(!batch.header.is_control());
    CHECK(made.size() < 200 + static_cast<std::size_t>(count) * 2);
    auto reader = record_reader::open(batch).value();
    std::int64_t next = 0;
    while (const auto record = reader.next().value()) {
      if (record->offset != next || record->timestamp != 0 || !record->key || !record->key->empty() || !record->value || !record->value->empty() || record->header_count != 0)
        FAIL("record " << next);
      ++next;
    }
    CHECK(next == count);
  }
}

TEST_CASE("filler under a patched header is what a new batch with that patch is") {
  const auto kept = filler_batch(1000, {1, 2, 3}).value();
  const auto header = patched_header(only_batch(kept), {900, 4, 1003});
  auto patched = kept;
  std::ranges::copy(header, patched.begin());
  CHECK(patched == filler_batch(1000, {900, 4, 1003}).value());
}

}  // namespace
}  // namespace mirrord::wire
