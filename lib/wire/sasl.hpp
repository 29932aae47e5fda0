// SASL as Kafka messages (KIP-43, KIP-152): the handshake names a mechanism, SaslAuthenticate carries its tokens.
// The tokens are secrets: print() shows their length only.
#pragma once

#include "wire/api.hpp"
#include "wire/fields.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace mirrord::wire {

// 1: with 0 the tokens would follow as bare frames without headers. There is no newer version.
inline constexpr api_range sasl_handshake_api{api_key::sasl_handshake, 1, 1, never_flexible};

struct sasl_handshake_response {
  static constexpr api_range api = sasl_handshake_api;

  std::int16_t error_code = 0;
  std::vector<std::string> mechanisms;  // what the broker offers, also when it refuses ours

  template <class Self, class Visitor>
  static void fields(Self& m, Visitor& v) {
    v.field("error_code", m.error_code);
    v.field("mechanisms", m.mechanisms);
  }
};

struct sasl_handshake_request {
  using response = sasl_handshake_response;
  static constexpr api_range api = sasl_handshake_api;

  std::string mechanism;

  template <class Self, class Visitor>
  static void fields(Self& m, Visitor& v) {
    v.field("mechanism", m.mechanism);
  }
};

// 0: first (Kafka 1.0). 1 adds the session lifetime (KIP-368); 2: newest, flexible.
inline constexpr api_range sasl_authenticate_api{api_key::sasl_authenticate, 0, 2, 2};

struct sasl_authenticate_response {
  static constexpr api_range api = sasl_authenticate_api;

  std::int16_t error_code = 0;
  std::optional<std::string> error_message;
  std::vector<std::byte> auth_bytes;
  std::int64_t session_lifetime_ms = 0;  // 0: the broker never asks to authenticate again

  template <class Self, class Visitor>
  static void fields(Self& m, Visitor& v) {
    v.field("error_code", m.error_code);
    v.field("error_message", m.error_message);
    v.field("auth_bytes", m.auth_bytes);
    v.field("session_lifetime_ms", m.session_lifetime_ms, since(1));
  }
};

struct sasl_authenticate_request {
  using response = sasl_authenticate_response;
  static constexpr api_range api = sasl_authenticate_api;

  std::vector<std::byte> auth_bytes;

  template <class Self, class Visitor>
  static void fields(Self& m, Visitor& v) {
    v.field("auth_bytes", m.auth_bytes);
  }
};

}  // namespace mirrord::wire
