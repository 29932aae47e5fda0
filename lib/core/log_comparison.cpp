#include "core/log_comparison.hpp"

#include "base/check.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace mirrord::core {
namespace {

constexpr std::int16_t delete_horizon_bit = 0x40;  // the cleaner's note; a mirror does not copy it

// Whether both hold the same records, without a look into them. What a mirror or a broker rewrites is not looked at:
// leader epoch, producer, sequence and checksum. Nor is the largest timestamp, which the broker computes anew.
bool same_stored(const wire::stored_batch& a, const wire::stored_batch& b) {
  const auto& x = a.header;
  const auto& y = b.header;
  return !x.is_legacy() && !y.is_legacy() && !x.is_control() && !x.has_append_time() && x.base_offset == y.base_offset &&
         x.last_offset_delta == y.last_offset_delta && x.record_count == y.record_count && x.base_timestamp == y.base_timestamp &&
         ((x.attributes ^ y.attributes) & ~delete_horizon_bit) == 0 && a.bytes.size() == b.bytes.size() &&
         std::equal(a.bytes.begin() + wire::batch_header_bytes, a.bytes.end(), b.bytes.begin() + wire::batch_header_bytes);
}

bool same(const std::optional<wire::bytes_view>& a, const std::optional<wire::bytes_view>& b) {
  return a.has_value() == b.has_value() && (!a || std::equal(a->begin(), a->end(), b->begin(), b->end()));
}

bool same_headers(const wire::record_view& a, const wire::record_view& b) {
  if (a.header_count != b.header_count) return false;
  if (std::equal(a.raw_headers.begin(), a.raw_headers.end(), b.raw_headers.begin(), b.raw_headers.end())) return true;
  const auto x = wire::headers_of(a);
  const auto y = wire::headers_of(b);
  return std::equal(x.begin(), x.end(), y.begin(), y.end(), [](const auto& h, const auto& g) { return same(h.key, g.key) && same(h.value, g.value); });
}

bool is_end(const log_item& item) noexcept { return item.kind == item_kind::commit || item.kind == item_kind::abort; }

std::optional<std::int64_t> transaction_of(const log_item& item) {
  return item.transactional ? std::optional(item.producer_id) : std::nullopt;
}

std::string_view outcome(const log_item& marker) { return marker.kind == item_kind::commit ? "committed" : "aborted"; }

// What stands at the offset instead of what was expected.
std::string describe(const log_item* item) {
  if (item == nullptr) return "nothing";
  switch (item->kind) {
    case item_kind::record: return show_record(item->record);
    case item_kind::commit: return "a marker (commit)";
    case item_kind::abort: return "a marker (abort)";
    case item_kind::other_control: return "a control record";
  }
  return {};
}

}  // namespace

log_comparison::log_comparison(comparison_rules rules)
    : rules_(std::move(rules)), end_(std::min(rules_.bounds.source.high_watermark, rules_.bounds.destination.high_watermark)),
      position_(0), cursors_{log_cursor(0), log_cursor(0)} {
  start_ = std::min(std::max(rules_.bounds.source.start, rules_.bounds.destination.start), end_);
  begin_at(start_);
}

void log_comparison::begin_at(std::int64_t offset) {
  for (const auto side : {log_side::source, log_side::destination}) cursors_[side].drop_before(offset);
  position_ = offset;
}

void log_comparison::skip_to(std::int64_t offset) {
  if (offset <= position_) return;
  // What ends transactions or explains missing records may have been skipped: the comparison begins anew.
  start_ = std::min(offset, end_);
  open_ = {};
  missing_on_ = {};
  begin_at(start_);
}

result<void> log_comparison::advance() {
  while (!done()) {
    result<void> outcome;
    if (take_equal_batches(outcome)) {
      if (!outcome) return outcome;
      continue;
    }
    both_sides<const log_item*> items;
    for (const auto side : {log_side::source, log_side::destination}) {
      auto item = cursors_[side].peek();
      if (!item) return std::move(item.error()).within(side == log_side::source ? "source" : "destination");
      items[side] = *item;
    }
    const std::int64_t known = std::min({cursors_.source.known_to(), cursors_.destination.known_to(), end_});
    std::int64_t offset = known;
    for (const auto* item : {items.source, items.destination}) {
      if (item != nullptr) offset = std::min(offset, item->offset);
    }
    if (offset >= known) {
      position_ = known;
      return {};
    }
    for (const auto side : {log_side::source, log_side::destination}) {
      if (items[side] != nullptr && items[side]->offset != offset) items[side] = nullptr;
    }
    if (auto compared = compare_at(offset, items.source, items.destination); !compared) return compared;
    for (const auto side : {log_side::source, log_side::destination}) {
      if (items[side] != nullptr) cursors_[side].pop();
    }
    position_ = offset + 1;
  }
  return {};
}

bool log_comparison::take_equal_batches(result<void>& outcome) {
  const auto* source = cursors_.source.untouched();
  const auto* destination = cursors_.destination.untouched();
  if (source == nullptr || destination == nullptr || source->header.next_offset() > end_ || !same_stored(*source, *destination)) return false;
  const wire::batch_header& header = source->header;
  if (header.is_transactional() && header.record_count > 0) pair(header.base_offset, header.producer_id, destination->header.producer_id);
  if (missing_on_.source.waits() || missing_on_.destination.waits()) {
    outcome = tell_keys(*source, header.producer_id, destination->header.producer_id);
  }
  position_ = header.next_offset();
  cursors_.source.pop_batch();
  cursors_.destination.pop_batch();
  return true;
}

result<void> log_comparison::tell_keys(const wire::stored_batch& batch, std::int64_t source_producer, std::int64_t destination_producer) {
  auto reader = wire::record_reader::open(batch);
  if (!reader) return std::move(reader.error());
  log_item item;
  item.transactional = batch.header.is_transactional();
  while (true) {
    auto record = reader->next();
    if (!record) return std::move(record.error());
    if (!*record) return {};
    item.offset = (*record)->offset;
    item.record = **record;
    item.producer_id = source_producer;
    note_record(log_side::source, item);
    item.producer_id = destination_producer;
    note_record(log_side::destination, item);
  }
}

result<void> log_comparison::compare_at(std::int64_t offset, const log_item* source, const log_item* destination) {
  const bool source_record = source != nullptr && source->kind == item_kind::record;
  const bool destination_record = destination != nullptr && destination->kind == item_kind::record;
  if (source_record && destination_record) {
    compare_records(*source, *destination);
    note_record(log_side::source, *source);
    note_record(log_side::destination, *destination);
    return {};
  }
  if (source_record || destination_record) {
    const auto has = source_record ? log_side::source : log_side::destination;
    auto told = record_on_one_side(has, source_record ? *source : *destination, source_record ? destination : source);
    if (source_record) close(nullptr, destination);
    else close(source, nullptr);
    return told;
  }
  compare_controls(offset, source, destination);
  close(source, destination);
  return {};
}

void log_comparison::compare_records(const log_item& source, const log_item& destination) {
  const auto& a = source.record;
  const auto& b = destination.record;
  const std::int64_t offset = source.offset;
  const auto report_bytes = [&](difference_kind kind, const auto& x, const auto& y) {
    auto [shown_source, shown_destination] = show_both(x, y);
    report(offset, kind, std::move(shown_source), std::move(shown_destination));
  };
  if (!same(a.key, b.key)) report_bytes(difference_kind::key, a.key, b.key);
  if (!same(a.value, b.value)) report_bytes(difference_kind::value, a.value, b.value);
  if (!same_headers(a, b)) report(offset, difference_kind::headers, show_headers(a), show_headers(b));
  if (a.timestamp != b.timestamp) report(offset, difference_kind::timestamp, std::to_string(a.timestamp), std::to_string(b.timestamp));
  if (source.transactional && destination.transactional) {
    pair(offset, source.producer_id, destination.producer_id);
  } else if (source.transactional || destination.transactional) {
    const auto told = [](const log_item& item) { return item.transactional ? "in a transaction" : "in no transaction"; };
    report(offset, difference_kind::transaction, told(source), told(destination));
  }
}

result<void> log_comparison::record_on_one_side(log_side has, const log_item& item, const log_item* instead) {
  note_record(has, item);
  if (instead != nullptr || !rules_.compacted) {
    const bool source = has == log_side::source;
    report(item.offset, difference_kind::record, source ? describe(&item) : describe(instead), source ? describe(instead) : describe(&item));
    return {};
  }
  if (!item.record.key) return {};  // the cleaner removes what has no key
  auto& missing = missing_on_[other(has)];
  const key_hash key = hash_of(*item.record.key);
  const bool expired = !item.record.value && item.record.timestamp < rules_.tombstones_expire_before[other(has)];
  if (expired) missing.supersede(key, item.offset, std::nullopt);  // before it went, it took the older ones with it
  else missing.add(key, item.offset, transaction_of(item));
  if (missing.size() > rules_.missing_max) {
    return fail(errc::limit_exceeded, fmt::format("more than {} keys are missing on one side up to offset {}: compact both sides equally far first",
                                                  rules_.missing_max, item.offset));
  }
  return {};
}

void log_comparison::note_record(log_side side, const log_item& item) {
  if (item.transactional) opened(side, item.producer_id, item.offset);
  if (missing_on_[side].waits() && item.record.key) missing_on_[side].supersede(hash_of(*item.record.key), item.offset, transaction_of(item));
}

log_comparison::open_transaction& log_comparison::opened(log_side side, std::int64_t producer_id, std::int64_t offset) {
  return open_[side].try_emplace(producer_id, open_transaction{offset, std::nullopt}).first->second;
}

void log_comparison::pair(std::int64_t offset, std::int64_t source_producer, std::int64_t destination_producer) {
  auto& source = opened(log_side::source, source_producer, offset);
  auto& destination = opened(log_side::destination, destination_producer, offset);
  if (source.partner == destination_producer && destination.partner == source_producer) return;
  if (source.partner || destination.partner) {
    report(offset, difference_kind::transaction, fmt::format("in the transaction that is open since offset {}", source.first_offset),
           fmt::format("in another transaction, open since offset {}", destination.first_offset));
    // From here on these two belong together; otherwise every further record would be told.
    if (source.partner) open_.destination[*source.partner].partner.reset();
    if (destination.partner) open_.source[*destination.partner].partner.reset();
  }
  source.partner = destination_producer;
  destination.partner = source_producer;
}

const log_comparison::open_transaction* log_comparison::ended_by(log_side side, const log_item* marker) const {
  if (marker == nullptr || !is_end(*marker)) return nullptr;
  const auto found = open_[side].find(marker->producer_id);
  return found == open_[side].end() ? nullptr : &found->second;
}

// A marker that ends nothing here is as good as filler and as good as none: the data of its transaction lies before the
// start of the comparison or was compacted away. One that ends a transaction which both sides have must be on both.
void log_comparison::compare_controls(std::int64_t offset, const log_item* source, const log_item* destination) {
  const auto* source_ended = ended_by(log_side::source, source);
  const auto* destination_ended = ended_by(log_side::destination, destination);
  const auto end_of = [](const log_item& marker, const open_transaction& t) {
    return fmt::format("{} the transaction that is open since offset {}", marker.kind == item_kind::commit ? "commits" : "aborts", t.first_offset);
  };
  const bool source_paired = source_ended != nullptr && source_ended->partner;
  const bool destination_paired = destination_ended != nullptr && destination_ended->partner;
  const bool same_transaction = source_ended != nullptr && destination_ended != nullptr &&
                                (source_paired ? source_ended->partner == destination->producer_id : !destination_paired);
  if (same_transaction) {
    if (source->kind != destination->kind) report(offset, difference_kind::outcome, std::string(outcome(*source)), std::string(outcome(*destination)));
    return;
  }
  if (!source_paired && !destination_paired) return;
  const auto told = [&](const log_item* item, const open_transaction* ended) {
    if (ended != nullptr) return end_of(*item, *ended);
    return item == nullptr ? std::string("nothing") : std::string("a marker that ends no transaction");
  };
  report(offset, difference_kind::marker, told(source, source_ended), told(destination, destination_ended));
}

void log_comparison::close(const log_item* source, const log_item* destination) {
  const both_sides<const log_item*> markers{source, destination};
  const auto each_end = [&](auto&& act) {
    for (const auto side : {log_side::source, log_side::destination}) {
      if (markers[side] != nullptr && is_end(*markers[side])) act(side, *markers[side], markers[side]->kind == item_kind::commit);
    }
  };
  each_end([&](log_side side, const log_item& marker, bool committed) { missing_on_[other(side)].held_ends(marker.producer_id, committed); });
  each_end([&](log_side side, const log_item& marker, bool committed) {
    missing_on_[side].lacking_ends(marker.producer_id, committed);
    const auto ended = open_[side].find(marker.producer_id);
    if (ended == open_[side].end()) return;
    if (const auto partner = ended->second.partner) {
      const auto found = open_[other(side)].find(*partner);
      if (found != open_[other(side)].end()) found->second.partner.reset();
    }
    open_[side].erase(ended);
  });
}

void log_comparison::finish() {
  MIRRORD_CHECK(done(), "a comparison is finished at {} of {}", position_, end_);
  const auto& source = rules_.bounds.source;
  const auto& destination = rules_.bounds.destination;
  // The source's start can have moved since a mirror looked; it follows. The other way round data is gone.
  if (destination.start > source.start) {
    report(source.start, difference_kind::log_start, fmt::format("the log begins at {}", source.start), fmt::format("the log begins at {}", destination.start));
  }
  if (destination.high_watermark > source.high_watermark) {
    report(source.high_watermark, difference_kind::log_end, fmt::format("the log ends at {}", source.high_watermark),
           fmt::format("the log ends at {}", destination.high_watermark));
  }
  compare_stable_offsets();
  for (const auto lacking : {log_side::source, log_side::destination}) {
    for (const std::int64_t offset : missing_on_[lacking].offsets()) {
      std::string missing = "missing, and no later record of its key";
      if (lacking == log_side::source) report(offset, difference_kind::record, std::move(missing), "there");
      else report(offset, difference_kind::record, "there", std::move(missing));
    }
  }
}

// read_committed consumers wait at the first offset of the oldest open transaction. A side's end is known only where it
// was compared up to there; a transaction from before the start shows as a stable offset at or below it.
void log_comparison::compare_stable_offsets() {
  both_sides<bool> waits_before_start;
  for (const auto side : {log_side::source, log_side::destination}) {
    const auto& bounds = rules_.bounds[side];
    if (bounds.high_watermark != end_) continue;
    std::int64_t expected = end_;
    for (const auto& [producer, transaction] : open_[side]) expected = std::min(expected, transaction.first_offset);
    // A leader reads its high watermark first: what ends in between makes the stable offset look too high, never too low.
    if (bounds.last_stable_offset >= expected) continue;
    if (bounds.last_stable_offset <= start_) {
      waits_before_start[side] = true;
      continue;
    }
    const auto told = [&](log_side s) {
      return s == side ? fmt::format("readers of committed data wait at {}, but the first open transaction begins at {}", bounds.last_stable_offset, expected)
                       : std::string("-");
    };
    report(bounds.last_stable_offset, difference_kind::last_stable_offset, told(log_side::source), told(log_side::destination));
  }
  if (waits_before_start.destination && rules_.bounds.source.last_stable_offset > start_) {
    report(rules_.bounds.destination.last_stable_offset, difference_kind::last_stable_offset,
           fmt::format("readers of committed data get to {}", rules_.bounds.source.last_stable_offset),
           fmt::format("they wait at {} for a transaction that is open there", rules_.bounds.destination.last_stable_offset));
  }
}

void log_comparison::report(std::int64_t offset, difference_kind kind, std::string source, std::string destination) {
  ++difference_count_;
  if (differences_.size() < rules_.differences_kept) differences_.push_back({offset, kind, std::move(source), std::move(destination)});
}

}  // namespace mirrord::core
