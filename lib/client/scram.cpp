#include "client/scram.hpp"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>

#include <array>
#include <charconv>
#include <optional>

namespace mirrord::client {

namespace {

// The lower bound is RFC 7677's and Kafka's own. The upper one keeps a hostile server from stopping our thread: this
// many take about 0.1 s, and Kafka itself refuses to store credentials with more than 16,384.
constexpr int iterations_min = 4096;
constexpr int iterations_max = 100'000;

const EVP_MD* digest(scram_hash hash) { return hash == scram_hash::sha_256 ? EVP_sha256() : EVP_sha512(); }

const unsigned char* bytes_of(std::string_view text) { return reinterpret_cast<const unsigned char*>(text.data()); }

std::string hmac(scram_hash hash, std::string_view key, std::string_view text) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> out{};
  unsigned int size = 0;
  HMAC(digest(hash), key.data(), static_cast<int>(key.size()), bytes_of(text), text.size(), out.data(), &size);
  return {reinterpret_cast<const char*>(out.data()), size};
}

std::string hashed(scram_hash hash, std::string_view text) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> out{};
  unsigned int size = 0;
  EVP_Digest(text.data(), text.size(), out.data(), &size, digest(hash), nullptr);
  return {reinterpret_cast<const char*>(out.data()), size};
}

std::string salted(scram_hash hash, std::string_view password, std::string_view salt, int iterations) {
  std::string out(static_cast<std::size_t>(EVP_MD_get_size(digest(hash))), '\0');
  PKCS5_PBKDF2_HMAC(password.data(), static_cast<int>(password.size()), bytes_of(salt), static_cast<int>(salt.size()), iterations,
                    digest(hash), static_cast<int>(out.size()), reinterpret_cast<unsigned char*>(out.data()));
  return out;
}

std::string to_base64(std::string_view data) {
  std::string out(4 * ((data.size() + 2) / 3) + 1, '\0');
  const int n = EVP_EncodeBlock(reinterpret_cast<unsigned char*>(out.data()), bytes_of(data), static_cast<int>(data.size()));
  out.resize(static_cast<std::size_t>(n));
  return out;
}

std::optional<std::string> from_base64(std::string_view text) {
  if (text.empty() || text.size() % 4 != 0) return std::nullopt;
  std::string out(text.size() / 4 * 3, '\0');
  if (EVP_DecodeBlock(reinterpret_cast<unsigned char*>(out.data()), bytes_of(text), static_cast<int>(text.size())) < 0) return std::nullopt;
  for (std::size_t padding = 0; padding < 2 && text[text.size() - 1 - padding] == '='; ++padding) out.pop_back();
  return out;
}

// "user=,x" -> "user=3D=2Cx": the two characters that have a meaning in a message.
std::string escaped(std::string_view user) {
  std::string out;
  for (const char c : user) {
    if (c == '=') out += "=3D";
    else if (c == ',') out += "=2C";
    else out += c;
  }
  return out;
}

// Takes "<letter>=value" off the front of a comma-separated message; nothing if another attribute stands there.
std::optional<std::string_view> take_attribute(std::string_view& message, char letter) {
  if (message.size() < 2 || message[0] != letter || message[1] != '=') return std::nullopt;
  const std::size_t comma = message.find(',');
  const std::string_view value = message.substr(2, comma == std::string_view::npos ? comma : comma - 2);
  message.remove_prefix(comma == std::string_view::npos ? message.size() : comma + 1);
  return value;
}

error refused(std::string_view why) { return fail(errc::authentication_failed, "SCRAM: " + std::string(why)); }

}  // namespace

scram_conversation::scram_conversation(scram_hash hash, std::string user, std::string password, std::string nonce)
    : hash_(hash), password_(std::move(password)), nonce_(std::move(nonce)), first_bare_("n=" + escaped(user) + ",r=" + nonce_) {}

std::string scram_conversation::first() { return "n,," + first_bare_; }

result<std::string> scram_conversation::next(std::string_view answer) {
  switch (state_) {
    case state::challenge: return answer_challenge(answer);
    case state::verdict: return check_verdict(answer);
    case state::finished: break;
  }
  return refused("the broker goes on after the end");
}

result<std::string> scram_conversation::answer_challenge(std::string_view challenge) {
  std::string_view rest = challenge;
  const auto nonce = take_attribute(rest, 'r');
  const auto salt_text = take_attribute(rest, 's');
  const auto count = take_attribute(rest, 'i');
  if (!nonce || !salt_text || !count) return refused("the broker's challenge does not parse");
  if (!nonce->starts_with(nonce_) || nonce->size() == nonce_.size()) return refused("the broker's nonce does not continue ours");
  const auto salt = from_base64(*salt_text);
  if (!salt) return refused("the broker's salt is no base64");
  int iterations = 0;
  const auto [end, fault] = std::from_chars(count->data(), count->data() + count->size(), iterations);
  if (fault != std::errc{} || end != count->data() + count->size()) return refused("the broker's iteration count is no number");
  if (iterations < iterations_min || iterations > iterations_max) {
    return refused("the broker asks for " + std::to_string(iterations) + " iterations, accepted are " + std::to_string(iterations_min) +
                   " to " + std::to_string(iterations_max));
  }

  // "biws" is "n,," in base64: no channel binding.
  const std::string without_proof = "c=biws,r=" + std::string(*nonce);
  const std::string signed_text = first_bare_ + "," + std::string(challenge) + "," + without_proof;
  const std::string salted_password = salted(hash_, password_, *salt, iterations);
  const std::string client_key = hmac(hash_, salted_password, "Client Key");
  std::string proof = hmac(hash_, hashed(hash_, client_key), signed_text);
  for (std::size_t i = 0; i < proof.size(); ++i) proof[i] = static_cast<char>(proof[i] ^ client_key[i]);
  server_signature_ = hmac(hash_, hmac(hash_, salted_password, "Server Key"), signed_text);
  state_ = state::verdict;
  return without_proof + ",p=" + to_base64(proof);
}

result<std::string> scram_conversation::check_verdict(std::string_view verdict) {
  std::string_view rest = verdict;
  if (const auto reason = take_attribute(rest, 'e')) return refused("the broker says " + std::string(reason->substr(0, 200)));
  const auto signature = take_attribute(rest, 'v');
  if (!signature) return refused("the broker's final message does not parse");
  const auto raw = from_base64(*signature);
  if (!raw || raw->size() != server_signature_.size() || CRYPTO_memcmp(raw->data(), server_signature_.data(), raw->size()) != 0) {
    return refused("the broker's signature is wrong: it does not know this user's password");
  }
  state_ = state::finished;
  return std::string();
}

result<std::string> make_scram_nonce() {
  std::string random(24, '\0');
  const int drawn = RAND_bytes(reinterpret_cast<unsigned char*>(random.data()), static_cast<int>(random.size()));
  if (drawn != 1) return fail(errc::io, "the system gives no random bytes");
  return to_base64(random);
}

}  // namespace mirrord::client
