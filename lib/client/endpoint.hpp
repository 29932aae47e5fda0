// A host and a port, as a person writes them and as a broker advertises them.
#pragma once

#include "base/error.hpp"

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

namespace mirrord::client {

struct endpoint {
  std::string host;  // a name or an address, without brackets
  std::uint16_t port = 0;
  friend auto operator<=>(const endpoint&, const endpoint&) = default;

  // "host:9092", "[::1]:9092"
  [[nodiscard]] std::string text() const;
};

// The inverse of text(); the port is required.
[[nodiscard]] result<endpoint> parse_endpoint(std::string_view text);

}  // namespace mirrord::client
