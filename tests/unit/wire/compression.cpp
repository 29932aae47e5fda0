#include "wire/compression.hpp"

#include "batch_support.hpp"
#include "wire/big_endian.hpp"

#include <map>
#include <random>

namespace mirrord::wire {
namespace {

using namespace test;

constexpr codec all_codecs[] = {codec::gzip, codec::snappy, codec::lz4, codec::zstd};
constexpr std::size_t no_limit = std::numeric_limits<std::size_t>::max();

struct stream_file {
  std::filesystem::path path;
  codec c;
  std::size_t plain_size;
};

// The streams of other encoders: <codec>_<what>.<size>.
std::vector<stream_file> foreign_streams() {
  const std::map<std::string, codec> codecs{{"gzip", codec::gzip}, {"snappy", codec::snappy}, {"lz4", codec::lz4}, {"zstd", codec::zstd}};
  std::vector<stream_file> files;
  for (const auto& entry : std::filesystem::directory_iterator(golden_batches() / "streams")) {
    const auto file = entry.path().filename().string();
    files.push_back({entry.path(), codecs.at(file.substr(0, file.find('_'))), std::stoul(file.substr(file.find('.') + 1))});
  }
  REQUIRE(files.size() > 10);
  return files;
}

bytes random_bytes(std::size_t size) {
  std::mt19937_64 random(size);
  bytes made(size);
  for (auto& b : made) b = static_cast<std::byte>(random());
  return made;
}

TEST_CASE("what a codec compresses it decompresses, at every size that matters") {
  for (const std::size_t size : {0, 1, 10, 31'000, 32'768, 33'000, 65'536, 200'000, 5'000'000}) {
    for (const bool compressible : {true, false}) {
      const auto plain = compressible ? pattern(size) : random_bytes(size);
      for (const codec c : all_codecs) {
        INFO(name(c) << " " << size << (compressible ? " pattern" : " random"));
        const auto compressed = compress(c, plain).value();
        if (compressible && size >= 31'000) CHECK(compressed.size() < size / 3);
        CHECK(decompress(c, compressed, size).value() == plain);
        if (size > 0) CHECK(decompress(c, compressed, size - 1).error().code == errc::limit_exceeded);
      }
    }
  }
}

TEST_CASE("streams of other encoders are read: linked blocks, checksums, members, frames, windows") {
  for (const auto& file : foreign_streams()) {
    INFO(file.path);
    const auto compressed = read_file(file.path);
    const auto plain = decompress(file.c, compressed, file.plain_size);
    REQUIRE(plain.has_value());
    CHECK(*plain == pattern(file.plain_size));
    CHECK(decompress(file.c, compressed, file.plain_size - 1).error().code == errc::limit_exceeded);
  }
}

TEST_CASE("a stream cut at any byte is malformed, or shorter where a frame ended there") {
  const auto cut_everywhere = [](codec c, const bytes& compressed, std::size_t plain_size) {
    const std::size_t step = 1 + compressed.size() / 700;
    for (std::size_t size = 0; size < compressed.size(); size += size < 100 || size + 100 > compressed.size() ? 1 : step) {
      const auto plain = decompress(c, std::span(compressed).first(size), no_limit);
      if (plain ? plain->size() >= plain_size : plain.error().code != errc::malformed) FAIL(name(c) << " cut at " << size << " of " << compressed.size());
    }
  };
  for (const auto& file : foreign_streams()) cut_everywhere(file.c, read_file(file.path), file.plain_size);
  for (const codec c : all_codecs) cut_everywhere(c, compress(c, pattern(70'000)).value(), 70'000);
}

TEST_CASE("bytes that are no stream are malformed") {
  const auto noise = random_bytes(500);
  for (const codec c : all_codecs) {
    INFO(name(c));
    CHECK(decompress(c, {}, no_limit).error().code == errc::malformed);
    CHECK(decompress(c, noise, no_limit).error().code == errc::malformed);
    auto trailing = compress(c, pattern(1000)).value();
    trailing.insert(trailing.end(), noise.begin(), noise.end());
    CHECK(decompress(c, trailing, no_limit).error().code == errc::malformed);
  }
}

TEST_CASE("a claimed size is not believed") {
  // Snappy: a length of 4 GB - 1 before three bytes, bare and in a chunk.
  bytes claimed{std::byte{0xff}, std::byte{0xff}, std::byte{0xff}, std::byte{0xff}, std::byte{0x0f}, std::byte{0}, std::byte{1}, std::byte{2}};
  CHECK(decompress(codec::snappy, claimed, no_limit).error().code == errc::malformed);
  auto chunked = compress(codec::snappy, {}).value();
  chunked.resize(chunked.size() + 4);
  store_big_endian(chunked.data() + 16, static_cast<std::int32_t>(claimed.size()));
  chunked.insert(chunked.end(), claimed.begin(), claimed.end());
  CHECK(decompress(codec::snappy, chunked, no_limit).error().code == errc::malformed);
  store_big_endian(chunked.data() + 16, std::numeric_limits<std::int32_t>::max());
  CHECK(decompress(codec::snappy, chunked, no_limit).error().code == errc::malformed);

  // zstd: a single segment with a content size of 2^62.
  bytes frame{std::byte{0x28}, std::byte{0xb5}, std::byte{0x2f}, std::byte{0xfd}, std::byte{0xe0}};
  frame.resize(13);
  frame[12] = std::byte{0x40};
  frame.resize(20);
  CHECK(decompress(codec::zstd, frame, no_limit).error().code == errc::malformed);
}

TEST_CASE("a bomb ends at the limit") {
  const bytes zeros(20'000'000);
  for (const codec c : all_codecs) {
    INFO(name(c));
    const auto bomb = compress(c, zeros).value();
    CHECK(decompress(c, bomb, 1'000'000).error().code == errc::limit_exceeded);
  }
}

TEST_CASE("our lz4 frame is of the kind that the broker's reader takes") {
  const auto frame = compress(codec::lz4, pattern(200'000)).value();
  // Version 1, independent blocks, no checksums, no content size; blocks of 64 KB.
  CHECK(std::to_integer<int>(frame[4]) == 0x60);
  CHECK(std::to_integer<int>(frame[5]) == 0x40);
}

TEST_CASE("codecs have names, and codec numbers that are not given out are refused") {
  CHECK(name(codec::none) == "none");
  CHECK(name(codec::zstd) == "zstd");
  CHECK(name(static_cast<codec>(6)) == "unknown");
  CHECK(decompress(static_cast<codec>(6), pattern(10), 100).error().code == errc::unsupported);
  CHECK(compress(static_cast<codec>(6), pattern(10)).error().code == errc::unsupported);
  CHECK(decompress(codec::none, pattern(10), 10).value() == pattern(10));
  CHECK(decompress(codec::none, pattern(10), 9).error().code == errc::limit_exceeded);
}

}  // namespace
}  // namespace mirrord::wire
