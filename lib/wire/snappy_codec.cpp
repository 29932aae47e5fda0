// Snappy in the two framings that are found in Kafka logs: a single raw block (librdkafka and others), and the chunks of
// snappy-java (also called xerial): a magic, two version numbers, then blocks of 32 KB, each with a 32-bit length before it.
// Both are read; the second is written, because every Kafka client reads it.
#include "wire/big_endian.hpp"
#include "wire/compression_codecs.hpp"

#include <snappy.h>

#include <algorithm>
#include <array>

namespace mirrord::wire {
namespace {

constexpr std::array<std::uint8_t, 8> chunked_magic{0x82, 'S', 'N', 'A', 'P', 'P', 'Y', 0};
constexpr std::size_t chunked_header_bytes = 16;
constexpr std::int32_t chunked_version = 1;
constexpr std::size_t block_bytes = 32 * 1024;

// The densest element is a copy: three bytes that stand for 64.
constexpr std::size_t most_expansion = 22;

const char* chars(std::span<const std::byte> bytes) noexcept { return reinterpret_cast<const char*>(bytes.data()); }

bool starts_with_magic(std::span<const std::byte> bytes) noexcept {
  return bytes.size() >= chunked_header_bytes && std::ranges::equal(bytes.first(chunked_magic.size()), std::as_bytes(std::span(chunked_magic)));
}

result<void> append_block(std::span<const std::byte> block, std::size_t limit, std::vector<std::byte>& out) {
  std::size_t size = 0;
  if (!snappy::GetUncompressedLength(chars(block), block.size(), &size)) return bad_stream("snappy", "block without a length");
  if (size > block.size() * most_expansion) return bad_stream("snappy", "claimed length is beyond what the block can hold");
  if (size > limit - out.size()) return too_large("snappy", limit);
  const std::size_t before = out.size();
  out.resize(before + size);
  if (!snappy::RawUncompress(chars(block), block.size(), reinterpret_cast<char*>(out.data() + before))) return bad_stream("snappy", "corrupt block");
  return {};
}

}  // namespace

result<std::vector<std::byte>> snappy_decompress(std::span<const std::byte> compressed, std::size_t limit) {
  std::vector<std::byte> out;
  if (!starts_with_magic(compressed)) {
    if (auto done = append_block(compressed, limit, out); !done) return std::move(done).error();
    return out;
  }
  while (!compressed.empty()) {
    // Streams that were joined have the magic again in the middle.
    if (starts_with_magic(compressed)) {
      compressed = compressed.subspan(chunked_header_bytes);
      continue;
    }
    if (compressed.size() < 4) return bad_stream("snappy", "cut off");
    const auto length = load_big_endian<std::int32_t>(compressed.data());
    compressed = compressed.subspan(4);
    if (length < 0 || static_cast<std::size_t>(length) > compressed.size()) return bad_stream("snappy", "cut off");
    const auto block = compressed.first(static_cast<std::size_t>(length));
    compressed = compressed.subspan(block.size());
    if (auto done = append_block(block, limit, out); !done) return std::move(done).error();
  }
  return out;
}

std::vector<std::byte> snappy_compress(std::span<const std::byte> plain) {
  std::vector<std::byte> out(chunked_header_bytes);
  std::ranges::copy(std::as_bytes(std::span(chunked_magic)), out.begin());
  store_big_endian(out.data() + 8, chunked_version);
  store_big_endian(out.data() + 12, chunked_version);  // the oldest version that can read it
  while (!plain.empty()) {
    const auto block = plain.first(std::min(block_bytes, plain.size()));
    plain = plain.subspan(block.size());
    const std::size_t before = out.size();
    out.resize(before + 4 + snappy::MaxCompressedLength(block.size()));
    std::size_t size = 0;
    snappy::RawCompress(chars(block), block.size(), reinterpret_cast<char*>(out.data() + before + 4), &size);
    store_big_endian(out.data() + before, static_cast<std::int32_t>(size));
    out.resize(before + 4 + size);
  }
  return out;
}

}  // namespace mirrord::wire
