#include "batch_support.hpp"
#include "wire/big_endian.hpp"

namespace mirrord::wire {
namespace {

using namespace test;

bytes golden(const char* file) { return read_file(golden_batches() / file); }

// A batch of magic 2 with the given fields and payload, and the checksum that fits them.
bytes made_batch(std::int64_t base_offset, std::int32_t last_offset_delta, std::int32_t count, std::size_t payload = 0) {
  bytes b(batch_header_bytes + payload);
  store_big_endian(b.data(), base_offset);
  store_big_endian(b.data() + 8, static_cast<std::int32_t>(b.size() - 12));
  store_big_endian(b.data() + 16, std::int8_t{2});
  store_big_endian(b.data() + 23, last_offset_delta);
  store_big_endian(b.data() + 57, count);
  store_big_endian(b.data() + 17, crc32c(std::span(b).subspan(21)));
  return b;
}

result<std::optional<stored_batch>> first_of(bytes_view b) { return batch_cursor(b).next(); }

TEST_CASE("a cursor walks the batches of a fetch answer") {
  const auto records = golden("transactional.bin");
  const auto found = batches_in(records);
  REQUIRE(found.size() == 5);
  std::int64_t next = 100;
  std::size_t size = 0;
  for (const auto& batch : found) {
    CHECK(batch.header.base_offset >= next);
    next = batch.header.next_offset();
    size += batch.bytes.size();
  }
  CHECK(next == 121);
  CHECK(size == records.size());
  CHECK(found[0].header.is_transactional());
  CHECK(!found[0].header.is_control());
  CHECK(found[2].header.compression() == codec::lz4);
}

TEST_CASE("an answer cut at any byte ends the walk as a partial tail, never as garbage") {
  for (const auto* file : {"transactional.bin", "empty.bin", "magic0_holes_none.bin", "magic1_holes_none.bin", "magic1_holes_gzip.bin"}) {
    const auto records = golden(file);
    const auto whole = batches_in(records);
    for (std::size_t size = 0; size <= records.size(); ++size) {
      batch_cursor cursor(bytes_view(records).first(size));
      std::size_t found = 0;
      std::size_t used = 0;
      while (const auto batch = cursor.next().value()) {
        used += batch->bytes.size();
        ++found;
      }
      const bool at_an_end = used == size;
      if (cursor.partial_tail_bytes() != size - used) FAIL(file << " cut at " << size);
      if (found > whole.size() || (found < whole.size() && !at_an_end && size - used >= whole[found].bytes.size())) FAIL(file << " cut at " << size);
    }
  }
}

TEST_CASE("what cannot be the start of a batch is malformed, also where it is cut off") {
  const auto good = made_batch(7, 0, 1);
  REQUIRE(first_of(good).value().has_value());

  auto bad = good;
  store_big_endian(bad.data() + 8, std::int32_t{48});
  CHECK(first_of(bad).error().code == errc::malformed);
  store_big_endian(bad.data() + 8, std::int32_t{-1});
  CHECK(first_of(bad).error().code == errc::malformed);
  CHECK(first_of(std::span(bad).first(12)).error().code == errc::malformed);

  bad = good;
  for (const int magic : {-1, 3, 127}) {
    store_big_endian(bad.data() + 16, static_cast<std::int8_t>(magic));
    CHECK(first_of(bad).error().code == errc::malformed);
    CHECK(first_of(std::span(bad).first(17)).error().code == errc::malformed);
    CHECK(!first_of(std::span(bad).first(16)).value().has_value());
  }
  CHECK(first_of(made_batch(-1, 0, 1)).error().code == errc::malformed);
  CHECK(first_of(made_batch(0, -1, 1)).error().code == errc::malformed);
  CHECK(first_of(made_batch(0, 0, -1)).error().code == errc::malformed);
  CHECK(first_of(made_batch(std::numeric_limits<std::int64_t>::max() - 3, 3, 1)).error().code == errc::malformed);
  CHECK(first_of(made_batch(std::numeric_limits<std::int64_t>::max() - 4, 3, 1)).value()->header.next_offset() == std::numeric_limits<std::int64_t>::max());
}

TEST_CASE("the error of garbage behind good batches names its position, and the good ones come first") {
  auto records = made_batch(7, 0, 1);
  const auto size = records.size();
  records.resize(size + 40, std::byte{0xee});
  batch_cursor cursor(records);
  CHECK(cursor.next().value()->header.base_offset == 7);
  const auto failed = cursor.next();
  REQUIRE(!failed);
  CHECK(failed.error().code == errc::malformed);
  CHECK_THAT(failed.error().context, Catch::Contains("at byte " + std::to_string(size)));
}

TEST_CASE("legacy entries have offsets that hold for wrappers too") {
  for (const auto* file : {"magic0_gzip.bin", "magic1_gzip.bin"}) {
    const auto records = golden(file);
    const auto found = batches_in(records);
    REQUIRE(found.size() == 2);
    CHECK(found[0].header.is_legacy());
    CHECK(found[0].header.base_offset == 507);
    CHECK(found[0].header.next_offset() == 508);
    CHECK(found[0].header.record_count == -1);
    CHECK(found[1].header.next_offset() == 516);
    CHECK(found[0].header.producer_id == -1);
    CHECK(found[0].header.partition_leader_epoch == -1);
    CHECK(!found[0].header.is_transactional());
    CHECK(!found[0].header.is_control());
  }
  const auto plain = golden("magic1_none.bin");
  CHECK(first_of(plain).value()->header.record_count == 1);
}

TEST_CASE("a flipped bit behind the checksum is found in every magic") {
  for (const auto* file : {"times.bin", "magic0_holes_none.bin", "magic1_holes_lz4.bin"}) {
    const auto records = golden(file);
    const auto batch = *first_of(records).value();
    const std::size_t covered = batch.header.is_legacy() ? 16 : 21;
    for (std::size_t at = covered; at < batch.bytes.size(); ++at) {
      bytes damaged(batch.bytes.begin(), batch.bytes.end());
      damaged[at] ^= std::byte{0x10};
      if (verify_crc({batch.header, damaged})) FAIL(file << " byte " << at);
    }
    CHECK(verify_crc(batch).has_value());
  }
}

TEST_CASE("markers are read, and an empty control batch is none") {
  const auto records = golden("transactional.bin");
  const auto found = batches_in(records);
  CHECK(read_control_marker(found[1]).value().type == control_type::commit);
  CHECK(read_control_marker(found[1]).value().coordinator_epoch == 7);
  CHECK(read_control_marker(found[3]).value().type == control_type::abort);
  CHECK(read_control_marker(found[3]).value().coordinator_epoch == 8);
  CHECK(read_control_marker(found[4]).value().type == control_type::other);
  CHECK(read_control_marker(found[0]).error().code == errc::malformed);

  const auto empty = golden("empty.bin");
  const auto control = batches_in(empty)[1];
  REQUIRE(control.header.is_control());
  CHECK(read_control_marker(control).value().type == control_type::none);
}

TEST_CASE("a marker with a key or value that is too short is malformed") {
  const auto records = golden("transactional.bin");
  const auto marker = batches_in(records)[1];
  batch_builder builder({});
  for (const auto& [key, value, code] : {std::tuple{"abc", "012345", errc::malformed}, std::tuple{"abcd", "", errc::malformed}}) {
    const std::string key_bytes = std::string_view(key) == "abcd" ? std::string("\0\0\0\1", 4) : key;
    builder.add({.offset = 0, .timestamp = 0, .key = as_view(key_bytes), .value = as_view(value)});
    auto made = builder.finish({}).value();
    store_big_endian(made.data() + 21, marker.header.attributes);
    CHECK(read_control_marker(only_batch(made)).error().code == code);
  }
}

}  // namespace
}  // namespace mirrord::wire
