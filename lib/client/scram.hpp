// SCRAM-SHA-256 and SCRAM-SHA-512, the client's side (RFC 5802, RFC 7677), without channel binding, as Kafka uses it.
//
// The password never leaves, and the server must prove that it knows its derivative: a wrong or missing server signature
// is an error. User name and password are taken as UTF-8 as they are: like Kafka, without SASLprep.
#pragma once

#include "client/sasl.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace mirrord::client {

enum class scram_hash : std::uint8_t { sha_256, sha_512 };

class scram_conversation final : public sasl_conversation {
 public:
  // `nonce`: printable, without a comma, never used before.
  scram_conversation(scram_hash hash, std::string user, std::string password, std::string nonce);

  [[nodiscard]] std::string first() override;
  [[nodiscard]] result<std::string> next(std::string_view answer) override;
  [[nodiscard]] bool finished() const noexcept override { return state_ == state::finished; }

 private:
  // challenge: waits for salt and iteration count; verdict: waits for the server's signature
  enum class state : std::uint8_t { challenge, verdict, finished };

  [[nodiscard]] result<std::string> answer_challenge(std::string_view challenge);
  [[nodiscard]] result<std::string> check_verdict(std::string_view verdict);

  scram_hash hash_;
  std::string password_;
  std::string nonce_;
  std::string first_bare_;
  std::string server_signature_;
  state state_ = state::challenge;
};

// 192 random bits in base64.
[[nodiscard]] result<std::string> make_scram_nonce();

}  // namespace mirrord::client
