// libFuzzer target for the decompressors: the first byte chooses the codec, the rest is the stream (seeds: the files of
// tests/golden/batches/streams behind such a byte). What decompresses must survive compression once more.
//   clang++ -std=c++20 -O1 -g -fsanitize=fuzzer,address,undefined -Ilib tests/fuzz/compression_fuzz.cpp
//     lib/base/{error,broker_error,check}.cpp lib/wire/{compression,gzip_codec,lz4_codec,snappy_codec,zstd_codec}.cpp
//     -lfmt -lz -llz4 -lzstd -lsnappy
#include "base/check.hpp"
#include "wire/compression.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace mirrord::wire;
  constexpr std::size_t limit = 1 << 20;
  if (size < 1) return 0;
  const auto c = static_cast<codec>(data[0] % 5);
  const auto stream = std::as_bytes(std::span(data + 1, size - 1));
  if (c == codec::lz4) (void)decompress_magic0_lz4(stream, limit);
  const auto plain = decompress(c, stream, limit);
  if (!plain) return 0;
  MIRRORD_CHECK(plain->size() <= limit, "{} bytes", plain->size());
  const auto again = decompress(c, compress(c, *plain).value(), plain->size());
  MIRRORD_CHECK(again.has_value() && *again == *plain, "{} of {} bytes", name(c), plain->size());
  return 0;
}
