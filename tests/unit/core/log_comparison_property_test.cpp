// Random logs, by seed: two encodings of one log are equal however each is cut into batches, compressed and filled, and
// one thing that is changed in one of them is found at its offset.
#include "core/log_comparison.hpp"
#include "tests/unit/core/source_batch.hpp"

#include <catch2/catch.hpp>

#include <map>
#include <optional>
#include <random>
#include <set>

using namespace mirrord;
using namespace mirrord::core;
using namespace mirrord::core_tests;

namespace {

class dice {
 public:
  explicit dice(std::uint64_t seed) : engine_(seed) {}
  std::int64_t below(std::int64_t n) { return static_cast<std::int64_t>(engine_() % static_cast<std::uint64_t>(n)); }
  bool one_in(std::int64_t n) { return below(n) == 0; }

 private:
  std::mt19937_64 engine_;
};

enum class content : std::uint8_t { record, commit, abort };

struct entry {
  content what = content::record;
  std::optional<std::int64_t> transaction;  // counted from 0; every marker ends one that has records
  source_record record;
};

// Offset by offset; what is not in it is a hole.
struct logical_log {
  std::map<std::int64_t, entry> entries;
  std::int64_t start = 0;
  std::int64_t end = 0;
};

logical_log random_log(dice& d) {
  logical_log log;
  log.start = d.below(1000);
  std::int64_t offset = log.start;
  std::vector<std::int64_t> open;
  std::int64_t transactions = 0;
  for (int i = 0; i < 120; ++i, ++offset) {
    if (d.one_in(8)) continue;
    entry e;
    if (!open.empty() && d.one_in(6)) {
      const auto which = open.begin() + d.below(static_cast<std::int64_t>(open.size()));
      e.what = d.one_in(3) ? content::abort : content::commit;
      e.transaction = *which;
      open.erase(which);
    } else {
      const auto text = std::to_string(offset);
      e.record = {offset, d.one_in(9) ? -1 : 1'700'000'000'000 + d.below(10'000), "key " + text, std::string(static_cast<std::size_t>(d.below(60)), 'v') + text, {}};
      if (d.one_in(5)) e.record.key.reset();
      if (d.one_in(5)) e.record.value.reset();
      if (d.one_in(3)) e.record.headers = {{"h", text}, {"h", std::nullopt}};
      if (d.one_in(2)) {
        const bool begins = open.empty() || (open.size() < 4 && d.one_in(3));
        if (begins) open.push_back(transactions++);
        e.transaction = begins ? open.back() : open[static_cast<std::size_t>(d.below(static_cast<std::int64_t>(open.size())))];
      }
    }
    log.entries[offset] = std::move(e);
  }
  log.end = log.entries.rbegin()->first + 1;
  return log;
}

// The producer of each transaction: on a source any, on a destination the lowest free slot.
class producers {
 public:
  explicit producers(std::int64_t first) : first_(first) {}
  std::int64_t of(std::int64_t transaction) {
    const auto known = open_.find(transaction);
    if (known != open_.end()) return known->second;
    std::int64_t id = first_;
    while (taken_.contains(id)) ++id;
    taken_.insert(id);
    return open_[transaction] = id;
  }
  void end(std::int64_t transaction) {
    taken_.erase(open_[transaction]);
    open_.erase(transaction);
  }

 private:
  std::int64_t first_;
  std::map<std::int64_t, std::int64_t> open_;
  std::set<std::int64_t> taken_;
};

// `filled`: some holes hold lone markers. Batches end where the producer changes, at holes (for a destination), or by chance.
std::vector<source_batch> encode_log(const logical_log& log, dice& d, std::int64_t first_producer, bool filled) {
  std::vector<source_batch> batches;
  producers ids(first_producer);
  bool goes_on = false;
  for (std::int64_t offset = log.start; offset < log.end; ++offset) {
    const auto found = log.entries.find(offset);
    if (found == log.entries.end()) {
      if (!filled) continue;
      goes_on = false;
      if (d.one_in(2)) batches.push_back(control_batch(offset, first_producer + 100, control::abort));
      continue;
    }
    const entry& e = found->second;
    const std::int64_t producer = e.transaction ? ids.of(*e.transaction) : -1;
    if (e.what != content::record) {
      batches.push_back(control_batch(offset, producer, e.what == content::commit ? control::commit : control::abort));
      ids.end(*e.transaction);
      goes_on = false;
      continue;
    }
    if (!goes_on || batches.back().producer_id != producer || d.one_in(4)) {
      source_batch batch = compressed(batch_of(offset, offset, {}), all_codecs[d.below(5)]);
      if (e.transaction) batch = transactional(std::move(batch), producer);
      batches.push_back(std::move(batch));
      goes_on = true;
    }
    batches.back().records.push_back(e.record);
    batches.back().last_offset = offset;
  }
  return batches;
}

log_bounds bounds_of(const logical_log& log) {
  log_bounds bounds{log.start, log.end, log.end};
  std::map<std::int64_t, std::int64_t> open;
  for (const auto& [offset, e] : log.entries) {
    if (e.what == content::record && e.transaction) open.try_emplace(*e.transaction, offset);
    if (e.what != content::record) open.erase(*e.transaction);
  }
  for (const auto& [transaction, first] : open) bounds.last_stable_offset = std::min(bounds.last_stable_offset, first);
  return bounds;
}

std::vector<difference> compare(const logical_log& source, const logical_log& destination, dice& d) {
  const stored_log logs[] = {store(encode_log(source, d, 10, false)), store(encode_log(destination, d, 7000, true))};
  comparison_rules rules;
  rules.bounds = {bounds_of(source), bounds_of(destination)};
  log_comparison comparison(rules);
  const log_side sides[] = {log_side::source, log_side::destination};
  std::size_t next[] = {0, 0};
  while (!comparison.done()) {
    const std::size_t side = comparison.known_to(log_side::source) <= comparison.known_to(log_side::destination) ? 0 : 1;
    for (std::int64_t n = 1 + d.below(3); n > 0; --n) {
      if (next[side] < logs[side].batches.size()) comparison.add(sides[side], logs[side].batches[next[side]++], nullptr);
      else comparison.nothing_before(sides[side], comparison.end());
    }
    REQUIRE(comparison.advance().has_value());
  }
  comparison.finish();
  return comparison.differences();
}

// Changes what stands at one offset; the offset.
std::int64_t change_something(logical_log& log, dice& d) {
  while (true) {
    const auto at = std::next(log.entries.begin(), d.below(static_cast<std::int64_t>(log.entries.size()) - 1));
    entry& e = at->second;
    const std::int64_t offset = at->first;
    if (e.what != content::record) {
      if (d.one_in(2)) log.entries.erase(at);
      else e.what = e.what == content::commit ? content::abort : content::commit;
      return offset;
    }
    switch (d.below(5)) {
      case 0: e.record.value = "changed"; break;
      case 1: e.record.key = "changed"; break;
      case 2: e.record.timestamp += 1; break;
      case 3: e.record.headers.emplace_back("changed", "1"); break;
      default:
        // Without it the transaction could have nothing left, and its marker nothing to end.
        if (e.transaction) continue;
        log.entries.erase(at);
    }
    return offset;
  }
}

}  // namespace

TEST_CASE("random logs: two encodings of one log are equal", "[comparison]") {
  for (std::uint64_t seed = 1; seed <= 400; ++seed) {
    CAPTURE(seed);
    dice d(seed);
    const auto log = random_log(d);
    const auto found = compare(log, log, d);
    if (!found.empty()) FAIL(found.front().offset << " " << name(found.front().kind) << ": " << found.front().source << " | " << found.front().destination);
  }
}

TEST_CASE("random logs: one thing that is changed is found at its offset", "[comparison]") {
  for (std::uint64_t seed = 1; seed <= 400; ++seed) {
    CAPTURE(seed);
    dice d(seed);
    const auto source = random_log(d);
    auto destination = source;
    const std::int64_t changed = change_something(destination, d);
    const auto found = compare(source, destination, d);
    REQUIRE(!found.empty());
    CHECK(found.front().offset == changed);
    CHECK(compare(destination, source, d).front().offset == changed);
  }
}
