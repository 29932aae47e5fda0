#include "batch_support.hpp"
#include "wire/big_endian.hpp"

#include <random>

namespace mirrord::wire {
namespace {

using namespace test;

// The batch under its patched header, as a broker receives it.
bytes patched(const stored_batch& batch, const batch_patch& patch) {
  const auto header = patched_header(batch, patch);
  bytes sent(header.begin(), header.end());
  sent.insert(sent.end(), batch.bytes.begin() + batch_header_bytes, batch.bytes.end());
  return sent;
}

TEST_CASE("a patched header has the checksum that a pass over the whole batch gives") {
  std::mt19937_64 random(20);
  for (int round = 0; round < 2000; ++round) {
    bytes stored(batch_header_bytes + random() % (round % 50 == 0 ? 300'000 : 400));
    for (auto& b : stored) b = static_cast<std::byte>(random());
    store_big_endian(stored.data(), static_cast<std::int64_t>(random() >> 2));
    store_big_endian(stored.data() + 8, static_cast<std::int32_t>(stored.size() - 12));
    store_big_endian(stored.data() + 16, std::int8_t{2});
    store_big_endian(stored.data() + 23, static_cast<std::int32_t>(random() >> 34));
    store_big_endian(stored.data() + 57, static_cast<std::int32_t>(random() >> 34));
    store_big_endian(stored.data() + 17, crc32c(std::span(stored).subspan(21)));
    const auto batch = only_batch(stored);
    const batch_patch patch{static_cast<std::int64_t>(random()), static_cast<std::int16_t>(random()), static_cast<std::int32_t>(random())};

    const auto sent = patched(batch, patch);
    auto expected = stored;
    store_big_endian(expected.data(), std::int64_t{0});
    store_big_endian(expected.data() + 12, std::int32_t{-1});
    store_big_endian(expected.data() + 21, static_cast<std::int16_t>(batch.header.attributes & ~0x40));
    store_big_endian(expected.data() + 43, patch.producer_id);
    store_big_endian(expected.data() + 51, patch.producer_epoch);
    store_big_endian(expected.data() + 53, patch.base_sequence);
    store_big_endian(expected.data() + 17, crc32c(std::span(expected).subspan(21)));
    if (sent != expected) FAIL("round " << round);
  }
}

TEST_CASE("a patched batch holds the same records at offsets from 0, with or without a delete horizon") {
  for (const auto& file : golden_batch_files()) {
    const auto records = read_file(file);
    for (const auto& batch : batches_in(records)) {
      if (batch.header.is_legacy()) continue;
      INFO(file << " at " << batch.header.base_offset);
      const auto sent = patched(batch, {4242, 3, 99});
      const auto after = only_batch(sent);
      REQUIRE(verify_crc(after).has_value());
      CHECK(after.header.base_offset == 0);
      CHECK(after.header.partition_leader_epoch == -1);
      CHECK(after.header.producer_id == 4242);
      CHECK(after.header.producer_epoch == 3);
      CHECK(after.header.base_sequence == 99);
      CHECK(!after.header.has_delete_horizon());
      CHECK(after.header.is_transactional() == batch.header.is_transactional());
      CHECK(after.header.last_offset_delta == batch.header.last_offset_delta);

      auto before_reader = record_reader::open(batch).value();
      auto after_reader = record_reader::open(after).value();
      while (auto before = before_reader.next().value()) {
        before->offset -= batch.header.base_offset;
        CHECK(describe(after_reader.next().value().value()) == describe(*before));
      }
      CHECK(!after_reader.next().value().has_value());
    }
  }
}

TEST_CASE("a damaged payload does not get a right checksum by patching") {
  auto records = read_file(golden_batches() / "times.bin");
  records.back() ^= std::byte{1};
  CHECK(!verify_crc(only_batch(patched(only_batch(records), {1, 2, 3}))));
}

}  // namespace
}  // namespace mirrord::wire
