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
    if (const auto open = slots_.open_transactions().find(source_pid{header.producer_id});
        marker->type == wire::control_type::none && open != slots_.open_transactions().end()) {
      return fail(errc::outcome_unknown,
                  fmt::format("the transaction of source producer {} that is open here since offset {} ended at offset {}, but compaction has "
                              "removed whether it was committed", header.producer_id, open->second.first_offset, header.base_offset));
    }
    if (auto filled = fill_to(header.base_offset, plan); !filled) return filled;
    add_control(batch, marker->type, plan);
    return fill_to(header.next_offset(), plan);
  }

  const bool goes_on_as_it_is = !header.is_legacy() && !header.has_append_time() && is_dense(header) &&
                                header.base_offset >= position_ && batch.bytes.size() <= limits_.batch_bytes_max;
  if (!goes_on_as_it_is) return add_rebuilt(batch, plan);

  if (auto filled = fill_to(header.base_offset, plan); !filled) return filled;
  plan.emplace_back(data_write{producer_of(header, header.base_offset), header.base_offset, batch, nullptr});
  position_ = header.next_offset();
  return {};
}

result<void> write_planner::fill_to(std::int64_t offset, std::vector<planned_write>& plan) {
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

void write_planner::add_control(const wire::stored_batch& batch, wire::control_type type, std::vector<planned_write>& plan) {
  if (type != wire::control_type::commit && type != wire::control_type::abort) return;  // the caller fills its offsets
  // A marker whose transaction has no data here (compacted away, or before the log start) ends nothing: filler.
  const auto slot = slots_.close(source_pid{batch.header.producer_id});
  if (!slot) return;
  plan.emplace_back(marker_write{*slot, position_, type == wire::control_type::commit});
  ++position_;
}

slot_index write_planner::producer_of(const wire::batch_header& header, std::int64_t first_offset) {
  return header.is_transactional() ? slots_.open(source_pid{header.producer_id}, first_offset) : writer_index;
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
  plan.emplace_back(data_write{producer_of(from, first_offset), first_offset, **built, owned});
  position_ = first_offset + static_cast<std::int64_t>(records.size());
  return {};
}

}  // namespace mirrord::core
