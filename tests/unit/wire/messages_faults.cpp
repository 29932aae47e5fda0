// Foreign bytes that are wrong: every one is errc::malformed, none reads outside or allocates what it has no bytes for.
#include "base/broker_error.hpp"
#include "tests/unit/wire/messages_golden.hpp"
#include "wire/api_versions.hpp"
#include "wire/codec.hpp"
#include "wire/fetch.hpp"
#include "wire/metadata.hpp"
#include "wire/sasl.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <cstdlib>
#include <new>
#include <random>

namespace {
std::size_t largest_allocation = 0;
}

// Replaced for the whole test program: only so can a test see what a decoder asks for.
void* operator new(std::size_t size) {
  largest_allocation = std::max(largest_allocation, size);
  if (void* const memory = std::malloc(size == 0 ? 1 : size)) return memory;
  throw std::bad_alloc();
}
// std::stable_sort asks this way; without it a sanitizer's own operator would meet our delete.
void* operator new(std::size_t size, const std::nothrow_t&) noexcept { return std::malloc(size == 0 ? 1 : size); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace mirrord::wire::test {
namespace {

// The widest ratio of a struct's size to its smallest form on the wire is below 30 (a forgotten topic of Fetch).
std::size_t allowed_allocation(std::size_t frame_size) { return 32 * frame_size + 1024; }

std::vector<std::byte> copy_of(std::span<const std::byte> bytes) { return {bytes.begin(), bytes.end()}; }

std::vector<std::byte> metadata_v9_with_broker_count(std::string_view varint_hex) {
  return from_hex("01020304" "00" "00000000" + std::string(varint_hex) + "0000000000000000");
}

void check_malformed(std::span<const std::byte> frame, std::int16_t version, std::string_view reason) {
  largest_allocation = 0;
  const auto answer = decode_response<metadata_response>(frame, version, golden_correlation_id);
  REQUIRE_FALSE(answer.has_value());
  CHECK(answer.error().code == errc::malformed);
  CHECK_THAT(answer.error().context, Catch::Contains(std::string(reason)));
  CHECK(largest_allocation <= allowed_allocation(frame.size()));
}

}  // namespace

TEST_CASE("a message cut at any byte is malformed") {
  for (const golden_message& m : golden_messages()) {
    INFO(m.title());
    const message_type& type = type_of(m);
    for (std::size_t size = 0; size < m.frame.size(); ++size) {
      const auto cut = copy_of(std::span(m.frame).first(size));  // a copy of its own, so that a sanitizer sees its end
      const auto decoded = type.decode_and_encode(cut, m.version);
      if (decoded || decoded.error().code != errc::malformed) FAIL("cut at " << size << " of " << m.frame.size());
    }
  }
}

TEST_CASE("a byte after the end is malformed") {
  for (const golden_message& m : golden_messages()) {
    INFO(m.title());
    auto longer = m.frame;
    longer.push_back(std::byte{0});
    const auto decoded = type_of(m).decode_and_encode(longer, m.version);
    REQUIRE_FALSE(decoded.has_value());
    CHECK(decoded.error().code == errc::malformed);
    CHECK_THAT(decoded.error().message(), Catch::Contains("unexpected bytes after the end"));
  }
}

TEST_CASE("changed bytes never ask for more memory than the frame warrants") {
  std::mt19937 random(20240607);  // any fixed seed
  for (const golden_message& m : golden_messages()) {
    INFO(m.title());
    const message_type& type = type_of(m);
    for (std::size_t at = 0; at < m.frame.size(); ++at) {
      for (const unsigned value : {0x00u, 0x7fu, 0x80u, 0xffu, static_cast<unsigned>(random() & 0xff)}) {
        auto changed = m.frame;
        changed[at] = static_cast<std::byte>(value);
        if (at + 1 < changed.size() && (random() & 1) != 0) changed[at + 1] = static_cast<std::byte>(value);
        if (m.kind == "request" && at < 4) continue;  // key and version choose another decoder
        largest_allocation = 0;
        const auto decoded = type.decode_and_encode(changed, m.version);
        if (!decoded && decoded.error().code != errc::malformed) FAIL("byte " << at << ": " << decoded.error().message());
        if (largest_allocation > allowed_allocation(changed.size())) FAIL("byte " << at << ": allocation of " << largest_allocation);
      }
    }
  }
}

TEST_CASE("counts beyond the frame are refused before anything is allocated") {
  check_malformed(metadata_v9_with_broker_count("ffffffff0f"), 9, "more elements than bytes");
  check_malformed(metadata_v9_with_broker_count("80808001"), 9, "more elements than bytes");
  check_malformed(metadata_v9_with_broker_count("ffffffff1f"), 9, "varint too long");
  check_malformed(metadata_v9_with_broker_count("ffffffffff01"), 9, "varint too long");
  check_malformed(metadata_v9_with_broker_count("00"), 9, "null where a value must be");
  check_malformed(from_hex("01020304" "00000000" "7fffffff" "00000000"), 4, "more elements than bytes");
  check_malformed(from_hex("01020304" "00000000" "fffffffe" "00000000"), 4, "negative length");
  check_malformed(from_hex("01020304" "00000000" "ffffffff" "00000000"), 4, "null where a value must be");
}

TEST_CASE("an answer to another request is malformed") {
  const auto& frame = golden("metadata", "response", 9).frame;
  const auto answer = decode_response<metadata_response>(frame, 9, golden_correlation_id + 1);
  REQUIRE_FALSE(answer.has_value());
  CHECK(answer.error().message() == "metadata response v9: correlation id 16909060 where 16909061 is expected at byte 4");
}

TEST_CASE("unknown tagged fields are stepped over, in headers and in bodies") {
  const auto m = decode_response<fetch_response>(golden("fetch", "response", 12, "snapshot").frame, 12, golden_correlation_id);
  REQUIRE(m.has_value());
  CHECK(m->responses.at(0).partitions.at(0).records.size() == 2);
  CHECK(m->responses.at(0).partitions.at(0).current_leader->leader_epoch == 6);

  const auto handshake = decode_response<sasl_authenticate_response>(from_hex("01020304" "010502abcd" "0000" "00" "01" "0000000000000000" "027f01aa808001020102"), 2,
                                                                     golden_correlation_id);
  REQUIRE(handshake.has_value());
  CHECK(handshake->auth_bytes.empty());
}

TEST_CASE("broken tagged fields are malformed") {
  const std::string body = "01020304" "00" "0000" "00" "01" "0000000000000000";
  for (const char* tags : {"0205000500", "0206000500", "010503ab", "01", "0105ffffffff0f", "ffffffff0f"}) {
    INFO(tags);
    const auto answer = decode_response<sasl_authenticate_response>(from_hex(body + tags), 2, golden_correlation_id);
    REQUIRE_FALSE(answer.has_value());
    CHECK(answer.error().code == errc::malformed);
  }
  // A known one (supported_features) whose size is not that of its content.
  const auto answer = decode_response<api_versions_response>(from_hex("01020304" "0000" "01" "00000000" "01" "00" "02" "0100"), 3, golden_correlation_id);
  REQUIRE_FALSE(answer.has_value());
  CHECK_THAT(answer.error().message(), Catch::Contains("tagged field 0: unexpected bytes after the end"));
}

TEST_CASE("api versions: a broker that does not know the version answers in version 0") {
  const auto modern = decode_response<api_versions_response>(from_hex("01020304" "0023" "00000001" "001200000003"), 4, golden_correlation_id);
  REQUIRE(modern.has_value());
  CHECK(is(modern->error_code, kafka_error::unsupported_version));
  CHECK(modern->api_keys.at(0).max_version == 3);
  const auto before_2_4 = decode_response<api_versions_response>(from_hex("01020304" "0023" "00000000"), 3, golden_correlation_id);
  REQUIRE(before_2_4.has_value());
  CHECK(before_2_4->api_keys.empty());
  const auto written = encode_response(*modern, 4, golden_correlation_id).flatten();
  CHECK(to_hex(written) == "00000010" "01020304" "0023" "00000001" "001200000003");
}

TEST_CASE("a request of another API or version is unsupported") {
  const auto other_api = decode_request<metadata_request>(golden("fetch", "request", 12).frame);
  REQUIRE_FALSE(other_api.has_value());
  CHECK(other_api.error().code == errc::unsupported);
  CHECK(other_api.error().message() == "fetch request v12 where metadata v4..13 is expected");
  auto newer = golden("fetch", "request", 17).frame;
  newer[3] = std::byte{99};
  const auto other_version = decode_request<fetch_request>(newer);
  REQUIRE_FALSE(other_version.has_value());
  CHECK(other_version.error().message() == "fetch request v99 where fetch v4..17 is expected");
}

TEST_CASE("the request header is read without knowing the API") {
  const auto header = decode_request_header(golden("fetch", "request", 17).frame);
  REQUIRE(header.has_value());
  CHECK(header->key == api_key::fetch);
  CHECK(header->version == 17);
  CHECK(header->correlation_id == golden_correlation_id);
  CHECK(header->client_id == golden_client_id);
  CHECK_FALSE(decode_request_header(from_hex("0001001101020304")).has_value());
  CHECK_FALSE(decode_request_header(from_hex("0001001101020304ffff"))->client_id);
}

}  // namespace mirrord::wire::test
