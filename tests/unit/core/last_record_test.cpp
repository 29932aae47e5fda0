#include "core/last_record.hpp"

#include "tests/unit/core/source_batch.hpp"

#include <catch2/catch.hpp>

using namespace mirrord;
using namespace mirrord::core;
using namespace mirrord::core_tests;

namespace {

std::string compared(std::int64_t offset, const source_batch& source, const source_batch& destination) {
  const auto there = encode(source);
  const auto here = encode(destination);
  return compare_at(offset, there, here).value();
}

}  // namespace

TEST_CASE("the same record in another batch, codec and format is the same", "[last_record]") {
  const auto source = dense_batch(10, 14);
  CHECK(compared(14, source, source).empty());
  CHECK(compared(12, source, compressed(source, wire::codec::zstd)).empty());
  CHECK(compared(14, source, dense_batch(14, 14)).empty());
  CHECK(compared(14, transactional(source, 7), transactional(dense_batch(13, 14), 99)).empty());
  auto old = dense_batch(14, 14);
  CHECK(compared(14, legacy(old, 1), old).empty());
  auto stamped = dense_batch(14, 14);
  stamped.append_time = 5'000;
  auto copy = dense_batch(14, 14);
  copy.records[0].timestamp = 5'000;
  CHECK(compared(14, stamped, copy).empty());
}

TEST_CASE("each part of a record counts", "[last_record]") {
  const auto source = dense_batch(3, 4);
  auto other = source;
  other.records[1].key = "x";
  CHECK(compared(4, source, other) == "the record's key differs");
  other = source;
  other.records[1].value = std::nullopt;
  CHECK(compared(4, source, other) == "the record's value differs");
  other = source;
  other.records[1].headers.emplace_back("h", "1");
  CHECK(compared(4, source, other) == "the record's headers differ");
  other = source;
  other.records[1].timestamp += 1;
  CHECK(compared(4, source, other) == "the record's timestamp differs");
  CHECK(compared(3, source, other).empty());
}

TEST_CASE("a record cannot stand for a marker, nor a marker for a record", "[last_record]") {
  const auto record = dense_batch(4, 4);
  const auto marker = control_batch(4, 7, control::commit);
  CHECK(compared(4, marker, record) == "it holds a record, the source a control batch");
  CHECK(compared(4, record, marker) == "it holds a control batch, the source a record");
  CHECK(compared(4, control_batch(4, 1, control::abort), marker).empty());
}

TEST_CASE("where compaction has removed a record nothing is told", "[last_record]") {
  const auto source = batch_of(3, 6, {3, 4});
  const auto destination = dense_batch(3, 6);
  CHECK(compared(6, source, destination).empty());
  CHECK(compared(6, destination, source).empty());
  CHECK(compare_at(6, {}, encode(destination)).value().empty());
  CHECK(compared(2, destination, dense_batch(2, 6)).empty());  // the source's log begins later
}

TEST_CASE("a damaged batch is an error, not a difference", "[last_record]") {
  auto bytes = encode(dense_batch(3, 6));
  const auto whole = bytes;
  bytes.back() ^= std::byte{1};
  CHECK(compare_at(6, whole, bytes).error().code == errc::malformed);
  CHECK(compare_at(6, bytes, whole).error().code == errc::malformed);
}
