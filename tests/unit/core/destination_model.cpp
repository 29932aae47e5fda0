#include "tests/unit/core/destination_model.hpp"

#include "wire/records.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <stdexcept>
#include <variant>

namespace mirrord::core_tests {
namespace {

void require(bool condition, const char* what) {
  if (!condition) throw std::logic_error(std::string("the plan breaks a rule: ") + what);
}

std::string as_text(wire::bytes_view bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

std::optional<std::string> as_text(const std::optional<wire::bytes_view>& bytes) {
  if (!bytes) return std::nullopt;
  return as_text(*bytes);
}

core::slot_index lowest_free(const open_slots& open) {
  std::set<core::slot_index> taken;
  for (const auto& [producer, transaction] : open) taken.insert(transaction.slot);
  core::slot_index free = 0;
  while (taken.contains(free)) ++free;
  return free;
}

void lay_out_batch(const core::data_write& write, std::size_t batch_bytes_max, log_contents& into) {
  const bool in_slot = write.producer != core::writer_index;
  require(write.batch.bytes.size() <= batch_bytes_max, "batch above the limit");

  const auto sent_header = wire::patched_header(write.batch, {1000 + write.producer, 2, 300});
  std::vector<std::byte> sent(sent_header.begin(), sent_header.end());
  sent.insert(sent.end(), write.batch.bytes.begin() + wire::batch_header_bytes, write.batch.bytes.end());
  const auto batch = wire::batch_cursor(sent).next().value();
  require(batch.has_value(), "a batch that does not parse");
  wire::verify_crc(*batch).value();
  const wire::batch_header& header = batch->header;
  require(header.magic == 2 && !header.is_control() && !header.has_append_time() && !header.has_delete_horizon(), "attributes");
  require(header.base_offset == 0 && header.record_count > 0 && header.record_count == header.last_offset_delta + 1, "not dense from 0 on");
  require(header.is_transactional() == in_slot, "transactional in the writer, or plain in a slot");

  auto reader = wire::record_reader::open(*batch).value();
  std::int64_t records = 0;
  for (auto record = reader.next().value(); record; record = reader.next().value(), ++records) {
    require(record->offset == records, "a hole in a batch");
    occupant at{occupant_kind::data, write.producer, {write.base_offset + records, record->timestamp, as_text(record->key), as_text(record->value), {}}};
    for (const auto& h : wire::headers_of(*record)) at.record.headers.emplace_back(as_text(h.key), as_text(h.value));
    into[at.record.offset] = std::move(at);
  }
  require(records == header.record_count, "record count");
}

std::string name_of(core::slot_index producer) { return producer == core::writer_index ? "writer" : fmt::format("slot{}", producer); }

std::string text(const std::optional<std::string>& bytes) { return bytes ? fmt::format("'{}'", bytes->substr(0, 40)) : "null"; }

std::string text(const occupant& at) {
  if (at.kind == occupant_kind::filler) return "filler";
  if (at.kind != occupant_kind::data) return fmt::format("{} of slot {}", at.kind == occupant_kind::commit ? "commit" : "abort", at.producer);
  std::string all = fmt::format("{} time {} key {} value {}", name_of(at.producer), at.record.timestamp, text(at.record.key), text(at.record.value));
  for (const auto& [key, value] : at.record.headers) all += fmt::format(" [{}={}]", key, text(value));
  return all;
}

std::string text_at(const log_contents& log, std::int64_t offset) {
  const auto at = log.find(offset);
  return at == log.end() ? "nothing" : text(at->second);
}

}  // namespace

expected_log expect(const std::vector<source_batch>& source, std::int64_t start, open_slots open) {
  expected_log log{{}, std::move(open)};
  if (source.empty()) return log;
  for (std::int64_t offset = start; offset < source.back().next_offset(); ++offset) log.contents[offset] = {};
  for (const source_batch& batch : source) {
    for (const source_record& record : batch.records) {
      if (record.offset < start) continue;
      occupant at{occupant_kind::data, core::writer_index, record};
      if (batch.append_time && batch.magic > 0) at.record.timestamp = *batch.append_time;
      if (batch.magic == 0) at.record.timestamp = wire::no_timestamp;
      if (batch.transactional) {
        const auto slot = log.open.try_emplace(batch.producer_id, core::open_transaction{lowest_free(log.open), record.offset, -1, 0}).first;
        at.producer = slot->second.slot;
      }
      log.contents[record.offset] = std::move(at);
    }
    const bool ends = batch.control == control::abort || batch.control == control::commit;
    const auto ended = log.open.find(batch.producer_id);
    if (!ends || batch.base_offset < start || ended == log.open.end()) continue;
    const auto kind = batch.control == control::commit ? occupant_kind::commit : occupant_kind::abort;
    log.contents[batch.base_offset] = {kind, ended->second.slot, {}};
    log.open.erase(ended);
  }
  return log;
}

log_contents laid_out(const std::vector<core::planned_write>& plan, std::int64_t start, std::size_t batch_bytes_max) {
  log_contents log;
  std::int64_t position = start;
  for (const core::planned_write& write : plan) {
    require(core::base_offset(write) == position, "a gap or an overlap");
    require(core::next_offset(write) > position, "a write without offsets");
    position = core::next_offset(write);
    if (const auto* data = std::get_if<core::data_write>(&write)) {
      lay_out_batch(*data, batch_bytes_max, log);
    } else if (const auto* marker = std::get_if<core::marker_write>(&write)) {
      require(marker->slot >= 0, "a marker without a slot");
      log[marker->offset] = {marker->commit ? occupant_kind::commit : occupant_kind::abort, marker->slot, {}};
    } else {
      for (std::int64_t offset = core::base_offset(write); offset < position; ++offset) log[offset] = {};
    }
    require(log.rbegin()->first == position - 1, "offsets that nothing occupies");
  }
  return log;
}

std::string first_difference(const log_contents& found, const log_contents& expected) {
  std::set<std::int64_t> offsets;
  for (const auto& [offset, at] : found) offsets.insert(offset);
  for (const auto& [offset, at] : expected) offsets.insert(offset);
  for (const std::int64_t offset : offsets) {
    const auto here = found.find(offset);
    const auto there = expected.find(offset);
    if (here != found.end() && there != expected.end() && here->second == there->second) continue;
    return fmt::format("offset {}: found {}, expected {}", offset, text_at(found, offset), text_at(expected, offset));
  }
  return {};
}

std::string text(const std::vector<core::planned_write>& plan) {
  std::string line;
  for (const core::planned_write& write : plan) {
    if (!line.empty()) line += ' ';
    if (const auto* data = std::get_if<core::data_write>(&write)) {
      line += fmt::format("{}{}[{},{})", name_of(data->producer), data->owner ? "*" : "", core::base_offset(write), core::next_offset(write));
    } else if (const auto* marker = std::get_if<core::marker_write>(&write)) {
      line += fmt::format("{}{}@{}", marker->commit ? "commit" : "abort", marker->slot, marker->offset);
    } else {
      line += fmt::format("filler[{},{})", core::base_offset(write), core::next_offset(write));
    }
  }
  return line;
}

core::producer_slots slots_of(const open_slots& open) {
  core::producer_slots slots;
  for (const auto& [producer, transaction] : open) {
    require(slots.restore(source_pid{producer}, transaction), "the test opens a slot twice");
  }
  return slots;
}

open_slots open_in(const core::producer_slots& slots) {
  open_slots open;
  for (const auto& [producer, transaction] : slots.open_transactions()) open[producer.value] = transaction;
  return open;
}

bool same(const open_slots& a, const open_slots& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const auto& x, const auto& y) {
    return x.first == y.first && x.second.slot == y.second.slot && x.second.first_offset == y.second.first_offset;
  });
}

std::string planned(const stored_log& source, std::int64_t position, const open_slots& open, core::plan_limits limits) {
  core::write_planner planner(position, slots_of(open), limits);
  std::vector<core::planned_write> plan;
  for (const wire::stored_batch& batch : source.batches) {
    if (auto added = planner.add(batch, plan); !added) return fmt::format("error {}", name(added.error().code));
  }
  (void)laid_out(plan, position, limits.batch_bytes_max);
  require(plan.empty() || core::next_offset(plan.back()) == planner.position(), "the planner's position is not the plan's end");
  return text(plan);
}

}  // namespace mirrord::core_tests
