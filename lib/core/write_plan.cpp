#include "core/write_plan.hpp"

#include "base/check.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace mirrord::core {
namespace {

template <class... F>
struct overloaded : F... {
  using F::operator()...;
};

// A batch that a broker takes from a producer as it is: offsets without holes from the base on.
bool is_dense(const wire::batch_header& header) noexcept {
  return header.record_count > 0 && header.record_count - 1 == header.last_offset_delta;
}

}  // namespace

std::int64_t base_offset(const planned_write& write) noexcept {
  return std::visit(overloaded{[](const data_write& w) { return w.base_offset; },
                               [](const marker_write& w) { return w.offset; },
                               [](const filler_write& w) { return w.base_offset; }},
                    write);
}

std::int64_t next_offset(const planned_write& write) noexcept {
  return std::visit(overloaded{[](const data_write& w) { return w.base_offset + w.batch.header.record_count; },
                               [](const marker_write& w) { return w.offset + 1; },
                               [](const filler_write& w) { return w.base_offset + w.count; }},
                    write);
}

result<void> write_planner::add(const wire::stored_batch& batch, std::vector<planned_write>& plan) {
  const wire::batch_header& header = batch.header;
  if (header.next_offset() <= position_) return {};

  if (header.is_control()) {
    // A marker is written anew: a damaged one could turn an abort into a commit.
    if (auto intact = wire::verify_crc(batch); !intact) return intact;
    auto marker = wire::read_control_marker(batch);
    if (!marker) return std::move(marker.error());
    // The cleaner empties a control batch when nothing is left of its transaction's data. Whether that transaction is the
    // one open here or a later one of the same producer, whose predecessor's marker is gone too: the data is gone.
    if (marker->type == wire::control_type::none) note_gone(source_pid{header.producer_id});
    if (auto filled = fill_to(header.base_offset, plan); !filled) return filled;
    add_control(header, marker->type, plan);
    return fill_to(header.next_offset(), plan);
  }

  if (header.is_transactional()) {
    const source_pid producer{header.producer_id};
    const auto* open = slots_.find_open(producer);
    if (open && open->epoch >= 0 && header.producer_epoch > open->epoch) note_gone(producer);
  }
  const bool goes_on_as_it_is = !header.is_legacy() && !header.has_append_time() && is_dense(header) &&
                                header.base_offset >= position_ && batch.bytes.size() <= limits_.batch_bytes_max;
  if (!goes_on_as_it_is) return add_rebuilt(batch, plan);

  if (auto filled = fill_to(header.base_offset, plan); !filled) return filled;
  auto producer = producer_of(header, header.base_offset);
  if (!producer) return std::move(producer.error());
  plan.emplace_back(data_write{*producer, header.base_offset, batch, nullptr});
  position_ = header.next_offset();
  return {};
}

void write_planner::begin_chunk(std::int64_t asked_ms, std::int64_t source_start) {
  asked_ms_ = asked_ms;
  source_start_ = source_start;
}

void write_planner::note_data_seen(source_pid producer, std::int64_t seen_ms) {
  if (auto* open = slots_.find_open(producer)) open->seen_ms = std::max(open->seen_ms, seen_ms);
}

void write_planner::note_gone(source_pid producer) {
  auto* open = slots_.find_open(producer);
  if (open && !open->abort_due_from) open->abort_due_from = position_;
}

result<void> write_planner::fill_to(std::int64_t offset, std::vector<planned_write>& plan) {
  while (offset > position_) {
    const auto* due = slots_.find_due();
    if (!due) break;
    plan.emplace_back(marker_write{due->second.slot, position_, false});
    ++position_;
    const source_pid producer = due->first;
    slots_.close(producer);
  }
  if (offset <= position_) return {};
  const std::int64_t count = offset - position_;
  auto* last = plan.empty() ? nullptr : std::get_if<filler_write>(&plan.back());
  const std::int64_t gap = count + (last ? last->count : 0);
  if (gap > limits_.hole_fill_max) {
    return fail(errc::limit_exceeded,
                fmt::format("a gap of {} offsets from {} to {} would be filled with {:.1f} MB of markers; hole.fill.max is {}",
                            gap, offset - gap, offset, static_cast<double>(gap) * filler_bytes_per_offset / 1e6, limits_.hole_fill_max));
  }
  if (last) last->count = gap;
  else plan.emplace_back(filler_write{position_, count});
  position_ = offset;
  return {};
}

void write_planner::add_control(const wire::batch_header& header, wire::control_type type, std::vector<planned_write>& plan) {
  if (type != wire::control_type::commit && type != wire::control_type::abort) return;  // the caller fills its offsets
  // A marker whose transaction has no data here (compacted away, or before the log start) ends nothing: filler.
  const source_pid producer{header.producer_id};
  const auto* open = slots_.find_open(producer);
  if (!open) return;
  // A transaction ends under its own epoch, or under the next one: by transaction version 2, or when the coordinator
  // fences its producer. A higher one ends a later transaction, so the end of the one open here was compacted away,
  // which happens only when its data is gone.
  const bool ends_it = open->epoch < 0 || header.producer_epoch <= open->epoch + 1;
  plan.emplace_back(marker_write{open->slot, position_, ends_it && !open->abort_due_from && type == wire::control_type::commit});
  ++position_;
  slots_.close(producer);
}

result<slot_index> write_planner::producer_of(const wire::batch_header& header, std::int64_t first_offset) {
  if (!header.is_transactional()) return writer_index;
  const source_pid producer{header.producer_id};
  const slot_index slot = slots_.open(producer, first_offset);
  open_transaction& open = *slots_.find_open(producer);
  // Data must not join a transaction that has ended: an aborted record would be committed with it. Only where all of the
  // old one lies before the log start, on both sides, nobody can see the difference.
  if (open.abort_due_from && source_start_ < *open.abort_due_from) {
    return fail(errc::outcome_unknown,
                fmt::format("the transaction of source producer {} that is open here since offset {} ended before offset {}, but the source no "
                            "longer has its end; delete the destination topic, so that it is mirrored anew",
                            header.producer_id, open.first_offset, first_offset));
  }
  open.epoch = header.producer_epoch;
  open.seen_ms = std::max(open.seen_ms, asked_ms_);
  open.abort_due_from.reset();
  return slot;
}

result<void> write_planner::add_rebuilt(const wire::stored_batch& batch, std::vector<planned_write>& plan) {
  // What is built anew gets a checksum of its own: damaged bytes must not be given a good one.
  if (auto intact = wire::verify_crc(batch); !intact) return intact;
  auto reader = wire::record_reader::open(batch);
  if (!reader) return std::move(reader.error());

  std::vector<wire::record_view> run;  // consecutive offsets
  const auto flush = [&]() -> result<void> {
    if (run.empty()) return {};
    if (auto filled = fill_to(run.front().offset, plan); !filled) return filled;
    auto built = build(run, batch.header, plan);
    run.clear();
    return built;
  };
  while (true) {
    auto record = reader->next();
    if (!record) return std::move(record.error());
    if (!*record) break;
    if ((*record)->offset < position_) continue;
    if (!run.empty() && (*record)->offset != run.back().offset + 1) {
      if (auto flushed = flush(); !flushed) return flushed;
    }
    run.push_back(**record);
  }
  if (auto flushed = flush(); !flushed) return flushed;
  return fill_to(batch.header.next_offset(), plan);
}

result<void> write_planner::build(std::span<const wire::record_view> records, const wire::batch_header& from,
                                  std::vector<planned_write>& plan) {
  wire::batch_builder builder({from.compression(), from.is_transactional()});
  for (const wire::record_view& record : records) builder.add(record);
  auto bytes = builder.finish({});
  if (!bytes) return std::move(bytes.error());
  if (bytes->size() > limits_.batch_bytes_max) {
    if (records.size() == 1) {
      return fail(errc::limit_exceeded,
                  fmt::format("the record at offset {} makes a batch of {} bytes; the destination topic's max.message.bytes is {}",
                              records.front().offset, bytes->size(), limits_.batch_bytes_max));
    }
    const std::size_t half = records.size() / 2;
    if (auto first = build(records.first(half), from, plan); !first) return first;
    return build(records.subspan(half), from, plan);
  }

  auto owned = std::make_shared<const std::vector<std::byte>>(std::move(*bytes));
  auto built = wire::batch_cursor(*owned).next();
  MIRRORD_CHECK(built && *built, "a batch of {} bytes that we built does not parse", owned->size());
  const std::int64_t first_offset = records.front().offset;
  auto producer = producer_of(from, first_offset);
  if (!producer) return std::move(producer.error());
  plan.emplace_back(data_write{*producer, first_offset, **built, owned});
  position_ = first_offset + static_cast<std::int64_t>(records.size());
  return {};
}

}  // namespace mirrord::core
