#include "tests/unit/wire/messages_golden.hpp"

#include <catch2/catch.hpp>

#include <fstream>
#include <sstream>
#include <stdexcept>

namespace mirrord::wire::test {
namespace {

std::vector<golden_message> load() {
  std::ifstream file(std::string(MIRRORD_GOLDEN_DIR) + "/messages.txt");
  std::vector<golden_message> messages;
  std::string line;
  while (std::getline(file, line)) {
    std::istringstream words(line);
    golden_message message;
    std::string hex;
    words >> message.api >> message.kind >> message.version >> message.variant >> hex;
    message.frame = from_hex(hex);
    messages.push_back(std::move(message));
  }
  if (messages.empty()) throw std::runtime_error("no golden messages");
  return messages;
}

}  // namespace

std::vector<std::byte> from_hex(std::string_view hex) {
  std::vector<std::byte> bytes;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2) bytes.push_back(static_cast<std::byte>(std::stoi(std::string(hex.substr(i, 2)), nullptr, 16)));
  return bytes;
}

std::string to_hex(std::span<const std::byte> bytes) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string hex;
  for (const std::byte b : bytes) {
    hex += digits[std::to_integer<std::size_t>(b >> 4)];
    hex += digits[std::to_integer<std::size_t>(b & std::byte{15})];
  }
  return hex;
}

const std::vector<golden_message>& golden_messages() {
  static const std::vector<golden_message> messages = load();
  return messages;
}

const golden_message& golden(std::string_view api, std::string_view kind, std::int16_t version, std::string_view variant) {
  for (const golden_message& m : golden_messages()) {
    if (m.api == api && m.kind == kind && m.version == version && m.variant == variant) return m;
  }
  throw std::runtime_error("no such golden message");
}

const message_type& type_of(const golden_message& golden) {
  for (const message_type& type : message_types()) {
    if (name(type.api.key) == golden.api && type.kind == golden.kind) return type;
  }
  throw std::runtime_error("no message type for " + golden.title());
}

TEST_CASE("every golden message decodes and encodes to the same bytes") {
  for (const golden_message& m : golden_messages()) {
    if (m.variant == "snapshot") continue;  // has a tagged field that we do not keep
    INFO(m.title());
    const auto again = type_of(m).decode_and_encode(m.frame, m.version);
    REQUIRE(again.has_value());
    CHECK(to_hex(again->frame) == to_hex(m.frame));
    CHECK(again->announced == m.frame.size());
    CHECK(again->printed.starts_with(m.api + ' ' + m.kind + " v" + std::to_string(m.version) + " {"));
  }
}

TEST_CASE("every version of every message that we speak has a golden one") {
  for (const message_type& type : message_types()) {
    for (std::int16_t version = type.api.min; version <= type.api.max; ++version) CHECK_NOTHROW(golden(name(type.api.key), type.kind, version));
  }
}

}  // namespace mirrord::wire::test
