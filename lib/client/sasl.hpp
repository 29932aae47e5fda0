// SASL conversations without I/O: what to send first, and what to send on each of the broker's answers.
//
// Made for one authentication and thrown away after it. Errors say what is wrong without the password or any token.
#pragma once

#include "base/error.hpp"
#include "settings/connection_settings.hpp"

#include <memory>
#include <string>
#include <string_view>

namespace mirrord::client {

class sasl_conversation {
 public:
  virtual ~sasl_conversation() = default;

  [[nodiscard]] virtual std::string first() = 0;

  // Takes the broker's answer and gives the next token; when finished() afterwards, there is none to send.
  [[nodiscard]] virtual result<std::string> next(std::string_view answer) = 0;

  // The broker accepted us and, where the mechanism has it, proved that it knows our secret too.
  [[nodiscard]] virtual bool finished() const noexcept = 0;
};

// As settings.sasl_mechanism says, with a fresh random nonce. errc::io if the system has no random bytes.
[[nodiscard]] result<std::unique_ptr<sasl_conversation>> make_sasl(const connection_settings& settings);

}  // namespace mirrord::client
