#include "core/last_record.hpp"

#include "core/log_cursor.hpp"

#include <algorithm>

namespace mirrord::core {
namespace {

bool same_bytes(wire::bytes_view a, wire::bytes_view b) { return std::ranges::equal(a, b); }

bool same_bytes(const std::optional<wire::bytes_view>& a, const std::optional<wire::bytes_view>& b) {
  return a.has_value() == b.has_value() && (!a || same_bytes(*a, *b));
}

std::string difference_of(const wire::record_view& source, const wire::record_view& destination) {
  if (!same_bytes(source.key, destination.key)) return "the record's key differs";
  if (!same_bytes(source.value, destination.value)) return "the record's value differs";
  if (source.header_count != destination.header_count || !same_bytes(source.raw_headers, destination.raw_headers)) return "the record's headers differ";
  if (source.timestamp != destination.timestamp) return "the record's timestamp differs";
  return {};
}

// The batch that holds the offset, into the cursor.
result<void> open(log_cursor& cursor, std::int64_t offset, std::span<const std::byte> records) {
  wire::batch_cursor batches(records);
  auto first = batches.next();
  if (!first) return std::move(first.error());
  if (*first && (*first)->header.base_offset <= offset && (*first)->header.next_offset() > offset) cursor.push(**first, nullptr);
  return {};
}

}  // namespace

result<std::string> compare_at(std::int64_t offset, std::span<const std::byte> source_records, std::span<const std::byte> destination_records) {
  log_cursor source(offset);
  log_cursor destination(offset);
  if (auto opened = open(source, offset, source_records); !opened) return std::move(opened.error());
  if (auto opened = open(destination, offset, destination_records); !opened) return std::move(opened.error());
  auto there = source.peek();
  if (!there) return std::move(there.error());
  auto here = destination.peek();
  if (!here) return std::move(here.error());
  const log_item* original = *there && (*there)->offset == offset ? *there : nullptr;
  const log_item* copy = *here && (*here)->offset == offset ? *here : nullptr;
  if (!copy || !original) return std::string{};
  const bool is_record = copy->kind == item_kind::record;
  if (is_record != (original->kind == item_kind::record)) {
    return std::string(is_record ? "it holds a record, the source a control batch" : "it holds a control batch, the source a record");
  }
  return is_record ? difference_of(original->record, copy->record) : std::string{};
}

}  // namespace mirrord::core
