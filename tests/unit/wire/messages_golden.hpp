// The golden messages: tests/golden/messages.txt, made by Java's own client (tests/golden/generate).
#pragma once

#include "tests/support/message_types.hpp"

namespace mirrord::wire::test {

struct golden_message {
  std::string api;   // "fetch"
  std::string kind;  // "request" or "response"
  std::int16_t version = 0;
  std::string variant;  // "full", "bare", ...
  std::vector<std::byte> frame;  // without the length

  [[nodiscard]] std::string title() const { return api + ' ' + kind + " v" + std::to_string(version) + ' ' + variant; }
};

[[nodiscard]] std::vector<std::byte> from_hex(std::string_view hex);
[[nodiscard]] std::string to_hex(std::span<const std::byte> bytes);

[[nodiscard]] const std::vector<golden_message>& golden_messages();
[[nodiscard]] const golden_message& golden(std::string_view api, std::string_view kind, std::int16_t version, std::string_view variant = "full");
[[nodiscard]] const message_type& type_of(const golden_message& golden);

}  // namespace mirrord::wire::test
