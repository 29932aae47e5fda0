#include "wire/compression.hpp"

#include "wire/compression_codecs.hpp"

#include <limits>
#include <string>

namespace mirrord::wire {

std::string_view name(codec c) noexcept {
  switch (c) {
    case codec::none: return "none";
    case codec::gzip: return "gzip";
    case codec::snappy: return "snappy";
    case codec::lz4: return "lz4";
    case codec::zstd: return "zstd";
  }
  return "unknown";
}

result<std::vector<std::byte>> decompress(codec c, std::span<const std::byte> compressed, std::size_t limit) {
  if (compressed.size() > std::numeric_limits<std::int32_t>::max()) return fail(errc::limit_exceeded, "compressed data longer than a batch can be");
  switch (c) {
    case codec::none:
      if (compressed.size() > limit) return too_large("uncompressed", limit);
      return std::vector<std::byte>(compressed.begin(), compressed.end());
    case codec::gzip: return gzip_decompress(compressed, limit);
    case codec::snappy: return snappy_decompress(compressed, limit);
    case codec::lz4: return lz4_decompress(compressed, limit);
    case codec::zstd: return zstd_decompress(compressed, limit);
  }
  return fail(errc::unsupported, "compression codec " + std::to_string(static_cast<int>(c)));
}

result<std::vector<std::byte>> decompress_magic0_lz4(std::span<const std::byte> compressed, std::size_t limit) {
  return decompress(codec::lz4, lz4_with_right_checksum(compressed), limit);
}

result<std::vector<std::byte>> compress(codec c, std::span<const std::byte> plain) {
  if (plain.size() > std::numeric_limits<std::int32_t>::max()) return fail(errc::limit_exceeded, "data longer than a batch can be");
  switch (c) {
    case codec::none: return std::vector<std::byte>(plain.begin(), plain.end());
    case codec::gzip: return gzip_compress(plain);
    case codec::snappy: return snappy_compress(plain);
    case codec::lz4: return lz4_compress(plain);
    case codec::zstd: return zstd_compress(plain);
  }
  return fail(errc::unsupported, "compression codec " + std::to_string(static_cast<int>(c)));
}

}  // namespace mirrord::wire
