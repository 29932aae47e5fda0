#include "tests/sim/batch_bytes.hpp"

#include "base/check.hpp"
#include "wire/crc32c.hpp"
#include "wire/records.hpp"

#include <algorithm>

namespace mirrord::sim {

namespace {

using bytes = std::vector<std::byte>;

template <class T>
void big_endian(bytes& out, T value) {
  for (int shift = static_cast<int>(sizeof(T) - 1) * 8; shift >= 0; shift -= 8)
    out.push_back(static_cast<std::byte>(static_cast<std::uint64_t>(value) >> shift & 0xff));
}

void zigzag(bytes& out, std::int64_t value) {
  auto left = (static_cast<std::uint64_t>(value) << 1) ^ static_cast<std::uint64_t>(value >> 63);
  for (; left >= 0x80; left >>= 7) out.push_back(static_cast<std::byte>((left & 0x7f) | 0x80));
  out.push_back(static_cast<std::byte>(left));
}

void text(bytes& out, const std::optional<std::string>& value) {
  zigzag(out, value ? static_cast<std::int64_t>(value->size()) : -1);
  if (!value) return;
  for (const char c : *value) out.push_back(static_cast<std::byte>(c));
}

bytes one_record(const record_spec& record, std::int64_t base_timestamp) {
  bytes body(1, std::byte{0});
  zigzag(body, record.timestamp - base_timestamp);
  zigzag(body, record.offset_delta);
  text(body, record.key);
  text(body, record.value);
  zigzag(body, static_cast<std::int64_t>(record.headers.size()));
  for (const auto& [key, value] : record.headers) {
    text(body, key);
    text(body, value);
  }
  bytes whole;
  zigzag(whole, static_cast<std::int64_t>(body.size()));
  whole.insert(whole.end(), body.begin(), body.end());
  return whole;
}

std::string as_text(std::span<const std::byte> data) { return {reinterpret_cast<const char*>(data.data()), data.size()}; }

std::optional<std::string> as_text(const std::optional<wire::bytes_view>& data) {
  if (!data) return std::nullopt;
  return as_text(*data);
}

std::string int16_pair(std::int16_t first, std::int16_t second) {
  bytes out;
  big_endian(out, first);
  big_endian(out, second);
  return as_text(std::span<const std::byte>(out));
}

}  // namespace

batch_spec consecutive(std::vector<record_spec> records) {
  batch_spec spec;
  std::int32_t delta = 0;
  for (auto& record : records) record.offset_delta = delta++;
  spec.last_offset_delta = delta - 1;
  spec.records = std::move(records);
  return spec;
}

bytes encode(const batch_spec& spec) {
  std::int64_t base_timestamp = spec.records.empty() ? -1 : spec.records.front().timestamp;
  if (spec.delete_horizon) base_timestamp = *spec.delete_horizon;
  std::int64_t max_timestamp = -1;
  bytes payload;
  for (const auto& record : spec.records) {
    max_timestamp = std::max(max_timestamp, record.timestamp);
    const auto encoded = one_record(record, base_timestamp);
    payload.insert(payload.end(), encoded.begin(), encoded.end());
  }
  if (spec.append_time) max_timestamp = *spec.append_time;
  if (spec.compression != wire::codec::none && !payload.empty()) {
    auto compressed = wire::compress(spec.compression, payload);
    MIRRORD_CHECK(compressed.has_value(), "compressing a simulated batch failed");
    payload = std::move(*compressed);
  }
  auto attributes = static_cast<int>(spec.compression);
  if (spec.append_time) attributes |= 0x08;
  if (spec.transactional) attributes |= 0x10;
  if (spec.control) attributes |= 0x20;
  if (spec.delete_horizon) attributes |= 0x40;

  bytes checked;
  big_endian(checked, static_cast<std::int16_t>(attributes));
  big_endian(checked, spec.last_offset_delta);
  big_endian(checked, base_timestamp);
  big_endian(checked, max_timestamp);
  big_endian(checked, spec.producer_id);
  big_endian(checked, spec.producer_epoch);
  big_endian(checked, spec.base_sequence);
  big_endian(checked, static_cast<std::int32_t>(spec.records.size()));
  checked.insert(checked.end(), payload.begin(), payload.end());

  bytes out;
  big_endian(out, spec.base_offset);
  big_endian(out, static_cast<std::int32_t>(checked.size() + 9));
  big_endian(out, spec.leader_epoch);
  out.push_back(std::byte{2});
  big_endian(out, wire::crc32c(checked));
  out.insert(out.end(), checked.begin(), checked.end());
  return out;
}

batch_spec control_batch(std::int64_t producer_id, std::int16_t producer_epoch, std::int16_t type,
                         std::int32_t coordinator_epoch, std::int64_t timestamp) {
  record_spec marker;
  marker.key = int16_pair(0, type);
  bytes value;
  big_endian(value, std::int16_t{0});
  big_endian(value, coordinator_epoch);
  marker.value = as_text(std::span<const std::byte>(value));
  marker.timestamp = timestamp;
  auto spec = consecutive({marker});
  spec.transactional = true;
  spec.control = true;
  spec.producer_id = producer_id;
  spec.producer_epoch = producer_epoch;
  return spec;
}

void place(bytes& batch, std::int64_t base_offset, std::int32_t leader_epoch) {
  bytes first;
  big_endian(first, base_offset);
  std::copy(first.begin(), first.end(), batch.begin());
  bytes epoch;
  big_endian(epoch, leader_epoch);
  std::copy(epoch.begin(), epoch.end(), batch.begin() + 12);
}

std::optional<std::vector<record_spec>> decode(const wire::stored_batch& batch) {
  auto reader = wire::record_reader::open(batch);
  if (!reader) return std::nullopt;
  std::vector<record_spec> records;
  while (true) {
    const auto next = reader->next();
    if (!next) return std::nullopt;
    if (!*next) return records;
    const wire::record_view& view = **next;
    record_spec record;
    record.offset_delta = static_cast<std::int32_t>(view.offset - batch.header.base_offset);
    record.key = as_text(view.key);
    record.value = as_text(view.value);
    for (const auto& header : wire::headers_of(view)) record.headers.emplace_back(as_text(header.key), as_text(header.value));
    record.timestamp = view.timestamp;
    records.push_back(std::move(record));
  }
}

std::optional<wire::stored_batch> only_batch(std::span<const std::byte> data) {
  wire::batch_cursor cursor(data);
  const auto batch = cursor.next();
  if (!batch || !*batch || (*batch)->bytes.size() != data.size()) return std::nullopt;
  return **batch;
}

}  // namespace mirrord::sim
