// The simulated broker against what real brokers answer: each case is a fact that was asked of 2.8.2, 3.9.2 and 4.4.0.
#include "tests/sim/batch_bytes.hpp"
#include "tests/sim/simulated_log.hpp"

#include <catch2/catch.hpp>

namespace mirrord::sim {
namespace {

constexpr std::int64_t writer = 1;
constexpr std::int64_t slot = 2;
constexpr std::int64_t other = 3;

record_spec record(std::optional<std::string> key = "k") {
  record_spec made;
  made.key = std::move(key);
  made.value = "v";
  made.timestamp = 1'700'000'000'000;
  return made;
}

batch_spec batch(int records, std::int64_t pid = -1, std::int16_t epoch = -1, std::int32_t sequence = -1, bool transactional = false) {
  auto spec = consecutive(std::vector<record_spec>(static_cast<std::size_t>(records), record()));
  spec.producer_id = pid;
  spec.producer_epoch = epoch;
  spec.base_sequence = sequence;
  spec.transactional = transactional;
  return spec;
}

struct broker {
  simulated_log log;

  append_outcome put(const batch_spec& spec) { return log.produce(encode(spec), 0); }
  std::int16_t put_code(const batch_spec& spec) { return put(spec).code; }
  std::int64_t put_at(const batch_spec& spec) {
    const auto outcome = put(spec);
    CHECK(outcome.code == 0);
    return outcome.base_offset;
  }
  std::int16_t marker(std::int64_t pid, std::int16_t epoch, bool commit, std::int32_t coordinator_epoch = 0) {
    return log.mark(pid, epoch, commit, coordinator_epoch, 0, 1'700'000'000'000).code;
  }
};

TEST_CASE("sequences: repeated batches answer their first offset, gaps are refused", "[broker]") {
  broker b;
  CHECK(b.put_at(batch(2, writer, 0, 0)) == 0);
  const auto again = b.put(batch(2, writer, 0, 0));
  CHECK(again.duplicate);
  CHECK(again.base_offset == 0);
  CHECK(b.log.end() == 2);
  CHECK(b.put_code(batch(1, writer, 0, 7)) == 45);
  CHECK(b.put_at(batch(1, writer, 0, 2)) == 2);
}

TEST_CASE("sequences: the last five batches are recognised, the sixth last is out of order", "[broker]") {
  broker b;
  for (int i = 0; i < 6; ++i) b.put_at(batch(1, writer, 0, i));
  CHECK(b.put(batch(1, writer, 0, 1)).duplicate);
  CHECK(b.put_code(batch(1, writer, 0, 0)) == 45);
}

TEST_CASE("sequences wrap from 2^31 - 1 to 0", "[broker]") {
  broker b;
  CHECK(b.put_at(batch(3, writer, 0, 2'147'483'646)) == 0);  // 2147483646, 2147483647, 0
  CHECK(b.log.producers().entries().at(writer).last_sequence() == 0);
  CHECK(b.put_at(batch(1, writer, 0, 1)) == 3);
}

TEST_CASE("an unknown producer may begin at any sequence", "[broker]") {
  broker b;
  CHECK(b.put_at(batch(1, writer, 0, 77)) == 0);
  CHECK(b.put_code(batch(1, writer, 0, 79)) == 45);
  b.log.forget_producer(writer);
  CHECK(b.put_at(batch(1, writer, 0, 12)) == 1);
}

TEST_CASE("batches that no client may append", "[broker]") {
  broker b;
  auto with_hole = batch(2);
  with_hole.records[1].offset_delta = 5;
  with_hole.last_offset_delta = 5;
  CHECK(b.put_code(with_hole) == 87);
  auto shifted = batch(1);
  shifted.base_offset = 4;
  CHECK(b.put_code(shifted) == 87);
  CHECK(b.put_code(control_batch(writer, 0, 1, 0, 0)) == 87);
  CHECK(b.put_code(batch(1, writer, 0, -1)) == 87);
  auto two = encode(batch(1));
  const auto second = encode(batch(1));
  two.insert(two.end(), second.begin(), second.end());
  CHECK(b.log.produce(two, 0).code == 87);
  auto damaged = encode(batch(1));
  damaged.back() ^= std::byte{1};
  CHECK(b.log.produce(damaged, 0).code == 2);
  CHECK(b.log.end() == 0);
}

TEST_CASE("append times and the epoch -1 are taken by newer brokers", "[broker]") {
  broker b;
  auto append_time = batch(1);
  append_time.append_time = 5;
  CHECK(b.put_at(append_time) == 0);
  CHECK(b.put_at(batch(1, writer, -1, 9)) == 1);
  CHECK(b.put_at(batch(1, writer, -1, 3)) == 2);
  CHECK(b.put(batch(1, writer, -1, 9)).duplicate);
}

TEST_CASE("a transaction that is open since before the log start holds the stable offset at the first batch there", "[broker]") {
  broker b;
  b.put_at(batch(1, slot, 0, 0, true));
  b.put_at(batch(3));
  b.log.delete_records(2, 4);
  CHECK(b.log.last_stable(4) == 1);  // the batch that the start lies in
  b.log.delete_records(4, 4);
  CHECK(b.log.last_stable(4) == 4);
}

TEST_CASE("a producer is forgotten by the time of its newest batch or marker, not by the largest", "[broker]") {
  broker b;
  const std::int64_t day = 86'400'000;
  const std::int64_t now = 1'700'000'000'000;
  auto old = batch(1, writer, 0, 0);
  old.records[0].timestamp = now - 2 * day;
  b.put_at(old);
  CHECK(b.log.producers().expired(now) == std::vector<std::int64_t>{writer});
  b.put_at(batch(1, writer, 0, 1));
  CHECK(b.log.producers().expired(now).empty());
  old.base_sequence = 2;
  b.put_at(old);
  CHECK(b.log.producers().expired(now).size() == 1);
  CHECK(b.marker(writer, 0, false) == 0);
  CHECK(b.log.producers().expired(now).empty());
  auto open = old;
  open.producer_id = slot;
  open.transactional = true;
  b.put_at(open);
  CHECK(b.log.producers().expired(now).empty());
  CHECK(b.log.producers().expired(now + day).size() == 1);
}

TEST_CASE("topic settings refuse large batches, and null keys while compacted", "[broker]") {
  broker small{simulated_log(log_settings{100, false, true})};
  CHECK(small.put_code(batch(10)) == 10);
  broker compacted{simulated_log(log_settings{1'000, true, false})};
  CHECK(compacted.put_code(consecutive({record(std::nullopt)})) == 87);
  CHECK(compacted.put_at(batch(1)) == 0);
  CHECK(compacted.log.delete_records(1, 1) == 44);
}

TEST_CASE("markers of a producer without a transaction take one offset each", "[broker]") {
  broker b;
  CHECK(b.marker(other, 0, false) == 0);
  CHECK(b.log.end() == 1);
  for (int i = 0; i < 30; ++i) CHECK(b.marker(other, 0, false) == 0);
  CHECK(b.log.end() == 31);
}

TEST_CASE("transactions: open by first offset, closed by markers, last stable offset in between", "[broker]") {
  broker b;
  for (int i = 0; i < 34; ++i) b.marker(other, 0, false);
  CHECK(b.put_at(batch(1, slot, 0, 0, true)) == 34);
  CHECK(b.put_at(batch(1, other, 0, 0, true)) == 35);
  CHECK(b.log.producers().entries().at(slot).open_since == 34);
  CHECK(b.log.producers().entries().at(other).open_since == 35);
  CHECK(b.log.last_stable(36) == 34);
  CHECK(b.marker(slot, 0, true) == 0);
  CHECK(b.log.last_stable(37) == 35);
  CHECK(b.marker(other, 0, false) == 0);
  CHECK(b.log.last_stable(38) == 38);
  CHECK(b.log.transaction_at(slot, 34)->committed);
  CHECK_FALSE(b.log.transaction_at(other, 35)->committed);
  CHECK(b.put_at(batch(1, slot, 0, 1, true)) == 38);  // the next transaction, the next sequence
  CHECK(b.log.transaction_at(slot, 38)->first_offset == 38);
}

TEST_CASE("plain data of a producer in a transaction is refused", "[broker]") {
  broker b;
  b.put_at(batch(1, slot, 0, 0, true));
  CHECK(b.put_code(batch(1, slot, 0, 1)) == 48);
}

TEST_CASE("a marker of a higher epoch fences; the new epoch begins at sequence 0; lower epochs are refused", "[broker]") {
  broker b;
  b.put_at(batch(1, slot, 0, 0, true));
  b.put_at(batch(1, slot, 0, 1, true));
  CHECK(b.marker(slot, 1, false) == 0);
  CHECK(b.put_code(batch(1, slot, 0, 2, true)) == 47);
  CHECK(b.put_code(batch(1, slot, 1, 3, true)) == 45);
  CHECK(b.put_at(batch(1, slot, 1, 0, true)) == 3);
  CHECK(b.marker(slot, 0, false) == 47);
  CHECK(b.log.end() == 4);
}

TEST_CASE("a higher epoch inside an open transaction goes on with it", "[broker]") {
  broker b;
  b.put_at(batch(1, slot, 0, 0, true));
  CHECK(b.put_at(batch(1, slot, 4, 0, true)) == 1);
  CHECK(b.put_code(batch(1, slot, 0, 1, true)) == 47);
  CHECK(b.log.producers().entries().at(slot).open_since == 0);
  CHECK(b.marker(slot, 4, true) == 0);
  CHECK(b.log.transaction_at(slot, 0)->committed);
  CHECK(b.log.transaction_at(slot, 1)->end_offset == 2);
}

TEST_CASE("a marker under a lower coordinator epoch is refused", "[broker]") {
  broker b;
  CHECK(b.marker(slot, 0, false, 5) == 0);
  CHECK(b.marker(slot, 0, false, 4) == 52);
}

TEST_CASE("a marker is appended each time it is sent", "[broker]") {
  broker b;
  b.put_at(batch(1, slot, 0, 0, true));
  CHECK(b.marker(slot, 0, true) == 0);
  CHECK(b.marker(slot, 0, true) == 0);
  CHECK(b.log.end() == 3);
  CHECK(b.log.transaction_at(slot, 0)->end_offset == 1);
}

TEST_CASE("a new leader with a shorter log has the producers of that log", "[broker]") {
  broker b;
  b.put_at(batch(2, slot, 0, 0, true));
  b.put_at(batch(2, slot, 0, 2, true));
  b.marker(slot, 0, true);
  b.log.truncate(2);
  CHECK(b.log.end() == 2);
  CHECK(b.log.producers().entries().at(slot).last_sequence() == 1);
  CHECK(b.log.producers().entries().at(slot).open_since == 0);
  CHECK(b.put_at(batch(2, slot, 0, 2, true)) == 2);
}

TEST_CASE("DeleteRecords moves the start up to the high watermark, never back", "[broker]") {
  broker b;
  b.put_at(batch(5));
  CHECK(b.log.delete_records(4, 3) == 1);
  CHECK(b.log.delete_records(3, 5) == 0);
  CHECK(b.log.delete_records(2, 5) == 0);
  CHECK(b.log.start() == 3);
  CHECK(b.log.delete_records(5, 5) == 0);
  CHECK(b.log.start() == b.log.end());
}

TEST_CASE("compaction leaves holes, cut tails and empty batches, and keeps the offsets", "[broker]") {
  simulated_log log;
  log.append_unchecked(encode(batch(4)), 7);
  auto holed = batch(4);
  holed.records.erase(holed.records.begin() + 1);
  holed.records.pop_back();
  log.replace(0, encode(holed));
  CHECK(log.entries().at(0).header.record_count == 2);
  CHECK(log.entries().at(0).header.next_offset() == 4);
  const auto read = decode(log.entries().at(0).view());
  REQUIRE(read);
  CHECK(read->back().offset_delta == 2);
  auto empty = batch(4);
  empty.records.clear();
  log.replace(0, encode(empty));
  CHECK(log.entries().at(0).header.record_count == 0);
  CHECK(decode(log.entries().at(0).view())->empty());
  log.replace(0, std::nullopt);
  CHECK(log.entries().empty());
  CHECK(log.end() == 4);
}

TEST_CASE("batches of every kind come back from the product's reader as they were written", "[broker]") {
  for (int compression = 0; compression <= 4; ++compression) {
    auto spec = batch(3, slot, 2, 9, true);
    spec.compression = static_cast<wire::codec>(compression);
    spec.records[0].headers = {{"h", "1"}, {"h", std::nullopt}, {"", ""}};
    spec.records[1].value.reset();
    spec.records[2].timestamp -= 5;
    const auto bytes = encode(spec);
    const auto stored = only_batch(bytes);
    REQUIRE(stored);
    CHECK(wire::verify_crc(*stored).has_value());
    CHECK(decode(*stored) == spec.records);
    spec.delete_horizon = 1'700'000'500'000;
    const auto marked = encode(spec);
    CHECK(decode(*only_batch(marked)) == spec.records);
  }
}

}  // namespace
}  // namespace mirrord::sim
