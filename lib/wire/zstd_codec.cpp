// zstd frames (RFC 8878), one or several in a row, with or without content size.
//
// A frame may ask for a window of up to 128 MB, the same bound as in Kafka's own reader. The decoder reserves it before
// the data is seen, but as untouched memory: what is not decompressed into costs address space only.
#include "base/check.hpp"
#include "wire/bounded_output.hpp"
#include "wire/compression_codecs.hpp"

#include <zstd.h>

#include <memory>

namespace mirrord::wire {
namespace {

constexpr int compression_level = 3;  // the default of Kafka's producers

struct free_context {
  void operator()(ZSTD_DCtx* context) const noexcept { ZSTD_freeDCtx(context); }
};

}  // namespace

result<std::vector<std::byte>> zstd_decompress(std::span<const std::byte> compressed, std::size_t limit) {
  if (compressed.empty()) return bad_stream("zstd", "cut off");
  const std::unique_ptr<ZSTD_DCtx, free_context> context(ZSTD_createDCtx());
  MIRRORD_CHECK(context != nullptr, "no memory for a zstd context");
  ZSTD_inBuffer in{compressed.data(), compressed.size(), 0};
  bounded_output output(compressed.size(), limit);
  while (true) {
    const auto room = output.room();
    ZSTD_outBuffer out{room.data(), room.size(), 0};
    const std::size_t rc = ZSTD_decompressStream(context.get(), &out, &in);
    if (ZSTD_isError(rc) != 0) return bad_stream("zstd", ZSTD_getErrorName(rc));
    output.produced(out.pos);
    if (output.limit_passed()) return too_large("zstd", limit);
    const bool frame_ended = rc == 0;
    if (in.pos < in.size) continue;
    if (frame_ended) return std::move(output).take();
    if (out.pos < out.size) return bad_stream("zstd", "cut off");
  }
}

std::vector<std::byte> zstd_compress(std::span<const std::byte> plain) {
  std::vector<std::byte> compressed(ZSTD_compressBound(plain.size()));
  const std::size_t size = ZSTD_compress(compressed.data(), compressed.size(), plain.data(), plain.size(), compression_level);
  MIRRORD_CHECK(ZSTD_isError(size) == 0, "zstd of {} bytes: {}", plain.size(), ZSTD_getErrorName(size));
  compressed.resize(size);
  return compressed;
}

}  // namespace mirrord::wire
