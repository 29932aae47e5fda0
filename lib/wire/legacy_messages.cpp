#include "wire/legacy_messages.hpp"

#include "wire/big_endian.hpp"

#include <fmt/format.h>
#include <zlib.h>

#include <limits>
#include <optional>
#include <utility>

namespace mirrord::wire {
namespace {

// offset, length, CRC, magic, attributes, [timestamp in magic 1], key length, key, value length, value
constexpr std::size_t at_offset = 0;
constexpr std::size_t at_length = 8;
constexpr std::size_t length_prefix_bytes = 12;  // what the length does not count
constexpr std::size_t at_crc = 12;
constexpr std::size_t at_magic = 16;  // the CRC covers everything from here on
constexpr std::size_t at_attributes = 17;
constexpr std::size_t at_timestamp = 18;

constexpr std::size_t at_key(std::int8_t magic) noexcept { return magic == 0 ? at_timestamp : at_timestamp + 8; }

error malformed(std::int64_t offset, const char* what) { return fail(errc::malformed, fmt::format("message at offset {}: {}", offset, what)); }

// A 32-bit length and that many bytes; any negative length means null, as it does to Kafka's readers.
bool take_nullable(bytes_view& from, std::optional<bytes_view>& out) noexcept {
  if (from.size() < 4) return false;
  const auto length = load_big_endian<std::int32_t>(from.data());
  from = from.subspan(4);
  out = std::nullopt;
  if (length < 0) return true;
  if (static_cast<std::size_t>(length) > from.size()) return false;
  out = from.first(static_cast<std::size_t>(length));
  from = from.subspan(out->size());
  return true;
}

result<record_view> read_message(const batch_header& header, bytes_view bytes) {
  record_view record;
  record.offset = header.base_offset;
  record.timestamp = header.max_timestamp;
  bytes_view rest = bytes.subspan(at_key(header.magic));
  if (!take_nullable(rest, record.key) || !take_nullable(rest, record.value)) return malformed(header.base_offset, "key or value passes the message's end");
  return record;
}

// Takes the first message of a decompressed list.
result<record_view> take_inner_message(const batch_header& wrapper, bytes_view& from) {
  if (from.size() < length_prefix_bytes) return malformed(wrapper.base_offset, "inner message is cut off");
  const auto length = load_big_endian<std::int32_t>(from.data() + at_length);
  if (length < 0 || static_cast<std::size_t>(length) > from.size() - length_prefix_bytes) return malformed(wrapper.base_offset, "inner message is cut off");
  const bytes_view bytes = from.first(length_prefix_bytes + static_cast<std::size_t>(length));
  from = from.subspan(bytes.size());

  auto header = read_legacy_header(bytes);
  if (!header) return std::move(header).error().within(fmt::format("message at offset {}", wrapper.base_offset));
  if (header->compression() != codec::none) return malformed(wrapper.base_offset, "compressed message inside a compressed one");
  if (header->crc != legacy_crc(bytes)) return malformed(wrapper.base_offset, "wrong checksum of an inner message");
  if (wrapper.has_append_time() && header->magic == 1) header->max_timestamp = wrapper.max_timestamp;
  return read_message(*header, bytes);
}

// Makes relative inner offsets absolute, and refuses lists that are not in order or pass the wrapper's offset.
result<void> settle_offsets(const batch_header& wrapper, std::vector<record_view>& records) {
  std::int64_t base = 0;
  if (wrapper.magic == 1) {
    const std::int64_t last = records.back().offset;
    if (last < 0 || last > wrapper.base_offset) return malformed(wrapper.base_offset, "last inner offset out of range");
    base = wrapper.base_offset - last;
  }
  std::int64_t smallest_next = base;
  for (auto& record : records) {
    if (record.offset < 0 || record.offset > wrapper.base_offset - base) return malformed(wrapper.base_offset, "inner offset out of range");
    record.offset += base;
    if (record.offset < smallest_next) return malformed(wrapper.base_offset, "inner offsets are not in order");
    smallest_next = record.offset + 1;
  }
  return {};
}

}  // namespace

result<batch_header> read_legacy_header(std::span<const std::byte> bytes) {
  const auto magic = bytes.size() > at_magic ? load_big_endian<std::int8_t>(bytes.data() + at_magic) : std::int8_t{-1};
  if (magic != 0 && magic != 1) return fail(errc::malformed, fmt::format("message of magic {}", magic));
  if (bytes.size() < smallest_legacy_entry(magic)) return fail(errc::malformed, fmt::format("message of only {} bytes", bytes.size()));
  batch_header h;
  h.base_offset = load_big_endian<std::int64_t>(bytes.data() + at_offset);
  h.batch_length = load_big_endian<std::int32_t>(bytes.data() + at_length);
  h.magic = magic;
  h.crc = load_big_endian<std::uint32_t>(bytes.data() + at_crc);
  // Only these bits were given out before magic 2; the one of the time type came with magic 1.
  h.attributes = static_cast<std::int16_t>(load_big_endian<std::int8_t>(bytes.data() + at_attributes) & (magic == 0 ? 0x07 : 0x0f));
  if (magic == 1) h.base_timestamp = h.max_timestamp = load_big_endian<std::int64_t>(bytes.data() + at_timestamp);
  h.record_count = h.compression() == codec::none ? 1 : -1;
  return h;
}

std::uint32_t legacy_crc(std::span<const std::byte> bytes) noexcept {
  const auto covered = bytes.subspan(at_magic);
  return static_cast<std::uint32_t>(crc32_z(0, reinterpret_cast<const Bytef*>(covered.data()), covered.size()));
}

result<legacy_records> decode_legacy(const stored_batch& batch, std::size_t limit) {
  const batch_header& wrapper = batch.header;
  auto outer = read_message(wrapper, batch.bytes);
  if (!outer) return std::move(outer).error();
  legacy_records decoded;
  if (wrapper.compression() == codec::none) {
    decoded.records.push_back(*outer);
    return decoded;
  }
  if (!outer->value) return malformed(wrapper.base_offset, "compressed message without a value");

  const bool old_lz4 = wrapper.magic == 0 && wrapper.compression() == codec::lz4;
  auto plain = old_lz4 ? decompress_magic0_lz4(*outer->value, limit) : decompress(wrapper.compression(), *outer->value, limit);
  if (!plain) return std::move(plain).error().within(fmt::format("message at offset {}", wrapper.base_offset));
  decoded.decompressed = std::move(*plain);
  for (bytes_view rest = decoded.decompressed; !rest.empty();) {
    auto record = take_inner_message(wrapper, rest);
    if (!record) return std::move(record).error();
    decoded.records.push_back(*record);
  }
  if (decoded.records.empty()) return malformed(wrapper.base_offset, "compressed message without inner ones");
  if (auto settled = settle_offsets(wrapper, decoded.records); !settled) return std::move(settled).error();
  return decoded;
}

}  // namespace mirrord::wire
