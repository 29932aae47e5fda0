// Random logs, by seed: whatever the source holds and wherever the mirror begins or is cut, each offset gets the same
// one occupant, and a transaction the same slot.
#include "tests/unit/core/destination_model.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

using namespace mirrord;
using namespace mirrord::core_tests;

namespace {

class dice {
 public:
  explicit dice(std::uint64_t seed) : engine_(seed) {}
  // [0, n); the standard's distributions differ between libraries, and a seed must mean the same log everywhere.
  std::int64_t below(std::int64_t n) { return static_cast<std::int64_t>(engine_() % static_cast<std::uint64_t>(n)); }
  bool one_in(std::int64_t n) { return below(n) == 0; }

 private:
  std::mt19937_64 engine_;
};

class random_log {
 public:
  explicit random_log(std::uint64_t seed) : dice_(seed), offset_(dice_.below(1000)) {}

  std::vector<source_batch> batches(int count) {
    std::vector<source_batch> log;
    while (static_cast<int>(log.size()) < count) {
      if (dice_.one_in(6)) offset_ += 1 + dice_.below(20);  // whole batches that compaction removed
      log.push_back(dice_.one_in(4) ? next_control() : next_data());
      offset_ = log.back().next_offset();
    }
    return log;
  }

 private:
  source_batch next_control() {
    const std::int64_t producer = 1 + dice_.below(5);
    auto what = static_cast<control>(1 + dice_.below(4));
    // Compaction removes a marker only after its transaction's data, so no emptied one ends what is open here.
    if (what == control::emptied && open_.contains(producer)) what = control::abort;
    if (what == control::abort || what == control::commit) open_.erase(producer);
    return control_batch(offset_, producer, what);
  }

  source_batch next_data() {
    const std::int64_t width = 1 + dice_.below(12);
    const int density = static_cast<int>(dice_.below(4));  // 0: no hole at all
    std::vector<std::int64_t> offsets;
    for (std::int64_t i = 0; i < width; ++i) {
      if (density == 0 || !dice_.one_in(1 + density)) offsets.push_back(offset_ + i);
    }
    source_batch batch = compressed(batch_of(offset_, offset_ + width - 1, offsets), all_codecs[dice_.below(5)]);
    for (source_record& record : batch.records) vary(record);
    const bool keeps_to_old_formats = batch.compression != wire::codec::none && batch.compression != wire::codec::zstd && !offsets.empty();
    if (dice_.one_in(6)) batch.append_time = 1'800'000'000'000 + dice_.below(1000);
    if (dice_.one_in(6) && keeps_to_old_formats) {
      batch.last_offset = offsets.back();
      return legacy(std::move(batch), static_cast<std::int8_t>(dice_.below(2)));
    }
    if (dice_.one_in(6)) batch.delete_horizon = 1'900'000'000'000;
    if (dice_.one_in(2)) batch = transactional(std::move(batch), 1 + dice_.below(5));
    else if (dice_.one_in(2)) batch.producer_id = 1 + dice_.below(5);
    if (batch.transactional && !batch.records.empty()) open_.insert(batch.producer_id);
    return batch;
  }

  void vary(source_record& record) {
    record.timestamp = dice_.one_in(9) ? -1 : 1'700'000'000'000 + dice_.below(10'000) - 5'000;
    if (dice_.one_in(5)) record.key = std::nullopt;
    if (dice_.one_in(5)) record.value = std::nullopt;
    else record.value = std::string(static_cast<std::size_t>(dice_.below(60)), static_cast<char>('a' + dice_.below(26)));
    for (std::int64_t n = dice_.one_in(3) ? dice_.below(4) : 0; n > 0; --n) {
      record.headers.emplace_back(std::string(1, static_cast<char>('a' + dice_.below(3))), dice_.one_in(3) ? std::nullopt : std::optional<std::string>("v"));
    }
  }

  dice dice_;
  std::int64_t offset_;
  std::set<std::int64_t> open_;
};

struct outcome {
  log_contents contents;
  open_slots open;
  std::int64_t position = 0;
};

// Plans in chunks of random length, as Fetch answers cut the log.
outcome mirror(const stored_log& source, std::int64_t start, const open_slots& open, std::size_t batch_bytes_max, dice& cuts) {
  core::write_planner planner(start, slots_of(open), {1'000'000, batch_bytes_max});
  outcome all;
  std::int64_t position = start;
  for (std::size_t next = 0; next < source.batches.size();) {
    std::vector<core::planned_write> plan;
    for (std::int64_t n = 1 + cuts.below(5); n > 0 && next < source.batches.size(); --n, ++next) {
      REQUIRE(planner.add(source.batches[next], plan).has_value());
    }
    all.contents.merge(laid_out(plan, position, batch_bytes_max));
    if (!plan.empty()) position = core::next_offset(plan.back());
    REQUIRE(planner.position() == position);
  }
  all.open = open_in(planner.slots());
  all.position = position;
  return all;
}

log_contents from(const log_contents& log, std::int64_t offset) { return {log.lower_bound(offset), log.end()}; }

// The transactions that the destination has open when its log ends at `offset`, read off its own contents.
open_slots open_at(const log_contents& log, std::int64_t offset, const std::vector<source_batch>& source) {
  std::map<core::slot_index, std::int64_t> since;
  for (const auto& [at, what] : log) {
    if (at >= offset) break;
    if (what.kind == occupant_kind::data && what.producer != core::writer_index) since.try_emplace(what.producer, at);
    if (what.kind == occupant_kind::commit || what.kind == occupant_kind::abort) since.erase(what.producer);
  }
  open_slots open;
  for (const auto& [slot, first_offset] : since) {
    const auto batch = std::find_if(source.begin(), source.end(), [&](const source_batch& b) { return b.last_offset >= first_offset; });
    open[batch->producer_id] = {slot, first_offset};
  }
  return open;
}

}  // namespace

TEST_CASE("random logs: each source offset is occupied once, by what the source has there", "[write_plan]") {
  for (std::uint64_t seed = 1; seed <= 400; ++seed) {
    CAPTURE(seed);
    const std::vector<source_batch> source = random_log(seed).batches(40);
    const stored_log stored = store(source);
    dice cuts(seed);
    const std::int64_t start = std::max<std::int64_t>(0, source.front().base_offset - cuts.below(3));
    const std::size_t batch_bytes_max = seed % 2 == 0 ? 250 : 1'000'000;
    const outcome whole = mirror(stored, start, {}, batch_bytes_max, cuts);
    const expected_log expected = expect(source, start);
    REQUIRE(first_difference(whole.contents, expected.contents) == "");
    REQUIRE(same(whole.open, expected.open));
    REQUIRE(whole.position == source.back().next_offset());
  }
}

TEST_CASE("random logs: going on from any end of the destination's log gives the same log and the same slots", "[write_plan]") {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    const std::vector<source_batch> source = random_log(seed).batches(25);
    const stored_log stored = store(source);
    dice cuts(seed);
    const std::int64_t start = source.front().base_offset;
    const outcome whole = mirror(stored, start, {}, 1'000'000, cuts);
    for (std::int64_t end = start; end <= whole.position; ++end) {
      CAPTURE(seed, end);
      const open_slots open = open_at(whole.contents, end, source);
      const outcome rest = mirror(stored, end, open, end % 2 == 0 ? 250 : 1'000'000, cuts);
      REQUIRE(first_difference(rest.contents, from(whole.contents, end)) == "");
      REQUIRE(same(rest.open, whole.open));
      REQUIRE(rest.position == whole.position);
    }
  }
}
