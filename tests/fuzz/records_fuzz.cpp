// libFuzzer target for the walk over a fetch answer and the records of its batches. The input is the answer's record
// bytes (seeds: tests/golden/batches/*.bin). Records that were read and follow one another must survive a new batch.
//   clang++ -std=c++20 -O1 -g -fsanitize=fuzzer,address,undefined -Ilib tests/fuzz/records_fuzz.cpp
//     lib/base/{error,broker_error,check}.cpp
//     lib/wire/{batch_builder,compression,crc32c,gzip_codec,legacy_messages,lz4_codec,record_batch,records,snappy_codec,zstd_codec}.cpp
//     -lfmt -lz -llz4 -lzstd -lsnappy
#include "base/check.hpp"
#include "wire/record_batch.hpp"
#include "wire/records.hpp"

#include <algorithm>

namespace {

using namespace mirrord::wire;

constexpr std::size_t limit = 1 << 20;

bool same(const std::optional<bytes_view>& a, const std::optional<bytes_view>& b) {
  return a.has_value() == b.has_value() && (!a || std::ranges::equal(*a, *b));
}

void check_rebuilt(const std::vector<record_view>& records) {
  batch_builder builder({});
  for (const auto& record : records) builder.add(record);
  const auto bytes = builder.finish({}).value();
  const auto batch = batch_cursor(bytes).next().value().value();
  MIRRORD_CHECK(verify_crc(batch).has_value(), "{} records", records.size());
  auto reader = record_reader::open(batch).value();
  for (const auto& record : records) {
    const auto again = reader.next().value().value();
    MIRRORD_CHECK(again.timestamp == record.timestamp && same(again.key, record.key) && same(again.value, record.value), "offset {}", record.offset);
    MIRRORD_CHECK(again.header_count == record.header_count && std::ranges::equal(again.raw_headers, record.raw_headers), "offset {}", record.offset);
  }
}

void read_batch(const stored_batch& batch) {
  (void)verify_crc(batch);
  if (batch.header.is_control()) (void)read_control_marker(batch);
  if (!batch.header.is_legacy()) (void)patched_header(batch, {1, 2, 3});
  auto reader = record_reader::open(batch, limit);
  if (!reader) return;
  std::vector<record_view> records;
  bool consecutive = true;
  for (auto record = reader->next(); record && *record; record = reader->next()) {
    (void)headers_of(**record);
    if (!records.empty()) consecutive = consecutive && records.back().offset + 1 == (*record)->offset;
    MIRRORD_CHECK((*record)->offset <= batch.header.last_offset(), "{} after {}", (*record)->offset, batch.header.last_offset());
    records.push_back(**record);
  }
  if (consecutive && !records.empty()) check_rebuilt(records);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  batch_cursor cursor(std::as_bytes(std::span(data, size)));
  while (true) {
    const auto batch = cursor.next();
    if (!batch || !*batch) return 0;
    read_batch(**batch);
  }
}
