// Two logs of a partition: every difference is found once, and nothing that a mirror may do is one.
#include "core/log_comparison.hpp"
#include "tests/unit/core/source_batch.hpp"

#include <catch2/catch.hpp>
#include <fmt/format.h>

#include <algorithm>

using namespace mirrord;
using namespace mirrord::core;
using namespace mirrord::core_tests;

namespace {

using batches = std::vector<source_batch>;

constexpr std::int64_t slot = 7001;    // producer ids of the destination
constexpr std::int64_t slot2 = 7002;
constexpr std::int64_t writer = 7000;
constexpr std::int64_t now_ms = 1'800'000'000'000;

std::int64_t end_of(const batches& log) { return log.empty() ? 0 : log.back().next_offset(); }

log_bounds bounds_of(const batches& log) {
  log_bounds bounds{log.empty() ? 0 : log.front().base_offset, end_of(log), end_of(log)};
  std::vector<std::pair<std::int64_t, std::int64_t>> open;
  for (const auto& batch : log) {
    if (batch.control == control::commit || batch.control == control::abort) {
      std::erase_if(open, [&](const auto& t) { return t.first == batch.producer_id; });
    } else if (batch.transactional && batch.control == control::none) {
      if (std::none_of(open.begin(), open.end(), [&](const auto& t) { return t.first == batch.producer_id; })) open.emplace_back(batch.producer_id, batch.base_offset);
    }
  }
  for (const auto& [producer, first] : open) bounds.last_stable_offset = std::min(bounds.last_stable_offset, first);
  return bounds;
}

comparison_rules rules_for(const batches& source, const batches& destination) {
  comparison_rules rules;
  rules.bounds = {bounds_of(source), bounds_of(destination)};
  rules.tombstones_expire_before = {now_ms, now_ms};
  return rules;
}

std::string text_of(const log_comparison& comparison) {
  std::string text;
  for (const auto& d : comparison.differences()) text += fmt::format("{} {}: {} | {}\n", d.offset, name(d.kind), d.source, d.destination);
  if (comparison.difference_count() != comparison.differences().size()) text += fmt::format("{} in all\n", comparison.difference_count());
  return text;
}

// Feeds both logs, the destination `step` batches at a time behind the source, so that both orders of arrival occur.
std::string compare(const batches& source, const batches& destination, const comparison_rules& rules, std::size_t step = 1) {
  const stored_log logs[] = {store(source), store(destination)};
  log_comparison comparison(rules);
  std::size_t next[] = {0, 0};
  const log_side sides[] = {log_side::source, log_side::destination};
  while (!comparison.done()) {
    const std::size_t side = comparison.known_to(log_side::source) <= comparison.known_to(log_side::destination) ? 0 : 1;
    for (std::size_t i = 0; i < step; ++i) {
      if (next[side] < logs[side].batches.size()) comparison.add(sides[side], logs[side].batches[next[side]++], nullptr);
      else comparison.nothing_before(sides[side], comparison.end());
    }
    if (auto advanced = comparison.advance(); !advanced) return advanced.error().message();
  }
  comparison.finish();
  return text_of(comparison);
}

std::string compare(const batches& source, const batches& destination) {
  const auto rules = rules_for(source, destination);
  const auto found = compare(source, destination, rules);
  CHECK(compare(source, destination, rules, 3) == found);
  return found;
}

std::string compare_compacted(const batches& source, const batches& destination) {
  auto rules = rules_for(source, destination);
  rules.compacted = true;
  return compare(source, destination, rules);
}

source_batch filler(std::int64_t offset) { return control_batch(offset, writer, control::abort); }
source_batch commit(std::int64_t offset, std::int64_t producer) { return control_batch(offset, producer, control::commit); }
source_batch abort_at(std::int64_t offset, std::int64_t producer) { return control_batch(offset, producer, control::abort); }
source_batch in_transaction(std::int64_t base, std::int64_t last, std::int64_t producer) { return transactional(dense_batch(base, last), producer); }

source_batch of_writer(source_batch batch) {
  batch.producer_id = writer;
  batch.producer_epoch = 9;
  return batch;
}

source_batch keyed(std::int64_t offset, const std::string& key, std::optional<std::string> value = "v", std::int64_t timestamp = 1'000) {
  source_batch batch = batch_of(offset, offset, {offset});
  batch.records[0] = {offset, timestamp, key, std::move(value), {}};
  return batch;
}

source_batch keyed_in(std::int64_t offset, std::int64_t producer, const std::string& key) { return transactional(keyed(offset, key), producer); }

// An offset that the batches skip, as a log's last one: logs must end alike.
source_batch last_at(std::int64_t offset) { return dense_batch(offset, offset); }

}  // namespace

// --- equal ---------------------------------------------------------------------------------------------------------------------

TEST_CASE("the same batches are equal, whatever the codec, the producer and the delete horizon") {
  for (const auto codec : all_codecs) {
    auto source = compressed(dense_batch(0, 9), codec);
    auto destination = of_writer(source);
    CHECK(compare({source, dense_batch(10, 10)}, {destination, of_writer(dense_batch(10, 10))}).empty());
    source.delete_horizon = source.records.front().timestamp;
    CHECK(compare({source}, {destination}).empty());
  }
}

TEST_CASE("records split and packed otherwise are equal") {
  const auto source = compressed(dense_batch(0, 9), wire::codec::gzip);
  CHECK(compare({source}, {dense_batch(0, 3), compressed(dense_batch(4, 8), wire::codec::zstd), dense_batch(9, 9)}).empty());
  CHECK(compare({dense_batch(0, 0), dense_batch(1, 9)}, {dense_batch(0, 9)}).empty());
}

TEST_CASE("old formats are equal to their copies of today") {
  for (const std::int8_t magic : {0, 1}) {
    for (const auto codec : {wire::codec::gzip, wire::codec::snappy}) {
      const auto source = compressed(legacy(dense_batch(0, 4), magic), codec);
      auto copy = dense_batch(0, 4);
      for (auto& record : copy.records) record.timestamp = magic == 0 ? -1 : record.timestamp;
      CHECK(compare({source}, {copy}).empty());
      copy.records[2].timestamp = 5;
      CHECK_THAT(compare({source}, {copy}), Catch::StartsWith("2 timestamp: "));
    }
  }
}

TEST_CASE("an append time is the copy's own time") {
  for (const auto codec : all_codecs) {
    auto source = compressed(dense_batch(0, 4), codec);
    source.append_time = 1'700'000'999'000;
    auto copy = source;
    copy.append_time.reset();
    for (auto& record : copy.records) record.timestamp = *source.append_time;
    CHECK(compare({source}, {copy}).empty());
    CHECK_THAT(compare({source}, {compressed(dense_batch(0, 4), codec)}), Catch::StartsWith("0 timestamp: 1700000999000 | "));
  }
}

TEST_CASE("holes of the source are filler on the destination, or nothing") {
  const batches source = {batch_of(0, 5, {0, 3, 5}), last_at(8)};
  CHECK(compare(source, {dense_batch(0, 0), filler(1), filler(2), dense_batch(3, 3), filler(4), dense_batch(5, 5), filler(6), filler(7), last_at(8)}).empty());
  CHECK(compare(source, {batch_of(0, 5, {0, 3, 5}), last_at(8)}).empty());
}

TEST_CASE("control records that end nothing are as good as filler and as none") {
  const batches source = {dense_batch(0, 0), commit(1, 5), control_batch(2, 5, control::unknown), control_batch(3, 5, control::emptied), abort_at(4, 5), last_at(5)};
  CHECK(compare(source, {dense_batch(0, 0), filler(1), filler(2), filler(3), filler(4), last_at(5)}).empty());
  CHECK(compare(source, {dense_batch(0, 0), last_at(5)}).empty());
  CHECK(compare({dense_batch(0, 0), last_at(5)}, source).empty());
}

TEST_CASE("interleaved transactions in slots") {
  const batches source = {in_transaction(0, 1, 11), in_transaction(2, 2, 12), dense_batch(3, 3), in_transaction(4, 4, 11), commit(5, 11), in_transaction(6, 6, 13),
                          abort_at(7, 12),          in_transaction(8, 8, 11), commit(9, 13),     abort_at(10, 11)};
  const batches destination = {in_transaction(0, 1, slot), in_transaction(2, 2, slot2), of_writer(dense_batch(3, 3)), in_transaction(4, 4, slot), commit(5, slot),
                               in_transaction(6, 6, slot), abort_at(7, slot2),           in_transaction(8, 8, slot2),  commit(9, slot),             abort_at(10, slot2)};
  CHECK(compare(source, destination).empty());
}

TEST_CASE("transactions that are open on both sides at the end are equal") {
  CHECK(compare({in_transaction(0, 1, 11), dense_batch(2, 3)}, {in_transaction(0, 1, slot), dense_batch(2, 3)}).empty());
}

TEST_CASE("a transaction whose data lies before the start of the comparison") {
  CHECK(compare({dense_batch(10, 10), commit(11, 5), last_at(12)}, {in_transaction(8, 9, slot), dense_batch(10, 10), commit(11, slot), last_at(12)}).empty());
  CHECK(compare({dense_batch(10, 10), commit(11, 5), last_at(12)}, {filler(8), filler(9), dense_batch(10, 10), filler(11), last_at(12)}).empty());
}

TEST_CASE("a destination that lags is compared as far as it goes") {
  const batches source = {dense_batch(0, 9), in_transaction(10, 12, 5)};
  CHECK(compare(source, {dense_batch(0, 4)}).empty());
  CHECK_THAT(compare(source, {batch_of(0, 4, {0, 1, 2, 4})}), Catch::StartsWith("3 record: key \"key 3\", value \"value 3\" | nothing\n"));
  CHECK(compare(source, {}).empty());
}

TEST_CASE("a destination that has not removed yet what the source has lost") {
  CHECK(compare({dense_batch(5, 9)}, {dense_batch(0, 6), dense_batch(7, 9)}).empty());
}

// --- different -----------------------------------------------------------------------------------------------------------------

TEST_CASE("one thing of one record") {
  const auto changed = [](auto change) {
    const batches source = {dense_batch(0, 9)};
    auto copy = dense_batch(0, 9);
    change(copy.records[4]);
    return compare(source, {copy});
  };
  CHECK(changed([](auto&) {}).empty());
  CHECK(changed([](auto& r) { r.value = "other"; }) == "4 value: \"value 4\" | \"other\"\n");
  CHECK(changed([](auto& r) { r.value.reset(); }) == "4 value: \"value 4\" | null\n");
  CHECK(changed([](auto& r) { r.value = ""; }) == "4 value: \"value 4\" | \"\"\n");
  CHECK(changed([](auto& r) { r.key = "key 5"; }) == "4 key: \"key 4\" | \"key 5\"\n");
  CHECK(changed([](auto& r) { r.timestamp += 1; }) == "4 timestamp: 1700000000028 | 1700000000029\n");
  CHECK(changed([](auto& r) { r.headers = {{"h", "1"}}; }) == "4 headers: [] | [\"h\"=\"1\"]\n");
}

TEST_CASE("headers: their values, their order, null and empty") {
  const auto with_headers = [](std::vector<std::pair<std::string, std::optional<std::string>>> headers) {
    auto batch = dense_batch(0, 0);
    batch.records[0].headers = std::move(headers);
    return batches{batch};
  };
  const auto source = with_headers({{"a", "1"}, {"b", std::nullopt}});
  CHECK(compare(source, source).empty());
  CHECK(compare(source, with_headers({{"b", std::nullopt}, {"a", "1"}})) == "0 headers: [\"a\"=\"1\", \"b\"=null] | [\"b\"=null, \"a\"=\"1\"]\n");
  CHECK(compare(source, with_headers({{"a", "1"}, {"b", ""}})) == "0 headers: [\"a\"=\"1\", \"b\"=null] | [\"a\"=\"1\", \"b\"=\"\"]\n");
}

TEST_CASE("long and binary values are shown where they differ") {
  const auto with_value = [](std::string value) {
    auto batch = dense_batch(0, 0);
    batch.records[0].value = std::move(value);
    return batches{batch};
  };
  const std::string start(100, 'x');
  CHECK(compare(with_value(start + "1" + start), with_value(start + "2" + start)) ==
        "0 value: \"...xxxxxxxxxxxx1" + std::string(35, 'x') + "...\" (201 bytes, shown from byte 88) | \"...xxxxxxxxxxxx2" + std::string(35, 'x') +
            "...\" (201 bytes, shown from byte 88)\n");
  CHECK(compare(with_value(std::string("\0\xff\"\\", 4)), with_value("a")) == "0 value: \"\\x00\\xff\\\"\\\\\" | \"a\"\n");
}

TEST_CASE("a record on one side only") {
  CHECK(compare({dense_batch(0, 2)}, {batch_of(0, 2, {0, 2})}) == "1 record: key \"key 1\", value \"value 1\" | nothing\n");
  CHECK(compare({batch_of(0, 2, {0, 2})}, {dense_batch(0, 2)}) == "1 record: nothing | key \"key 1\", value \"value 1\"\n");
  CHECK(compare({dense_batch(0, 2)}, {dense_batch(0, 0), filler(1), dense_batch(2, 2)}) == "1 record: key \"key 1\", value \"value 1\" | a marker (abort)\n");
  CHECK(compare({dense_batch(0, 0), commit(1, 5), dense_batch(2, 2)}, {dense_batch(0, 2)}) == "1 record: a marker (commit) | key \"key 1\", value \"value 1\"\n");
}

TEST_CASE("every difference is counted, the first are kept") {
  auto copy = dense_batch(0, 99);
  for (auto& record : copy.records) record.value = "other";
  const auto found = compare({dense_batch(0, 99)}, {copy});
  CHECK_THAT(found, Catch::StartsWith("0 value: ") && Catch::Contains("\n19 value: ") && !Catch::Contains("\n20 value: ") && Catch::EndsWith("\n100 in all\n"));
}

TEST_CASE("commit and abort are swapped") {
  const batches source = {in_transaction(0, 1, 11), in_transaction(2, 3, 12), commit(4, 11), abort_at(5, 12)};
  CHECK(compare(source, {in_transaction(0, 1, slot), in_transaction(2, 3, slot2), abort_at(4, slot), abort_at(5, slot2)}) == "4 outcome: committed | aborted\n");
  CHECK(compare(source, {in_transaction(0, 1, slot), in_transaction(2, 3, slot2), commit(4, slot), commit(5, slot2)}) == "5 outcome: aborted | committed\n");
}

TEST_CASE("a marker ends the wrong transaction") {
  const batches source = {in_transaction(0, 1, 11), in_transaction(2, 3, 12), commit(4, 11), commit(5, 12)};
  CHECK(compare(source, {in_transaction(0, 1, slot), in_transaction(2, 3, slot2), commit(4, slot2), commit(5, slot)}) ==
        "4 marker: commits the transaction that is open since offset 0 | commits the transaction that is open since offset 2\n");
}

TEST_CASE("the marker of a transaction is missing") {
  const batches source = {in_transaction(0, 1, 11), commit(2, 11), last_at(3)};
  CHECK(compare(source, {in_transaction(0, 1, slot), filler(2), last_at(3)}) ==
        "2 marker: commits the transaction that is open since offset 0 | a marker that ends no transaction\n");
  CHECK(compare(source, {in_transaction(0, 1, slot), last_at(3)}) == "2 marker: commits the transaction that is open since offset 0 | nothing\n");
}

TEST_CASE("a marker too many") {
  CHECK(compare({in_transaction(0, 1, 11), last_at(3), commit(4, 11)}, {in_transaction(0, 1, slot), abort_at(2, slot), last_at(3), commit(4, slot)}) ==
        "2 marker: nothing | aborts the transaction that is open since offset 0\n");
}

TEST_CASE("a record in another transaction, or in none") {
  const batches source = {in_transaction(0, 0, 11), in_transaction(1, 1, 12), in_transaction(2, 2, 11), commit(3, 11), commit(4, 12)};
  CHECK_THAT(compare(source, {in_transaction(0, 0, slot), in_transaction(1, 1, slot2), in_transaction(2, 2, slot2), commit(3, slot), commit(4, slot2)}),
             Catch::StartsWith("2 transaction: in the transaction that is open since offset 0 | in another transaction, open since offset 1\n"));
  CHECK(compare(source, {in_transaction(0, 0, slot), in_transaction(1, 1, slot2), dense_batch(2, 2), commit(3, slot), commit(4, slot2)}) ==
        "2 transaction: in a transaction | in no transaction\n");
}

TEST_CASE("the ends of the logs") {
  CHECK(compare({dense_batch(0, 4)}, {dense_batch(0, 5)}) == "5 log_end: the log ends at 5 | the log ends at 6\n");
  CHECK(compare({dense_batch(2, 4)}, {dense_batch(3, 4)}) == "2 log_start: the log begins at 2 | the log begins at 3\n");
}

TEST_CASE("readers of committed data wait for nothing") {
  const batches source = {dense_batch(0, 4)};
  auto rules = rules_for(source, source);
  rules.bounds.destination.last_stable_offset = 3;
  CHECK_THAT(compare(source, source, rules), Catch::StartsWith("3 last_stable_offset: - | readers of committed data wait at 3, but "));
  rules.bounds.destination.last_stable_offset = 0;
  CHECK_THAT(compare(source, source, rules), Catch::StartsWith("0 last_stable_offset: readers of committed data get to 5 | they wait at 0 "));
  rules.bounds.source.last_stable_offset = 0;
  CHECK(compare(source, source, rules).empty());
}

TEST_CASE("a transaction may end while the bounds are read") {
  const batches source = {dense_batch(0, 4), in_transaction(5, 5, 11)};
  auto rules = rules_for(source, source);
  CHECK(rules.bounds.source.last_stable_offset == 5);
  rules.bounds.source.last_stable_offset = rules.bounds.destination.last_stable_offset = 7;
  CHECK(compare(source, source, rules).empty());
}

TEST_CASE("a damaged batch is an error with its side and offset") {
  auto source = store({dense_batch(0, 4)});
  auto damaged = store({dense_batch(0, 4)});
  damaged.bytes.back() ^= std::byte{1};
  log_comparison comparison(rules_for({dense_batch(0, 4)}, {dense_batch(0, 4)}));
  comparison.add(log_side::source, source.batches[0], nullptr);
  comparison.add(log_side::destination, damaged.batches[0], nullptr);
  const auto advanced = comparison.advance();
  REQUIRE(advanced.has_error());
  CHECK_THAT(advanced.error().message(), Catch::StartsWith("destination: the batch at offset 0: "));
}

TEST_CASE("what a side loses meanwhile is compared no more") {
  const batches source = {dense_batch(0, 4), in_transaction(5, 9, 11), dense_batch(10, 14), commit(15, 11), last_at(16)};
  const auto log = store(source);
  const auto copy = store({dense_batch(0, 4), in_transaction(5, 9, slot), dense_batch(10, 14), commit(15, slot), last_at(16)});
  log_comparison comparison(rules_for(source, source));
  comparison.add(log_side::destination, copy.batches[0], nullptr);
  comparison.add(log_side::source, log.batches[0], nullptr);
  comparison.add(log_side::destination, copy.batches[1], nullptr);
  REQUIRE(comparison.advance().has_value());
  comparison.skip_to(12);
  CHECK(comparison.position() == 12);
  for (std::size_t i = 2; i < 5; ++i) {
    comparison.add(log_side::destination, copy.batches[i], nullptr);
    comparison.add(log_side::source, log.batches[i], nullptr);
  }
  REQUIRE(comparison.advance().has_value());
  REQUIRE(comparison.done());
  comparison.finish();
  CHECK(text_of(comparison).empty());
  CHECK(comparison.start() == 12);
}

// --- compacted topics ----------------------------------------------------------------------------------------------------------

TEST_CASE("compacted: a missing record needs a later one of its key on that side") {
  const batches all = {keyed(0, "a"), keyed(1, "b"), keyed(2, "a"), keyed(3, "b")};
  const batches cleaned = {keyed(1, "b"), keyed(2, "a"), keyed(3, "b")};
  batches from_zero = cleaned;
  from_zero.insert(from_zero.begin(), batch_of(0, 0, {}));
  CHECK(compare_compacted(all, from_zero).empty());
  CHECK(compare_compacted(from_zero, all).empty());
  CHECK(compare(all, from_zero) == "0 record: key \"a\", value \"v\" | nothing\n");
  const batches lost = {keyed(0, "a"), batch_of(1, 1, {}), keyed(2, "a"), batch_of(3, 3, {})};
  CHECK(compare_compacted(all, lost) == "3 record: there | missing, and no later record of its key\n");
  CHECK(compare_compacted(lost, all) == "3 record: missing, and no later record of its key | there\n");
}

TEST_CASE("compacted: the later record may be in a batch of equal bytes") {
  CHECK(compare_compacted({keyed(0, "key 7"), dense_batch(1, 9)}, {batch_of(0, 0, {}), of_writer(dense_batch(1, 9))}).empty());
  CHECK(compare_compacted({keyed(0, "key 10"), dense_batch(1, 9)}, {batch_of(0, 0, {}), dense_batch(1, 9)}) ==
        "0 record: there | missing, and no later record of its key\n");
}

TEST_CASE("compacted: an earlier record does not explain a missing one") {
  CHECK(compare_compacted({keyed(0, "a"), keyed(1, "a"), last_at(2)}, {keyed(0, "a"), last_at(2)}) == "1 record: there | missing, and no later record of its key\n");
}

TEST_CASE("compacted: beyond the compared end nothing counts") {
  const batches source = {keyed(0, "a"), keyed(1, "b"), keyed(2, "a")};
  CHECK(compare_compacted(source, {batch_of(0, 0, {}), keyed(1, "b")}) == "0 record: there | missing, and no later record of its key\n");
}

TEST_CASE("compacted: old tombstones may be gone, with all before them; young ones may not") {
  const batches source = {keyed(0, "a"), keyed(1, "a", std::nullopt, now_ms - 1), last_at(2)};
  CHECK(compare_compacted(source, {batch_of(0, 1, {}), last_at(2)}).empty());
  const batches young = {keyed(0, "a"), keyed(1, "a", std::nullopt, now_ms), last_at(2)};
  CHECK(compare_compacted(young, {batch_of(0, 1, {}), last_at(2)}) == "1 record: there | missing, and no later record of its key\n");
}

TEST_CASE("compacted: records without a key are removed by the cleaner") {
  auto keyless = dense_batch(0, 0);
  keyless.records[0].key.reset();
  CHECK(compare_compacted({keyless, last_at(1)}, {batch_of(0, 0, {}), last_at(1)}).empty());
}

TEST_CASE("compacted: what was aborted may be gone, what was committed or is open may not") {
  const auto with_end = [](const source_batch& end) { return batches{keyed_in(0, 11, "a"), keyed_in(1, 11, "b"), end, last_at(3)}; };
  const auto lacking = [](const source_batch& end) { return batches{batch_of(0, 0, {}), keyed_in(1, slot, "b"), end, last_at(3)}; };
  CHECK(compare_compacted(with_end(abort_at(2, 11)), lacking(abort_at(2, slot))).empty());
  const std::string lost = "0 record: there | missing, and no later record of its key\n";
  CHECK(compare_compacted(with_end(commit(2, 11)), lacking(commit(2, slot))) == lost);
  CHECK(compare_compacted(with_end(dense_batch(2, 2)), lacking(dense_batch(2, 2))) == lost);
}

TEST_CASE("compacted: a later record counts only if it is committed") {
  const auto source = [](const source_batch& end) { return batches{keyed(0, "a"), keyed_in(1, 11, "a"), end, last_at(3)}; };
  const auto destination = [](const source_batch& end) { return batches{batch_of(0, 0, {}), keyed_in(1, slot, "a"), end, last_at(3)}; };
  CHECK(compare_compacted(source(commit(2, 11)), destination(commit(2, slot))).empty());
  CHECK(compare_compacted(source(abort_at(2, 11)), destination(abort_at(2, slot))) == "0 record: there | missing, and no later record of its key\n");
}

TEST_CASE("compacted: a transaction of which one side has nothing left may end there in any way") {
  const batches source = {batch_of(0, 1, {}), keyed(2, "a"), last_at(4)};
  CHECK(compare_compacted(source, {keyed_in(0, slot, "a"), abort_at(1, slot), keyed(2, "a"), last_at(4)}).empty());
  CHECK(compare_compacted(source, {keyed_in(0, slot, "a"), commit(1, slot), keyed(2, "a"), last_at(4)}).empty());
}

TEST_CASE("compacted: too many missing records are an error, not a guess") {
  batches source;
  for (std::int64_t i = 0; i < 10; ++i) source.push_back(keyed(i, std::to_string(i)));
  source.push_back(last_at(10));
  const batches destination = {batch_of(0, 9, {}), last_at(10)};
  auto rules = rules_for(source, destination);
  rules.compacted = true;
  rules.missing_max = 5;
  CHECK_THAT(compare(source, destination, rules), Catch::StartsWith("more than 5 keys are missing on one side up to offset 5"));
}
