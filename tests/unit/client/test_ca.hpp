// A certificate authority for one test: makes key pairs and certificates with OpenSSL and leaves them as PEM files in a
// directory of its own, which goes away with it.
#pragma once

#include <boost/asio/ssl/context.hpp>

#include <filesystem>
#include <memory>
#include <string>

namespace mirrord::client::fake {

class test_ca {
 public:
  explicit test_ca(const std::string& name);
  ~test_ca();
  test_ca(const test_ca&) = delete;
  test_ca& operator=(const test_ca&) = delete;

  [[nodiscard]] std::string ca_file() const { return (directory_ / "ca.pem").string(); }

  struct files {
    std::string certificate;
    std::string key;
  };
  // `names` as OpenSSL writes them: "DNS:localhost,IP:127.0.0.1". With a password the key is encrypted.
  [[nodiscard]] files issue(const std::string& common_name, const std::string& names, const std::string& password = "");

  // A broker's side; with `client_ca` clients must show a certificate of that CA.
  [[nodiscard]] boost::asio::ssl::context server(const files& own, const std::string& client_ca = "") const;

 private:
  struct state;
  std::filesystem::path directory_;
  std::unique_ptr<state> state_;
};

}  // namespace mirrord::client::fake
