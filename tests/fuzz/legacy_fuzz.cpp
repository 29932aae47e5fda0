// libFuzzer target for messages of magic 0 and 1 inside a compressed wrapper. The first byte chooses magic, codec and
// time type of the wrapper, the rest is the list of messages, so that the fuzzer need not learn to compress.
//   clang++ -std=c++20 -O1 -g -fsanitize=fuzzer,address,undefined -Ilib tests/fuzz/legacy_fuzz.cpp
//     lib/base/{error,broker_error,check}.cpp
//     lib/wire/{compression,gzip_codec,legacy_messages,lz4_codec,snappy_codec,zstd_codec}.cpp
//     -lfmt -lz -llz4 -lzstd -lsnappy
#include "base/check.hpp"
#include "wire/big_endian.hpp"
#include "wire/legacy_messages.hpp"

namespace {

using namespace mirrord::wire;

constexpr std::int64_t wrapper_offset = 1'000'000;

// Makes every inner checksum right where the list allows it: no fuzzer finds a CRC by chance.
void repair_checksums(std::vector<std::byte>& list) {
  for (std::size_t at = 0; list.size() - at >= 17;) {
    const auto length = load_big_endian<std::int32_t>(list.data() + at + 8);
    if (length < 5 || static_cast<std::size_t>(length) > list.size() - at - 12) return;
    const std::size_t size = 12 + static_cast<std::size_t>(length);
    store_big_endian(list.data() + at + 12, legacy_crc(std::span(list).subspan(at, size)));
    at += size;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 1) return 0;
  const auto magic = static_cast<std::int8_t>(data[0] & 1);
  const auto c = static_cast<codec>((data[0] >> 1) % 5);
  const auto input = std::as_bytes(std::span(data + 1, size - 1));
  std::vector<std::byte> list(input.begin(), input.end());
  repair_checksums(list);

  const auto value = compress(c, list).value();
  std::vector<std::byte> wrapper(magic == 0 ? 18 : 26);
  store_big_endian(wrapper.data(), wrapper_offset);
  store_big_endian(wrapper.data() + 16, magic);
  store_big_endian(wrapper.data() + 17, static_cast<std::int8_t>(static_cast<int>(c) | ((data[0] & 0x80) != 0 ? 8 : 0)));
  wrapper.resize(wrapper.size() + 8);
  store_big_endian(wrapper.data() + wrapper.size() - 8, std::int32_t{-1});
  store_big_endian(wrapper.data() + wrapper.size() - 4, static_cast<std::int32_t>(value.size()));
  wrapper.insert(wrapper.end(), value.begin(), value.end());
  store_big_endian(wrapper.data() + 8, static_cast<std::int32_t>(wrapper.size() - 12));

  const auto header = read_legacy_header(wrapper).value();
  const auto decoded = decode_legacy({header, wrapper}, 1 << 20);
  if (!decoded) return 0;
  std::int64_t smallest_next = 0;
  for (const auto& record : decoded->records) {
    MIRRORD_CHECK(record.offset >= smallest_next && record.offset <= wrapper_offset, "{} after {}", record.offset, smallest_next - 1);
    smallest_next = record.offset + 1;
  }
  return 0;
}
