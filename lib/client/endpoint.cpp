#include "client/endpoint.hpp"

#include <charconv>

namespace mirrord::client {

std::string endpoint::text() const {
  const bool bare_ipv6 = host.find(':') != std::string::npos;
  return (bare_ipv6 ? '[' + host + ']' : host) + ':' + std::to_string(port);
}

result<endpoint> parse_endpoint(std::string_view text) {
  const auto refuse = [&](std::string_view why) { return fail(errc::invalid, "'" + std::string(text) + "': " + std::string(why)); };
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return refuse("a port is missing, write host:port");

  std::string_view host = text.substr(0, colon);
  if (host.starts_with('[')) {
    if (!host.ends_with(']')) return refuse("the bracket is not closed, write [address]:port");
    host = host.substr(1, host.size() - 2);
  } else if (host.find(':') != std::string_view::npos) {
    return refuse("an IPv6 address needs brackets, write [address]:port");
  }
  if (host.empty()) return refuse("a host is missing, write host:port");

  const std::string_view digits = text.substr(colon + 1);
  std::uint16_t port = 0;
  const auto [end, fault] = std::from_chars(digits.data(), digits.data() + digits.size(), port);
  if (fault != std::errc{} || end != digits.data() + digits.size() || port == 0) return refuse("the port must be a number from 1 to 65535");
  return endpoint{std::string(host), port};
}

}  // namespace mirrord::client
