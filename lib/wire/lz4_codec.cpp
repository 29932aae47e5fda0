// LZ4 frames. Every option of the frame format is read (linked blocks, checksums, content size, several frames), since
// librdkafka and others write them; what is written is the little that Kafka's own reader takes: independent blocks of
// 64 KB, no content size, no checksum but the descriptor's.
//
// A frame names its block size (at most 4 MB), and the decoder reserves two such blocks before the data is seen.
#include "base/check.hpp"
#include "wire/bounded_output.hpp"
#include "wire/compression_codecs.hpp"

#include <lz4frame.h>

#include <bit>
#include <memory>

namespace mirrord::wire {
namespace {

struct free_context {
  void operator()(LZ4F_dctx* context) const noexcept { LZ4F_freeDecompressionContext(context); }
};

// XXH32 with seed 0 of fewer than 16 bytes, the one case that a frame descriptor needs.
std::uint32_t short_xxh32(std::span<const std::byte> bytes) noexcept {
  constexpr std::uint32_t prime1 = 0x9e3779b1;
  constexpr std::uint32_t prime2 = 0x85ebca77;
  constexpr std::uint32_t prime3 = 0xc2b2ae3d;
  constexpr std::uint32_t prime4 = 0x27d4eb2f;
  constexpr std::uint32_t prime5 = 0x165667b1;
  const auto byte_at = [&](std::size_t i) { return std::to_integer<std::uint32_t>(bytes[i]); };
  std::uint32_t hash = prime5 + static_cast<std::uint32_t>(bytes.size());
  std::size_t i = 0;
  for (; i + 4 <= bytes.size(); i += 4) {
    const std::uint32_t word = byte_at(i) | byte_at(i + 1) << 8 | byte_at(i + 2) << 16 | byte_at(i + 3) << 24;
    hash = std::rotl(hash + word * prime3, 17) * prime4;
  }
  for (; i < bytes.size(); ++i) hash = std::rotl(hash + byte_at(i) * prime5, 11) * prime1;
  hash = (hash ^ (hash >> 15)) * prime2;
  hash = (hash ^ (hash >> 13)) * prime3;
  return hash ^ (hash >> 16);
}

}  // namespace

result<std::vector<std::byte>> lz4_decompress(std::span<const std::byte> compressed, std::size_t limit) {
  if (compressed.empty()) return bad_stream("lz4", "cut off");
  LZ4F_dctx* raw = nullptr;
  const std::size_t created = LZ4F_createDecompressionContext(&raw, LZ4F_VERSION);
  MIRRORD_CHECK(LZ4F_isError(created) == 0, "lz4 context: {}", LZ4F_getErrorName(created));
  const std::unique_ptr<LZ4F_dctx, free_context> context(raw);
  bounded_output output(compressed.size(), limit);
  while (true) {
    const auto room = output.room();
    std::size_t written = room.size();
    std::size_t consumed = compressed.size();
    const std::size_t rc = LZ4F_decompress(context.get(), room.data(), &written, compressed.data(), &consumed, nullptr);
    if (LZ4F_isError(rc) != 0) return bad_stream("lz4", LZ4F_getErrorName(rc));
    output.produced(written);
    if (output.limit_passed()) return too_large("lz4", limit);
    compressed = compressed.subspan(consumed);
    const bool frame_ended = rc == 0;
    if (!compressed.empty()) continue;
    if (frame_ended) return std::move(output).take();
    if (written < room.size()) return bad_stream("lz4", "cut off");
  }
}

std::vector<std::byte> lz4_compress(std::span<const std::byte> plain) {
  LZ4F_preferences_t preferences{};
  preferences.frameInfo.blockSizeID = LZ4F_max64KB;
  preferences.frameInfo.blockMode = LZ4F_blockIndependent;
  std::vector<std::byte> compressed(LZ4F_compressFrameBound(plain.size(), &preferences));
  const std::size_t size = LZ4F_compressFrame(compressed.data(), compressed.size(), plain.data(), plain.size(), &preferences);
  MIRRORD_CHECK(LZ4F_isError(size) == 0, "lz4 of {} bytes: {}", plain.size(), LZ4F_getErrorName(size));
  compressed.resize(size);
  return compressed;
}

std::vector<std::byte> lz4_with_right_checksum(std::span<const std::byte> compressed) {
  constexpr std::size_t at_descriptor = 4;  // behind the frame's magic
  constexpr std::byte content_size_flag{0x08};
  constexpr std::byte dictionary_flag{0x01};
  std::vector<std::byte> repaired(compressed.begin(), compressed.end());
  if (repaired.size() <= at_descriptor) return repaired;
  const std::byte flags = repaired[at_descriptor];
  std::size_t size = 2;
  if ((flags & content_size_flag) != std::byte{}) size += 8;
  if ((flags & dictionary_flag) != std::byte{}) size += 4;
  if (repaired.size() <= at_descriptor + size) return repaired;
  repaired[at_descriptor + size] = static_cast<std::byte>(short_xxh32(std::span(repaired).subspan(at_descriptor, size)) >> 8 & 0xff);
  return repaired;
}

}  // namespace mirrord::wire
