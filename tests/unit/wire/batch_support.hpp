// What the tests of record batches share: golden files, the test pattern of their generators, and a printer that tells
// what our reader sees in the words in which the Java side wrote down what Kafka's reader sees.
#pragma once

#include "wire/crc32c.hpp"
#include "wire/record_batch.hpp"
#include "wire/records.hpp"

#include <catch2/catch.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

namespace mirrord::wire::test {

using bytes = std::vector<std::byte>;

inline bytes read_file(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  INFO(path.string());
  REQUIRE(in);
  const std::string text((std::istreambuf_iterator<char>(in)), {});
  const auto view = std::as_bytes(std::span(text));
  return {view.begin(), view.end()};
}

inline std::string as_text(bytes_view b) { return {reinterpret_cast<const char*>(b.data()), b.size()}; }
inline bytes_view as_view(std::string_view text) { return std::as_bytes(std::span(text)); }

inline std::filesystem::path golden_batches() { return std::filesystem::path(MIRRORD_GOLDEN_DIR) / "batches"; }

// Every golden file of record bytes, sorted by name.
inline std::vector<std::filesystem::path> golden_batch_files() {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(golden_batches())) {
    if (entry.path().extension() == ".bin") files.push_back(entry.path());
  }
  std::ranges::sort(files);
  REQUIRE(files.size() > 30);
  return files;
}

// Compressible, but not trivially; the generators make the same.
inline bytes pattern(std::size_t size) {
  bytes made(size);
  for (std::size_t i = 0; i < size; ++i) made[i] = static_cast<std::byte>(((i >> 8) * 31 + i % 61) & 0xff);
  return made;
}

inline std::string describe(const std::optional<bytes_view>& field) {
  if (!field) return "null";
  if (field->size() > 64) return fmt::format("#{}/{:08x}", field->size(), crc32c(*field));
  std::string hex;
  for (const std::byte b : *field) hex += fmt::format("{:02x}", std::to_integer<int>(b));
  return hex;
}

inline std::string describe(const record_view& record) {
  std::string headers;
  for (const auto& header : headers_of(record)) headers += (headers.empty() ? "" : ",") + describe(header.key) + ":" + describe(header.value);
  return fmt::format("record offset={} timestamp={} key={} value={} headers=[{}]\n", record.offset, record.timestamp, describe(record.key),
                     describe(record.value), headers);
}

inline std::string describe(const stored_batch& batch) {
  const auto& h = batch.header;
  std::string text = fmt::format("batch last={} size={} magic={} codec={} append_time={:d} max_timestamp={}", h.last_offset(), batch.bytes.size(), h.magic,
                                 name(h.compression()), h.has_append_time(), h.max_timestamp);
  if (!h.is_legacy()) {
    text += fmt::format(
        " base={} base_timestamp={} delete_horizon={} leader_epoch={} pid={} producer_epoch={} sequence={} transactional={:d} control={:d} count={}", h.base_offset,
        h.base_timestamp, h.has_delete_horizon() ? h.base_timestamp : -1, h.partition_leader_epoch, h.producer_id, h.producer_epoch, h.base_sequence,
        h.is_transactional(), h.is_control(), h.record_count);
  }
  return text + "\n";
}

inline std::string describe(const control_marker& marker) {
  switch (marker.type) {
    case control_type::abort: return fmt::format("marker abort {}\n", marker.coordinator_epoch);
    case control_type::commit: return fmt::format("marker commit {}\n", marker.coordinator_epoch);
    case control_type::other: return fmt::format("marker other {}\n", marker.coordinator_epoch);
    case control_type::none: break;
  }
  return "";
}

inline std::vector<stored_batch> batches_in(bytes_view records) {
  batch_cursor cursor(records);
  std::vector<stored_batch> found;
  while (auto batch = cursor.next().value()) found.push_back(*batch);
  REQUIRE(cursor.partial_tail_bytes() == 0);
  return found;
}

inline stored_batch only_batch(bytes_view records) {
  const auto found = batches_in(records);
  REQUIRE(found.size() == 1);
  return found.front();
}

// The text of a whole file, by our reader.
inline std::string describe_all(bytes_view records) {
  std::string text;
  for (const auto& batch : batches_in(records)) {
    text += describe(batch);
    REQUIRE(verify_crc(batch).has_value());
    if (batch.header.is_control()) text += describe(read_control_marker(batch).value());
    auto reader = record_reader::open(batch).value();
    while (const auto record = reader.next().value()) text += describe(*record);
  }
  return text;
}

// Reads everything that can be read in foreign bytes and returns how many records there were; errors end it.
inline std::size_t read_all_leniently(bytes_view records) {
  std::size_t count = 0;
  batch_cursor cursor(records);
  while (true) {
    const auto batch = cursor.next();
    if (!batch || !*batch) return count;
    (void)verify_crc(**batch);
    if ((*batch)->header.is_control()) (void)read_control_marker(**batch);
    auto reader = record_reader::open(**batch, std::size_t{1} << 24);
    if (!reader) continue;
    for (auto record = reader->next(); record && *record; record = reader->next()) {
      (void)headers_of(**record);
      ++count;
    }
  }
}

}  // namespace mirrord::wire::test
