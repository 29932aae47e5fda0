// One pair of functions per codec, called by compression.cpp alone; see compression.hpp for what they guarantee.
#pragma once

#include "base/error.hpp"

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace mirrord::wire {

[[nodiscard]] result<std::vector<std::byte>> gzip_decompress(std::span<const std::byte> compressed, std::size_t limit);
[[nodiscard]] std::vector<std::byte> gzip_compress(std::span<const std::byte> plain);

[[nodiscard]] result<std::vector<std::byte>> snappy_decompress(std::span<const std::byte> compressed, std::size_t limit);
[[nodiscard]] std::vector<std::byte> snappy_compress(std::span<const std::byte> plain);

[[nodiscard]] result<std::vector<std::byte>> lz4_decompress(std::span<const std::byte> compressed, std::size_t limit);
[[nodiscard]] std::vector<std::byte> lz4_compress(std::span<const std::byte> plain);
// The frames with the descriptor checksum of the first one made right (KAFKA-3160).
[[nodiscard]] std::vector<std::byte> lz4_with_right_checksum(std::span<const std::byte> compressed);

[[nodiscard]] result<std::vector<std::byte>> zstd_decompress(std::span<const std::byte> compressed, std::size_t limit);
[[nodiscard]] std::vector<std::byte> zstd_compress(std::span<const std::byte> plain);

// The two ways in which foreign input fails.
[[nodiscard]] inline error bad_stream(const char* codec_name, const char* what) {
  return fail(errc::malformed, std::string(codec_name) + ": " + what);
}
[[nodiscard]] inline error too_large(const char* codec_name, std::size_t limit) {
  return fail(errc::limit_exceeded, std::string(codec_name) + ": more than " + std::to_string(limit) + " bytes when decompressed");
}

}  // namespace mirrord::wire
