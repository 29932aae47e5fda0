#include "wire/record_batch.hpp"

#include "base/check.hpp"
#include "wire/batch_layout.hpp"
#include "wire/big_endian.hpp"
#include "wire/crc32c.hpp"
#include "wire/legacy_messages.hpp"
#include "wire/records.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace mirrord::wire {
namespace {

namespace at = batch_layout;

constexpr std::size_t smallest_entry(std::int8_t magic) noexcept { return magic == 2 ? batch_header_bytes : smallest_legacy_entry(magic); }

error malformed_at(std::size_t position, std::string what) { return fail(errc::malformed, fmt::format("record batch at byte {}: {}", position, what)); }

batch_header read_header(const std::byte* p) noexcept {
  return {
      .base_offset = load_big_endian<std::int64_t>(p + at::base_offset),
      .batch_length = load_big_endian<std::int32_t>(p + at::batch_length),
      .partition_leader_epoch = load_big_endian<std::int32_t>(p + at::partition_leader_epoch),
      .magic = load_big_endian<std::int8_t>(p + at::magic),
      .crc = load_big_endian<std::uint32_t>(p + at::crc),
      .attributes = load_big_endian<std::int16_t>(p + at::attributes),
      .last_offset_delta = load_big_endian<std::int32_t>(p + at::last_offset_delta),
      .base_timestamp = load_big_endian<std::int64_t>(p + at::base_timestamp),
      .max_timestamp = load_big_endian<std::int64_t>(p + at::max_timestamp),
      .producer_id = load_big_endian<std::int64_t>(p + at::producer_id),
      .producer_epoch = load_big_endian<std::int16_t>(p + at::producer_epoch),
      .base_sequence = load_big_endian<std::int32_t>(p + at::base_sequence),
      .record_count = load_big_endian<std::int32_t>(p + at::record_count),
  };
}

bool offsets_are_sane(const batch_header& h) noexcept {
  return h.base_offset >= 0 && h.last_offset_delta >= 0 && h.base_offset < std::numeric_limits<std::int64_t>::max() - h.last_offset_delta;
}

}  // namespace

result<std::optional<stored_batch>> batch_cursor::next() {
  const auto rest = records_.subspan(position_);
  if (rest.size() < at::length_prefix_bytes) return std::optional<stored_batch>{};

  // What is there of a batch that was cut off is checked like a whole one, so that garbage never passes for a cut.
  const auto length = load_big_endian<std::int32_t>(rest.data() + at::batch_length);
  const auto fewest = static_cast<std::int32_t>(smallest_entry(0) - at::length_prefix_bytes);
  if (length < fewest) return malformed_at(position_, fmt::format("length {} is below the smallest possible one", length));
  if (rest.size() <= at::magic) return std::optional<stored_batch>{};
  const auto magic = load_big_endian<std::int8_t>(rest.data() + at::magic);
  if (magic < 0 || magic > 2) return malformed_at(position_, fmt::format("unknown magic {}", magic));
  const std::size_t size = at::length_prefix_bytes + static_cast<std::size_t>(length);
  if (size < smallest_entry(magic)) return malformed_at(position_, fmt::format("length {} is below the smallest of magic {}", length, magic));
  if (rest.size() < size) return std::optional<stored_batch>{};

  stored_batch batch{{}, rest.first(size)};
  if (magic == 2) {
    batch.header = read_header(rest.data());
  } else {
    auto header = read_legacy_header(batch.bytes);
    if (!header) return std::move(header).error().within(fmt::format("record batch at byte {}", position_));
    batch.header = *header;
  }
  const auto& h = batch.header;
  if (!offsets_are_sane(h)) return malformed_at(position_, fmt::format("offset {} with last offset delta {}", h.base_offset, h.last_offset_delta));
  if (magic == 2 && h.record_count < 0) return malformed_at(position_, fmt::format("record count {}", h.record_count));
  position_ += size;
  return std::optional{batch};
}

result<void> verify_crc(const stored_batch& batch) {
  const auto& h = batch.header;
  const std::uint32_t computed = h.is_legacy() ? legacy_crc(batch.bytes) : crc32c(batch.bytes.subspan(at::attributes));
  if (computed == h.crc) return {};
  return fail(errc::malformed, fmt::format("batch at offset {}: stored checksum {:08x}, bytes have {:08x}", h.base_offset, h.crc, computed));
}

std::array<std::byte, batch_header_bytes> patched_header(const stored_batch& batch, const batch_patch& patch) {
  MIRRORD_CHECK(batch.header.magic == 2 && batch.bytes.size() >= batch_header_bytes, "magic {}, {} bytes", batch.header.magic, batch.bytes.size());
  std::array<std::byte, batch_header_bytes> patched;
  std::copy_n(batch.bytes.begin(), patched.size(), patched.begin());
  std::byte* p = patched.data();
  store_big_endian(p + at::base_offset, std::int64_t{0});
  store_big_endian(p + at::partition_leader_epoch, std::int32_t{-1});
  store_big_endian(p + at::attributes, static_cast<std::int16_t>(batch.header.attributes & ~at::delete_horizon_bit));
  store_big_endian(p + at::producer_id, patch.producer_id);
  store_big_endian(p + at::producer_epoch, patch.producer_epoch);
  store_big_endian(p + at::base_sequence, patch.base_sequence);

  const auto covered = [](const std::byte* header) { return crc32c({header + at::attributes, batch_header_bytes - at::attributes}); };
  const std::uint32_t difference = covered(batch.bytes.data()) ^ covered(p);
  store_big_endian(p + at::crc, batch.header.crc ^ crc32c_shift(difference, batch.bytes.size() - batch_header_bytes));
  return patched;
}

result<control_marker> read_control_marker(const stored_batch& batch) {
  const auto where = [&] { return fmt::format("control batch at offset {}", batch.header.base_offset); };
  if (batch.header.is_legacy() || !batch.header.is_control()) return fail(errc::malformed, where() + ": not a control batch");
  auto records = record_reader::open(batch);
  if (!records) return std::move(records).error().within(where());
  auto first = records->next();
  if (!first) return std::move(first).error().within(where());
  if (!first->has_value()) return control_marker{};

  // Key: version, type. Value of an end marker: version, coordinator epoch. Later versions only append to either.
  const record_view& record = **first;
  if (!record.key || record.key->size() < 4) return fail(errc::malformed, where() + ": key is too short");
  const auto type = load_big_endian<std::int16_t>(record.key->data() + 2);
  if (type != 0 && type != 1) return control_marker{control_type::other, -1};
  if (!record.value || record.value->size() < 6) return fail(errc::malformed, where() + ": value of an end marker is too short");
  return control_marker{type == 0 ? control_type::abort : control_type::commit, load_big_endian<std::int32_t>(record.value->data() + 2)};
}

}  // namespace mirrord::wire
