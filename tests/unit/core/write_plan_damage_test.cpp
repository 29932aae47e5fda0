// Damaged source bytes: what goes on as it is keeps its wrong checksum for the broker to refuse; nothing that is built
// anew (a batch, a marker) ever gives damage a good one.
#include "tests/unit/core/destination_model.hpp"

#include <catch2/catch.hpp>

#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

using namespace mirrord;
using namespace mirrord::core_tests;

namespace {

constexpr std::size_t crc_at = 17;
constexpr std::size_t legacy_crc_at = 12;

// Plans the single batch in `bytes`; an empty result where it does not even parse.
std::optional<result<std::vector<core::planned_write>>> plan_of(std::span<const std::byte> bytes, std::int64_t position, const open_slots& open) {
  auto batch = wire::batch_cursor(bytes).next();
  if (!batch || !*batch) return std::nullopt;
  core::write_planner planner(position, slots_of(open), no_limits);
  std::vector<core::planned_write> plan;
  auto added = planner.add(**batch, plan);
  if (!added) return result<std::vector<core::planned_write>>(std::move(added.error()));
  return result<std::vector<core::planned_write>>(std::move(plan));
}

// Flips every bit that the checksum covers, and those of the checksum: no data or marker of our own making comes of it.
void check_every_flip(const source_batch& batch, std::int64_t position, const open_slots& open, std::size_t from) {
  const std::vector<std::byte> good = encode(batch);
  for (std::size_t at = from; at < good.size(); ++at) {
    for (int bit = 0; bit < 8; ++bit) {
      std::vector<std::byte> bad = good;
      bad[at] ^= static_cast<std::byte>(1 << bit);
      const auto plan = plan_of(bad, position, open);
      if (!plan || !*plan) continue;
      CAPTURE(at, bit, text(**plan));
      for (const core::planned_write& write : **plan) {
        const auto* data = std::get_if<core::data_write>(&write);
        REQUIRE(data != nullptr);
        REQUIRE(data->owner == nullptr);
        REQUIRE_FALSE(wire::verify_crc(data->batch).has_value());
      }
    }
  }
}

}  // namespace

TEST_CASE("a damaged batch that goes on as it is keeps its bytes and its wrong checksum", "[write_plan]") {
  for (const wire::codec codec : all_codecs) {
    const std::vector<std::byte> good = encode(compressed(dense_batch(10, 13), codec));
    for (std::size_t at = wire::batch_header_bytes; at < good.size(); ++at) {
      CAPTURE(wire::name(codec), at);
      std::vector<std::byte> bad = good;
      bad[at] ^= std::byte{0x04};
      const auto plan = plan_of(bad, 10, {});
      REQUIRE(plan.has_value());
      REQUIRE(plan->has_value());
      REQUIRE(text(**plan) == "writer[10,14)");
      const auto& write = std::get<core::data_write>((*plan)->front());
      REQUIRE(write.batch.bytes.data() == bad.data());

      const auto header = wire::patched_header(write.batch, {5, 0, 0});
      std::vector<std::byte> sent(header.begin(), header.end());
      sent.insert(sent.end(), bad.begin() + wire::batch_header_bytes, bad.end());
      REQUIRE_FALSE(wire::verify_crc(*wire::batch_cursor(sent).next().value()).has_value());
    }
  }
}

TEST_CASE("damage anywhere in a batch that must be built anew is refused", "[write_plan]") {
  for (const wire::codec codec : all_codecs) {
    CAPTURE(wire::name(codec));
    const source_batch plain = compressed(dense_batch(10, 13), codec);
    source_batch timed = plain;
    timed.append_time = 1'800'000'000'000;
    check_every_flip(compressed(batch_of(10, 13, {10, 13}), codec), 10, {}, crc_at);
    check_every_flip(timed, 10, {}, crc_at);
    check_every_flip(transactional(plain, 7), 12, {{7, {0, 10}}}, crc_at);
    check_every_flip(batch_of(10, 13, {}), 10, {}, crc_at);
    if (codec == wire::codec::zstd) continue;
    const source_batch one = codec == wire::codec::none ? batch_of(13, 13, {13}) : plain;
    check_every_flip(legacy(one, 0), one.base_offset, {}, legacy_crc_at);
    check_every_flip(legacy(one, 1), one.base_offset, {}, legacy_crc_at);
  }
}

TEST_CASE("a damaged marker is refused: an abort must not become a commit", "[write_plan]") {
  for (const control what : {control::abort, control::commit, control::unknown, control::emptied}) {
    CAPTURE(int(what));
    check_every_flip(control_batch(10, 7, what), 10, {{7, {0, 5}}}, crc_at);
    check_every_flip(control_batch(10, 7, what), 10, {}, crc_at);
  }
}

TEST_CASE("a refused batch says where it is and what is wrong, once", "[write_plan]") {
  std::vector<std::byte> bytes = encode(batch_of(10, 13, {10, 13}));
  bytes.back() ^= std::byte{1};
  const auto damaged = plan_of(bytes, 10, {});
  REQUIRE(damaged.has_value());
  REQUIRE_FALSE(damaged->has_value());
  CHECK(damaged->error().code == errc::malformed);
  CHECK_THAT(damaged->error().message(), Catch::Matches("batch at offset 10: stored checksum [0-9a-f]{8}, bytes have [0-9a-f]{8}"));
}

TEST_CASE("an unknown codec goes on as it is, and is refused by its number where it must be decoded", "[write_plan]") {
  for (const int number : {5, 6, 7}) {
    CAPTURE(number);
    const std::vector<std::byte> bytes = encode(compressed(dense_batch(10, 13), static_cast<wire::codec>(number)));
    CHECK(text(plan_of(bytes, 10, {})->value()) == "writer[10,14)");

    const auto below = plan_of(bytes, 11, {});
    REQUIRE(below.has_value());
    REQUIRE_FALSE(below->has_value());
    CHECK(below->error().code == errc::unsupported);
    CHECK_THAT(below->error().message(), Catch::Contains("offset 10") && Catch::Contains("codec " + std::to_string(number)));
  }
}

TEST_CASE("a batch wholly below the position is not looked into", "[write_plan]") {
  std::vector<std::byte> bytes = encode(control_batch(10, 7, control::commit));
  bytes.back() ^= std::byte{1};
  CHECK(plan_of(bytes, 11, {{7, {0, 5}}})->value().empty());
}
