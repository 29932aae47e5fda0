#include "base/error.hpp"

#include <fmt/format.h>

#include <stdexcept>

namespace mirrord {

std::string_view name(errc code) noexcept {
  switch (code) {
    case errc::cancelled: return "cancelled";
    case errc::timed_out: return "timed_out";
    case errc::unreachable: return "unreachable";
    case errc::connection_lost: return "connection_lost";
    case errc::authentication_failed: return "authentication_failed";
    case errc::unsupported: return "unsupported";
    case errc::malformed: return "malformed";
    case errc::broker: return "broker";
    case errc::fenced: return "fenced";
    case errc::foreign_write: return "foreign_write";
    case errc::diverged: return "diverged";
    case errc::outcome_unknown: return "outcome_unknown";
    case errc::limit_exceeded: return "limit_exceeded";
    case errc::not_found: return "not_found";
    case errc::invalid: return "invalid";
    case errc::io: return "io";
    case errc::recorded: return "recorded";
  }
  return "unknown";
}

std::string error::message() const {
  std::string text = context;
  if (broker_code != 0) {
    if (!text.empty()) text += ": ";
    text += fmt::format("{} ({})", broker_error_name(broker_code), broker_code);
  } else if (text.empty()) {
    text = name(code);
  }
  if (!broker_text.empty()) text += fmt::format(": {}", broker_text);
  return text;
}

error error::within(std::string_view outer) && {
  context = context.empty() ? std::string(outer) : fmt::format("{}: {}", outer, context);
  return std::move(*this);
}

void throw_exception_from_error(const error& e, const boost::source_location&) { throw std::runtime_error(e.message()); }

}  // namespace mirrord
