#include "wire/records.hpp"

#include "base/check.hpp"
#include "wire/legacy_messages.hpp"
#include "wire/record_varint.hpp"

#include <fmt/format.h>

#include <utility>

namespace mirrord::wire {
namespace {

error malformed(const batch_header& h, const char* what) { return fail(errc::malformed, fmt::format("records of batch at offset {}: {}", h.base_offset, what)); }

std::optional<bytes_view> take_bytes(bytes_view& from, std::int64_t n) noexcept {
  if (n < 0 || static_cast<std::uint64_t>(n) > from.size()) return std::nullopt;
  const auto taken = from.first(static_cast<std::size_t>(n));
  from = from.subspan(taken.size());
  return taken;
}

// A length and that many bytes. Any negative length means null, as it does to Kafka's readers: a broker accepts such
// a record, so it can be in a log. False where the bytes end too early.
bool take_nullable(bytes_view& from, std::optional<bytes_view>& out) noexcept {
  const auto length = take_varint<std::int32_t>(from);
  if (!length) return false;
  out = *length < 0 ? std::nullopt : take_bytes(from, *length);
  return *length < 0 || out.has_value();
}

bool take_header(bytes_view& from, header_view& out) noexcept {
  const auto key_length = take_varint<std::int32_t>(from);
  if (!key_length) return false;
  const auto key = take_bytes(from, *key_length);
  if (!key) return false;
  out.key = *key;
  return take_nullable(from, out.value);
}

}  // namespace

std::vector<header_view> headers_of(const record_view& record) {
  std::vector<header_view> headers;
  bytes_view rest = record.raw_headers;
  for (std::int32_t i = 0; i < record.header_count; ++i) {
    header_view header;
    const bool whole = take_header(rest, header);
    MIRRORD_CHECK(whole, "header {} of {} in {} bytes", i, record.header_count, record.raw_headers.size());
    headers.push_back(header);
  }
  return headers;
}

std::vector<std::byte> encode_headers(std::span<const header_view> headers) {
  std::vector<std::byte> raw;
  for (const auto& header : headers) {
    put_varint(raw, static_cast<std::int32_t>(header.key.size()));
    raw.insert(raw.end(), header.key.begin(), header.key.end());
    put_varint(raw, header.value ? static_cast<std::int32_t>(header.value->size()) : -1);
    if (header.value) raw.insert(raw.end(), header.value->begin(), header.value->end());
  }
  return raw;
}

result<record_reader> record_reader::open(const stored_batch& batch, std::size_t limit) {
  record_reader reader;
  reader.header_ = batch.header;
  if (batch.header.is_legacy()) {
    auto legacy = decode_legacy(batch, limit);
    if (!legacy) return std::move(legacy).error();
    reader.decompressed_ = std::move(legacy->decompressed);
    reader.legacy_ = std::move(legacy->records);
    return reader;
  }
  reader.smallest_next_offset_ = batch.header.base_offset;
  reader.left_ = batch.header.record_count;
  // An empty batch has no payload to decompress, whatever codec its attributes still name.
  if (reader.left_ == 0) return reader;
  reader.rest_ = batch.bytes.subspan(batch_header_bytes);
  if (batch.header.compression() != codec::none) {
    auto plain = decompress(batch.header.compression(), reader.rest_, limit);
    if (!plain) return std::move(plain).error().within(fmt::format("records of batch at offset {}", batch.header.base_offset));
    reader.decompressed_ = std::move(*plain);
    reader.rest_ = reader.decompressed_;
  }
  return reader;
}

result<std::optional<record_view>> record_reader::next() {
  if (header_.is_legacy()) return next_legacy();
  if (left_ == 0) {
    if (!rest_.empty()) return malformed(header_, "bytes after the last record");
    return std::optional<record_view>{};
  }
  const auto size = take_varint<std::int32_t>(rest_);
  const auto body = size ? take_bytes(rest_, *size) : std::nullopt;
  if (!body) return malformed(header_, "record is cut off");
  bytes_view at = *body;

  // The attributes of a record have no meaning yet; producers write 0 and readers skip them.
  if (!take_bytes(at, 1)) return malformed(header_, "record without attributes");
  const auto timestamp_delta = take_varint<std::int64_t>(at);
  const auto offset_delta = timestamp_delta ? take_varint<std::int32_t>(at) : std::nullopt;
  if (!offset_delta) return malformed(header_, "record without deltas");

  record_view record;
  record.offset = header_.base_offset + *offset_delta;
  if (record.offset < smallest_next_offset_ || record.offset > header_.last_offset()) return malformed(header_, "offset delta out of order or range");
  // Deltas wrap around as they do in Kafka's own arithmetic: the sum is right even where the difference overflowed.
  record.timestamp = header_.has_append_time()
                         ? header_.max_timestamp
                         : static_cast<std::int64_t>(static_cast<std::uint64_t>(header_.base_timestamp) + static_cast<std::uint64_t>(*timestamp_delta));
  if (!take_nullable(at, record.key) || !take_nullable(at, record.value)) return malformed(header_, "key or value passes the record's end");

  const auto header_count = take_varint<std::int32_t>(at);
  if (!header_count || *header_count < 0) return malformed(header_, "bad count of headers");
  record.header_count = *header_count;
  record.raw_headers = at;
  for (std::int32_t i = 0; i < *header_count; ++i) {
    header_view header;
    if (!take_header(at, header)) return malformed(header_, "header passes the record's end");
  }
  if (!at.empty()) return malformed(header_, "bytes after the headers of a record");

  smallest_next_offset_ = record.offset + 1;
  --left_;
  return std::optional{record};
}

result<std::optional<record_view>> record_reader::next_legacy() {
  if (legacy_next_ == legacy_.size()) return std::optional<record_view>{};
  return std::optional{legacy_[legacy_next_++]};
}

}  // namespace mirrord::wire
