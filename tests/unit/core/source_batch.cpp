#include "tests/unit/core/source_batch.hpp"

#include "wire/crc32c.hpp"
#include "wire/legacy_messages.hpp"

#include <algorithm>
#include <stdexcept>
#include <string_view>
#include <type_traits>

namespace mirrord::core_tests {
namespace {

using bytes = std::vector<std::byte>;

template <class T>
void put(bytes& to, T value) {
  for (int shift = 8 * (static_cast<int>(sizeof(T)) - 1); shift >= 0; shift -= 8) {
    to.push_back(static_cast<std::byte>((static_cast<std::make_unsigned_t<T>>(value) >> shift) & 0xff));
  }
}

template <class T>
void put_at(bytes& to, std::size_t at, T value) {
  bytes raw;
  put(raw, value);
  std::copy(raw.begin(), raw.end(), to.begin() + static_cast<std::ptrdiff_t>(at));
}

void put_zigzag(bytes& to, std::int64_t value) {
  auto bits = (static_cast<std::uint64_t>(value) << 1) ^ static_cast<std::uint64_t>(value >> 63);
  for (; bits >= 0x80; bits >>= 7) to.push_back(static_cast<std::byte>((bits & 0x7f) | 0x80));
  to.push_back(static_cast<std::byte>(bits));
}

void put_text(bytes& to, std::string_view text) {
  for (const char c : text) to.push_back(static_cast<std::byte>(c));
}

void put_nullable(bytes& to, const std::optional<std::string>& text) {
  put_zigzag(to, text ? static_cast<std::int64_t>(text->size()) : -1);
  if (text) put_text(to, *text);
}

std::int64_t difference(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) - static_cast<std::uint64_t>(b));
}

void put_record(bytes& to, const source_record& record, std::int64_t base_offset, std::int64_t base_timestamp) {
  bytes body{std::byte{0}};
  put_zigzag(body, difference(record.timestamp, base_timestamp));
  put_zigzag(body, record.offset - base_offset);
  put_nullable(body, record.key);
  put_nullable(body, record.value);
  put_zigzag(body, static_cast<std::int64_t>(record.headers.size()));
  for (const auto& [key, value] : record.headers) {
    put_zigzag(body, static_cast<std::int64_t>(key.size()));
    put_text(body, key);
    put_nullable(body, value);
  }
  put_zigzag(to, static_cast<std::int64_t>(body.size()));
  to.insert(to.end(), body.begin(), body.end());
}

std::vector<source_record> control_records(const source_batch& batch) {
  if (batch.control == control::none || batch.control == control::emptied) return batch.records;
  // Key: version, type. Value: version, coordinator epoch.
  const char type = batch.control == control::abort ? 0 : batch.control == control::commit ? 1 : 5;
  source_record record;
  record.offset = batch.base_offset;
  record.timestamp = 1'700'000'000'000;
  record.key = std::string("\0\0\0", 3) + type;
  record.value = std::string("\0\0\0\0\0\x03", 6);
  return {record};
}

bytes encode_current(const source_batch& batch) {
  const std::vector<source_record> records = control_records(batch);
  std::int64_t base_timestamp = records.empty() ? -1 : records.front().timestamp;
  if (batch.delete_horizon) base_timestamp = *batch.delete_horizon;
  std::int64_t max_timestamp = -1;
  for (const source_record& record : records) max_timestamp = std::max(max_timestamp, record.timestamp);
  if (batch.append_time) max_timestamp = *batch.append_time;

  bytes plain;
  for (const source_record& record : records) put_record(plain, record, batch.base_offset, base_timestamp);
  // Codecs that are not given out leave the records plain: no reader gets that far.
  const bool known_codec = batch.compression <= wire::codec::zstd;
  const bytes payload = records.empty() ? bytes{} : known_codec ? wire::compress(batch.compression, plain).value() : plain;

  int attributes = static_cast<int>(batch.compression);
  if (batch.append_time) attributes |= 0x08;
  if (batch.transactional) attributes |= 0x10;
  if (batch.control != control::none) attributes |= 0x20;
  if (batch.delete_horizon) attributes |= 0x40;

  bytes out;
  put(out, batch.base_offset);
  put(out, static_cast<std::int32_t>(wire::batch_header_bytes - 12 + payload.size()));
  put(out, std::int32_t{4});  // leader epoch
  put(out, std::int8_t{2});
  put(out, std::uint32_t{0});  // CRC, below
  put(out, static_cast<std::int16_t>(attributes));
  put(out, static_cast<std::int32_t>(batch.last_offset - batch.base_offset));
  put(out, base_timestamp);
  put(out, max_timestamp);
  put(out, batch.producer_id);
  put(out, batch.producer_id < 0 ? std::int16_t{-1} : batch.producer_epoch);
  put(out, batch.producer_id < 0 || batch.control != control::none ? std::int32_t{-1} : std::int32_t{100});
  put(out, static_cast<std::int32_t>(records.size()));
  out.insert(out.end(), payload.begin(), payload.end());
  put_at(out, 17, wire::crc32c(std::span(out).subspan(21)));
  return out;
}

bytes encode_message(std::int8_t magic, std::int64_t offset, int attributes, std::int64_t timestamp,
                     const std::optional<std::string>& key, const std::optional<std::string>& value) {
  bytes out;
  put(out, offset);
  put(out, std::int32_t{0});   // length, below
  put(out, std::uint32_t{0});  // CRC, below
  put(out, magic);
  put(out, static_cast<std::int8_t>(attributes));
  if (magic == 1) put(out, timestamp);
  for (const auto& text : {key, value}) {
    put(out, text ? static_cast<std::int32_t>(text->size()) : std::int32_t{-1});
    if (text) put_text(out, *text);
  }
  put_at(out, 8, static_cast<std::int32_t>(out.size() - 12));
  put_at(out, 12, wire::legacy_crc(out));
  return out;
}

bytes encode_legacy(const source_batch& batch) {
  const source_record& last = batch.records.back();
  const int time_type = batch.append_time && batch.magic == 1 ? 0x08 : 0;
  if (batch.compression == wire::codec::none) {
    return encode_message(batch.magic, last.offset, time_type, batch.append_time.value_or(last.timestamp), last.key, last.value);
  }
  bytes inner;
  for (const source_record& record : batch.records) {
    const std::int64_t offset = batch.magic == 1 ? record.offset - batch.base_offset : record.offset;
    const bytes message = encode_message(batch.magic, offset, 0, record.timestamp, record.key, record.value);
    inner.insert(inner.end(), message.begin(), message.end());
  }
  const bytes payload = wire::compress(batch.compression, inner).value();
  const std::string value(reinterpret_cast<const char*>(payload.data()), payload.size());
  return encode_message(batch.magic, last.offset, static_cast<int>(batch.compression) | time_type,
                        batch.append_time.value_or(last.timestamp), std::nullopt, value);
}

}  // namespace

source_batch batch_of(std::int64_t base, std::int64_t last, const std::vector<std::int64_t>& offsets) {
  source_batch batch;
  batch.base_offset = base;
  batch.last_offset = last;
  for (const std::int64_t offset : offsets) {
    batch.records.push_back({offset, 1'700'000'000'000 + 7 * (offset % 1'000'000), "key " + std::to_string(offset), "value " + std::to_string(offset), {}});
  }
  return batch;
}

source_batch dense_batch(std::int64_t base, std::int64_t last) {
  std::vector<std::int64_t> offsets;
  for (std::int64_t offset = base; offset <= last; ++offset) offsets.push_back(offset);
  return batch_of(base, last, offsets);
}

source_batch transactional(source_batch batch, std::int64_t producer_id) {
  batch.transactional = true;
  batch.producer_id = producer_id;
  return batch;
}

source_batch compressed(source_batch batch, wire::codec compression) {
  batch.compression = compression;
  return batch;
}

source_batch control_batch(std::int64_t offset, std::int64_t producer_id, control what) {
  source_batch batch;
  batch.base_offset = batch.last_offset = offset;
  batch.producer_id = producer_id;
  batch.transactional = true;
  batch.control = what;
  return batch;
}

source_batch legacy(source_batch batch, std::int8_t magic) {
  batch.magic = magic;
  for (source_record& record : batch.records) record.headers.clear();
  return batch;
}

std::vector<std::byte> encode(const source_batch& batch) { return batch.magic == 2 ? encode_current(batch) : encode_legacy(batch); }

stored_log store(const std::vector<source_batch>& batches) {
  stored_log log;
  for (const source_batch& batch : batches) {
    const bytes encoded = encode(batch);
    log.bytes.insert(log.bytes.end(), encoded.begin(), encoded.end());
  }
  wire::batch_cursor cursor(log.bytes);
  for (auto batch = cursor.next().value(); batch; batch = cursor.next().value()) log.batches.push_back(*batch);
  if (log.batches.size() != batches.size() || cursor.partial_tail_bytes() != 0) throw std::logic_error("the test's own batches do not parse");
  return log;
}

}  // namespace mirrord::core_tests
