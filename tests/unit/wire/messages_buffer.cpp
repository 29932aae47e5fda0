#include "tests/unit/wire/messages_golden.hpp"
#include "wire/api.hpp"
#include "wire/buffer.hpp"
#include "wire/produce.hpp"

#include <catch2/catch.hpp>

namespace mirrord::wire::test {

TEST_CASE("integers are big endian and come back") {
  writer out;
  out.int8(-2);
  out.int16(-2);
  out.int32(0x01020304);
  out.int64(INT64_MIN);
  CHECK(to_hex(out.own_bytes()) == "fefffe010203048000000000000000");
  reader in(out.own_bytes());
  CHECK(in.int8() == -2);
  CHECK(in.int16() == -2);
  CHECK(in.int32() == 0x01020304);
  CHECK(in.int64() == INT64_MIN);
  in.expect_end();
  CHECK(in.ok());
}

TEST_CASE("unsigned varints") {
  for (const auto& [value, hex] : std::vector<std::pair<std::uint32_t, std::string>>{{0, "00"}, {127, "7f"}, {128, "8001"}, {300, "ac02"}, {UINT32_MAX, "ffffffff0f"}}) {
    writer out;
    out.uvarint(value);
    CHECK(to_hex(out.own_bytes()) == hex);
    reader in(out.own_bytes());
    CHECK(in.uvarint() == value);
    CHECK(in.ok());
  }
}

TEST_CASE("the first fault of a reader sticks and nothing is read after it") {
  const auto bytes = from_hex("0102030405");
  reader in(bytes);
  CHECK(in.int16() == 0x0102);
  CHECK(in.int64() == 0);
  CHECK(in.fault_text() == "truncated at byte 2");
  CHECK(in.int8() == 0);
  CHECK(in.take(1).empty());
  CHECK(in.remaining() == 0);
  in.fault("another");
  CHECK(in.fault_text() == "truncated at byte 2");
}

TEST_CASE("gather of a frame without borrowed bytes, and of one that ends with them") {
  writer plain;
  plain.int32(0);
  plain.int16(7);
  const encoded_frame small = std::move(plain).finish_frame();
  CHECK(to_hex(small.flatten()) == "000000020007");
  CHECK(small.gather().size() == 1);

  const auto lent = from_hex("aabb");
  writer out;
  out.int32(0);
  out.borrow(lent);
  out.borrow(lent);
  CHECK(out.size() == 8);
  const encoded_frame frame = std::move(out).finish_frame();
  CHECK(to_hex(frame.flatten()) == "00000004aabbaabb");
  CHECK(frame.gather().size() == 3);
}

TEST_CASE("the newest version that both sides speak") {
  CHECK(choose_version(produce_api, 0, 13) == 11);
  CHECK(choose_version(produce_api, 3, 9) == 9);
  CHECK(choose_version(produce_api, 7, 7) == 7);
  CHECK_FALSE(choose_version(produce_api, 0, 6));
  CHECK_FALSE(choose_version(produce_api, 12, 13));
  CHECK_FALSE(choose_version(produce_api, 0, -1));
}

TEST_CASE("API names") {
  CHECK(name(api_key::write_txn_markers) == "write_txn_markers");
  CHECK(name(static_cast<api_key>(999)) == "unknown_api");
}

}  // namespace mirrord::wire::test
