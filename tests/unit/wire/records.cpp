#include "batch_support.hpp"
#include "wire/big_endian.hpp"
#include "wire/record_varint.hpp"

#include <limits>
#include <random>

namespace mirrord::wire {
namespace {

using namespace test;

TEST_CASE("our reader sees in every golden file what Kafka's reader sees") {
  for (const auto& file : golden_batch_files()) {
    INFO(file);
    auto expected = file;
    CHECK(describe_all(read_file(file)) == as_text(read_file(expected.replace_extension(".txt"))));
  }
}

// Cuts the last batch of the bytes to `size` in all and makes its length say so, so that the cut is inside the batch.
void cut_inside(bytes& records, std::size_t batch_start, std::size_t size) {
  records.resize(size);
  store_big_endian(records.data() + batch_start + 8, static_cast<std::int32_t>(size - batch_start - 12));
}

TEST_CASE("a batch cut at any byte gives an error or fewer records") {
  for (const auto& file : golden_batch_files()) {
    const auto records = read_file(file);
    const auto whole = read_all_leniently(records);
    const auto found = batches_in(records);
    const std::size_t last_start = records.size() - found.back().bytes.size();
    const std::size_t step = 1 + found.back().bytes.size() / 500;
    for (std::size_t size = last_start + 12; size < records.size(); size += size < last_start + 100 ? 1 : step) {
      auto cut = records;
      cut_inside(cut, last_start, size);
      if (read_all_leniently(cut) > whole) FAIL(file << " cut at " << size);
      cut.resize(size);
      if (read_all_leniently(cut) > whole) FAIL(file << " cut at " << size);
    }
  }
}

TEST_CASE("flipped bytes never do worse than an error") {
  std::mt19937_64 random(3);
  for (const auto& file : golden_batch_files()) {
    const auto records = read_file(file);
    if (records.size() > 10'000) continue;
    for (int round = 0; round < 200; ++round) {
      auto damaged = records;
      for (int i = 0; i < 3; ++i) damaged[random() % damaged.size()] = static_cast<std::byte>(random());
      (void)read_all_leniently(damaged);
    }
  }
}

// One batch around hand-made record bytes.
bytes around(const bytes& payload, std::int32_t count, std::int32_t last_offset_delta) {
  bytes b(batch_header_bytes);
  store_big_endian(b.data() + 8, static_cast<std::int32_t>(b.size() + payload.size() - 12));
  store_big_endian(b.data() + 16, std::int8_t{2});
  store_big_endian(b.data() + 23, last_offset_delta);
  store_big_endian(b.data() + 57, count);
  b.insert(b.end(), payload.begin(), payload.end());
  return b;
}

result<std::optional<record_view>> first_record(const bytes& batch) {
  auto reader = record_reader::open(only_batch(batch));
  if (!reader) return std::move(reader).error();
  return reader->next();
}

bytes record_bytes(std::initializer_list<int> body) {
  bytes made;
  put_varint(made, static_cast<std::int32_t>(body.size()));
  for (const int b : body) made.push_back(static_cast<std::byte>(b));
  return made;
}

TEST_CASE("each way in which a record can lie is malformed") {
  // attributes, timestamp delta, offset delta, key length, value length, header count; 1 is the varint of -1.
  CHECK(first_record(around(record_bytes({0, 0, 0, 1, 1, 0}), 1, 0)).value().has_value());
  const std::pair<const char*, bytes> lies[] = {
      {"no body", record_bytes({})},
      {"no deltas", record_bytes({0})},
      {"no offset delta", record_bytes({0, 0})},
      {"negative offset delta", record_bytes({0, 0, 1, 1, 1, 0})},
      {"offset delta beyond the last", record_bytes({0, 0, 2, 1, 1, 0})},
      {"no key", record_bytes({0, 0, 0})},
      {"key beyond the end", record_bytes({0, 0, 0, 2})},
      {"huge key", record_bytes({0, 0, 0, 0xfe, 0xff, 0xff, 0xff, 0x0f, 1, 0})},
      {"value beyond the end", record_bytes({0, 0, 0, 1, 2})},
      {"no header count", record_bytes({0, 0, 0, 1, 1})},
      {"negative header count", record_bytes({0, 0, 0, 1, 1, 1})},
      {"headers that are not there", record_bytes({0, 0, 0, 1, 1, 0xfe, 0xff, 0xff, 0xff, 0x0f})},
      {"null header key", record_bytes({0, 0, 0, 1, 1, 2, 1, 1})},
      {"bytes behind the headers", record_bytes({0, 0, 0, 1, 1, 0, 0})},
      {"varint of six bytes", record_bytes({0, 0, 0, 0x81, 0x80, 0x80, 0x80, 0x80, 0, 1, 0})},
  };
  for (const auto& [what, payload] : lies) {
    INFO(what);
    const auto record = first_record(around(payload, 1, 0));
    REQUIRE(!record);
    CHECK(record.error().code == errc::malformed);
  }
  bytes longer;
  put_varint(longer, std::int32_t{1000});
  CHECK(first_record(around(longer, 1, 0)).error().code == errc::malformed);
  CHECK(first_record(around({}, 1, 0)).error().code == errc::malformed);
}

TEST_CASE("lengths below -1 are null, as they are to Kafka's readers") {
  const auto record = first_record(around(record_bytes({0, 0, 0, 3, 5, 0}), 1, 0)).value().value();
  CHECK(!record.key);
  CHECK(!record.value);
}

TEST_CASE("offsets that stand still or go back, and bytes behind the last record, are malformed") {
  auto payload = record_bytes({0, 0, 2, 1, 1, 0});
  const auto second = record_bytes({0, 0, 2, 1, 1, 0});
  payload.insert(payload.end(), second.begin(), second.end());
  auto records = around(payload, 2, 5);
  auto reader = record_reader::open(only_batch(records)).value();
  CHECK(reader.next().value()->offset == 1);
  CHECK(reader.next().error().code == errc::malformed);

  records = around(payload, 1, 5);
  auto other = record_reader::open(only_batch(records)).value();
  CHECK(other.next().value().has_value());
  CHECK(other.next().error().code == errc::malformed);
}

TEST_CASE("a count of records or headers that the bytes cannot hold costs nothing") {
  CHECK(first_record(around(record_bytes({0, 0, 0, 1, 1, 0}), std::numeric_limits<std::int32_t>::max(), std::numeric_limits<std::int32_t>::max() - 1)).value().has_value());
  auto claimed = around({}, std::numeric_limits<std::int32_t>::max(), std::numeric_limits<std::int32_t>::max() - 1);
  CHECK(first_record(claimed).error().code == errc::malformed);
}

TEST_CASE("unknown codecs are unsupported") {
  auto records = around(record_bytes({0, 0, 0, 1, 1, 0}), 1, 0);
  store_big_endian(records.data() + 21, std::int16_t{5});
  CHECK(record_reader::open(only_batch(records)).error().code == errc::unsupported);
}

TEST_CASE("a batch that decompresses beyond the limit is refused") {
  const auto records = read_file(golden_batches() / "sizes_zstd.bin");
  CHECK(record_reader::open(only_batch(records), 100'000).error().code == errc::limit_exceeded);
  CHECK(record_reader::open(only_batch(records), 400'000).has_value());
}

TEST_CASE("headers come back in order with repetitions, nulls and empties") {
  const header_view headers[] = {{as_view("b"), as_view("1")}, {as_view("a"), std::nullopt}, {as_view("b"), as_view("")}, {as_view(""), as_view("2")}};
  const auto raw = encode_headers(headers);
  record_view record;
  record.header_count = 4;
  record.raw_headers = raw;
  const auto back = headers_of(record);
  REQUIRE(back.size() == 4);
  CHECK(as_text(back[0].key) == "b");
  CHECK(as_text(*back[0].value) == "1");
  CHECK(!back[1].value);
  CHECK(back[2].value->empty());
  CHECK(back[3].key.empty());
  CHECK(as_text(*back[3].value) == "2");
}

TEST_CASE("varints of both widths come back, and their sizes are right") {
  const auto round_trip = [](auto value) {
    bytes made;
    put_varint(made, value);
    CHECK(made.size() == varint_bytes(value));
    bytes_view view = made;
    CHECK(take_varint<decltype(value)>(view) == value);
    CHECK(view.empty());
    for (std::size_t size = 0; size < made.size(); ++size) {
      view = std::span(made).first(size);
      CHECK(!take_varint<decltype(value)>(view));
    }
  };
  for (int bit = 0; bit < 31; ++bit) {
    for (const std::int32_t value : {1 << bit, -(1 << bit), (1 << bit) - 1, -(1 << bit) - 1}) {
      round_trip(value);
      round_trip(static_cast<std::int64_t>(value) << 32);
    }
  }
  round_trip(std::numeric_limits<std::int32_t>::min());
  round_trip(std::numeric_limits<std::int32_t>::max());
  round_trip(std::numeric_limits<std::int64_t>::min());
  round_trip(std::numeric_limits<std::int64_t>::max());
}

}  // namespace
}  // namespace mirrord::wire
