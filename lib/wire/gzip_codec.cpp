// gzip members (RFC 1952), one or several in a row, as java.util.zip writes and reads them.
#include "base/check.hpp"
#include "wire/bounded_output.hpp"
#include "wire/compression_codecs.hpp"

#include <zlib.h>

#include <algorithm>

namespace mirrord::wire {
namespace {

constexpr int gzip_window_bits = 15 + 16;  // the largest window, and gzip's header and trailer instead of zlib's
constexpr std::size_t step_bytes_max = std::size_t{1} << 30;  // zlib counts in 32 bits

struct inflater {
  z_stream stream{};
  inflater() {
    const int rc = inflateInit2(&stream, gzip_window_bits);
    MIRRORD_CHECK(rc == Z_OK, "inflateInit2: {}", rc);
  }
  ~inflater() { inflateEnd(&stream); }
  inflater(const inflater&) = delete;
  inflater& operator=(const inflater&) = delete;
};

}  // namespace

result<std::vector<std::byte>> gzip_decompress(std::span<const std::byte> compressed, std::size_t limit) {
  inflater inflating;
  z_stream& z = inflating.stream;
  z.next_in = const_cast<Bytef*>(reinterpret_cast<const Bytef*>(compressed.data()));
  z.avail_in = static_cast<uInt>(compressed.size());
  bounded_output output(compressed.size(), limit);
  while (true) {
    auto room = output.room();
    room = room.first(std::min(room.size(), step_bytes_max));
    z.next_out = reinterpret_cast<Bytef*>(room.data());
    z.avail_out = static_cast<uInt>(room.size());
    const int rc = inflate(&z, Z_NO_FLUSH);
    output.produced(room.size() - z.avail_out);
    if (output.limit_passed()) return too_large("gzip", limit);
    if (rc == Z_STREAM_END) {
      if (z.avail_in == 0) return std::move(output).take();
      inflateReset(&z);
      continue;
    }
    if (rc != Z_OK && rc != Z_BUF_ERROR) return bad_stream("gzip", z.msg != nullptr ? z.msg : "corrupt");
    if (z.avail_in == 0 && z.avail_out != 0) return bad_stream("gzip", "cut off");
  }
}

std::vector<std::byte> gzip_compress(std::span<const std::byte> plain) {
  z_stream z{};
  int rc = deflateInit2(&z, Z_DEFAULT_COMPRESSION, Z_DEFLATED, gzip_window_bits, 8, Z_DEFAULT_STRATEGY);
  MIRRORD_CHECK(rc == Z_OK, "deflateInit2: {}", rc);
  std::vector<std::byte> compressed(deflateBound(&z, plain.size()));
  z.next_in = const_cast<Bytef*>(reinterpret_cast<const Bytef*>(plain.data()));
  z.avail_in = static_cast<uInt>(plain.size());
  z.next_out = reinterpret_cast<Bytef*>(compressed.data());
  z.avail_out = static_cast<uInt>(compressed.size());
  rc = deflate(&z, Z_FINISH);
  compressed.resize(compressed.size() - z.avail_out);
  deflateEnd(&z);
  MIRRORD_CHECK(rc == Z_STREAM_END, "deflate of {} bytes: {}", plain.size(), rc);
  return compressed;
}

}  // namespace mirrord::wire
