#include "client/sasl.hpp"

#include "client/scram.hpp"

namespace mirrord::client {

namespace {

// RFC 4616: no authorization id, then user and password, each after a NUL.
class plain_conversation final : public sasl_conversation {
 public:
  plain_conversation(std::string user, std::string password) : user_(std::move(user)), password_(std::move(password)) {}

  std::string first() override { return '\0' + user_ + '\0' + password_; }

  result<std::string> next(std::string_view) override {
    finished_ = true;
    return std::string();
  }

  bool finished() const noexcept override { return finished_; }

 private:
  std::string user_;
  std::string password_;
  bool finished_ = false;
};

}  // namespace

result<std::unique_ptr<sasl_conversation>> make_sasl(const connection_settings& settings) {
  if (settings.sasl_mechanism == sasl_mechanism::plain) {
    return std::make_unique<plain_conversation>(settings.sasl_username, settings.sasl_password);
  }
  auto nonce = make_scram_nonce();
  if (!nonce) return std::move(nonce).error();
  const auto hash = settings.sasl_mechanism == sasl_mechanism::scram_sha_256 ? scram_hash::sha_256 : scram_hash::sha_512;
  return std::make_unique<scram_conversation>(hash, settings.sasl_username, settings.sasl_password, std::move(nonce).value());
}

}  // namespace mirrord::client
