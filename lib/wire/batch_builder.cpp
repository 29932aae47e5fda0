#include "base/check.hpp"
#include "wire/batch_layout.hpp"
#include "wire/big_endian.hpp"
#include "wire/crc32c.hpp"
#include "wire/record_varint.hpp"
#include "wire/records.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

namespace mirrord::wire {
namespace {

namespace at = batch_layout;

constexpr std::size_t length_bytes_max = std::numeric_limits<std::int32_t>::max();

std::size_t nullable_bytes(const std::optional<bytes_view>& bytes) noexcept {
  return bytes ? varint_bytes(static_cast<std::int32_t>(bytes->size())) + bytes->size() : 1;
}

void put_nullable(std::vector<std::byte>& to, const std::optional<bytes_view>& bytes) {
  put_varint(to, bytes ? static_cast<std::int32_t>(bytes->size()) : -1);
  if (bytes) to.insert(to.end(), bytes->begin(), bytes->end());
}

// Wraps around where the times are far apart, as Kafka's own arithmetic does; the reader's sum undoes it.
std::int64_t wrapping_difference(std::int64_t a, std::int64_t b) noexcept {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) - static_cast<std::uint64_t>(b));
}

std::size_t body_bytes(const record_view& record, std::int64_t timestamp_delta, std::int32_t offset_delta) noexcept {
  return 1 + varint_bytes(timestamp_delta) + varint_bytes(offset_delta) + nullable_bytes(record.key) + nullable_bytes(record.value) +
         varint_bytes(record.header_count) + record.raw_headers.size();
}

}  // namespace

std::size_t batch_builder::size_with(const record_view& record) const {
  const std::int64_t timestamp_delta = empty() ? 0 : wrapping_difference(record.timestamp, base_timestamp_);
  const std::size_t body = body_bytes(record, timestamp_delta, count_);
  return size_estimate() + varint_bytes(static_cast<std::int32_t>(std::min(body, length_bytes_max))) + body;
}

void batch_builder::add(const record_view& record) {
  if (empty()) {
    first_offset_ = record.offset;
    base_timestamp_ = max_timestamp_ = record.timestamp;
  }
  MIRRORD_CHECK(record.offset == first_offset_ + count_, "offset {} after {} records from {}", record.offset, count_, first_offset_);
  const std::int64_t timestamp_delta = wrapping_difference(record.timestamp, base_timestamp_);
  const std::size_t body = body_bytes(record, timestamp_delta, count_);
  MIRRORD_CHECK(body <= length_bytes_max, "record at offset {} of {} bytes", record.offset, body);
  put_varint(records_, static_cast<std::int32_t>(body));
  records_.push_back(std::byte{0});  // record attributes, unused so far
  put_varint(records_, timestamp_delta);
  put_varint(records_, count_);
  put_nullable(records_, record.key);
  put_nullable(records_, record.value);
  put_varint(records_, record.header_count);
  records_.insert(records_.end(), record.raw_headers.begin(), record.raw_headers.end());
  max_timestamp_ = std::max(max_timestamp_, record.timestamp);
  ++count_;
}

result<std::vector<std::byte>> batch_builder::finish(const batch_patch& patch) {
  MIRRORD_CHECK(!empty(), "a batch without records");
  auto payload = compress(options_.compression, records_);
  records_.clear();
  const std::int32_t count = std::exchange(count_, 0);
  if (!payload) return std::move(payload).error();
  const std::size_t size = batch_header_bytes + payload->size();
  const std::size_t length = size - at::length_prefix_bytes;
  if (length > length_bytes_max) return fail(errc::limit_exceeded, fmt::format("batch of {} bytes", size));

  std::vector<std::byte> batch(batch_header_bytes);
  std::byte* p = batch.data();
  const int attributes = static_cast<int>(options_.compression) | (options_.transactional ? at::transactional_bit : 0);
  store_big_endian(p + at::base_offset, std::int64_t{0});
  store_big_endian(p + at::batch_length, static_cast<std::int32_t>(length));
  store_big_endian(p + at::partition_leader_epoch, std::int32_t{-1});
  store_big_endian(p + at::magic, std::int8_t{2});
  store_big_endian(p + at::attributes, static_cast<std::int16_t>(attributes));
  store_big_endian(p + at::last_offset_delta, count - 1);
  store_big_endian(p + at::base_timestamp, base_timestamp_);
  store_big_endian(p + at::max_timestamp, max_timestamp_);
  store_big_endian(p + at::producer_id, patch.producer_id);
  store_big_endian(p + at::producer_epoch, patch.producer_epoch);
  store_big_endian(p + at::base_sequence, patch.base_sequence);
  store_big_endian(p + at::record_count, count);
  batch.insert(batch.end(), payload->begin(), payload->end());
  store_big_endian(batch.data() + at::crc, crc32c(std::span(batch).subspan(at::attributes)));
  return batch;
}

}  // namespace mirrord::wire
