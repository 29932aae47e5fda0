#include "test_ca.hpp"

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <cstdio>
#include <cstdlib>
#include <stdexcept>

namespace mirrord::client::fake {

namespace {

using key_ptr = std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)>;
using certificate_ptr = std::unique_ptr<X509, decltype(&X509_free)>;
using file_ptr = std::unique_ptr<FILE, decltype(&std::fclose)>;

void must(bool done, const char* what) {
  if (!done) throw std::runtime_error(std::string("test CA: ") + what);
}

void add_extension(X509* certificate, X509* issuer, int kind, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, &context, kind, value.c_str());
  must(extension != nullptr, "extension");
  X509_add_ext(certificate, extension, -1);
  X509_EXTENSION_free(extension);
}

certificate_ptr blank(const std::string& common_name, EVP_PKEY* key, long serial) {
  certificate_ptr c(X509_new(), X509_free);
  X509_set_version(c.get(), X509_VERSION_3);
  ASN1_INTEGER_set(X509_get_serialNumber(c.get()), serial);
  X509_gmtime_adj(X509_getm_notBefore(c.get()), -3600);
  X509_gmtime_adj(X509_getm_notAfter(c.get()), 3600);
  X509_set_pubkey(c.get(), key);
  const auto* name = reinterpret_cast<const unsigned char*>(common_name.c_str());
  X509_NAME_add_entry_by_txt(X509_get_subject_name(c.get()), "CN", MBSTRING_UTF8, name, -1, -1, 0);
  return c;
}

file_ptr created(const std::filesystem::path& path) {
  file_ptr f(std::fopen(path.c_str(), "w"), std::fclose);
  must(f != nullptr, "file");
  return f;
}

}  // namespace

struct test_ca::state {
  key_ptr key{EVP_EC_gen("P-256"), EVP_PKEY_free};
  certificate_ptr certificate{nullptr, X509_free};
  long last_serial = 1;
};

test_ca::test_ca(const std::string& name) : state_(std::make_unique<state>()) {
  std::string pattern = (std::filesystem::temp_directory_path() / "test-ca-XXXXXX").string();
  must(::mkdtemp(pattern.data()) != nullptr, "directory");
  directory_ = pattern;

  state_->certificate = blank(name, state_->key.get(), 1);
  X509* own = state_->certificate.get();
  X509_set_issuer_name(own, X509_get_subject_name(own));
  add_extension(own, own, NID_basic_constraints, "critical,CA:TRUE");
  add_extension(own, own, NID_key_usage, "critical,keyCertSign");
  must(X509_sign(own, state_->key.get(), EVP_sha256()) != 0, "sign");
  must(PEM_write_X509(created(ca_file()).get(), own) == 1, "write");
}

test_ca::~test_ca() {
  std::error_code ignored;
  std::filesystem::remove_all(directory_, ignored);
}

test_ca::files test_ca::issue(const std::string& common_name, const std::string& names, const std::string& password) {
  const long serial = ++state_->last_serial;
  const key_ptr key(EVP_EC_gen("P-256"), EVP_PKEY_free);
  const certificate_ptr c = blank(common_name, key.get(), serial);
  X509_set_issuer_name(c.get(), X509_get_subject_name(state_->certificate.get()));
  if (!names.empty()) add_extension(c.get(), state_->certificate.get(), NID_subject_alt_name, names);
  must(X509_sign(c.get(), state_->key.get(), EVP_sha256()) != 0, "sign");

  const std::filesystem::path base = directory_ / std::to_string(serial);
  files made{base.string() + ".pem", base.string() + ".key"};
  must(PEM_write_X509(created(made.certificate).get(), c.get()) == 1, "write");
  const EVP_CIPHER* cipher = password.empty() ? nullptr : EVP_aes_256_cbc();
  const auto* secret = reinterpret_cast<const unsigned char*>(password.data());
  const int length = static_cast<int>(password.size());
  must(PEM_write_PrivateKey(created(made.key).get(), key.get(), cipher, secret, length, nullptr, nullptr) == 1, "write");
  return made;
}

boost::asio::ssl::context test_ca::server(const files& own, const std::string& client_ca) const {
  boost::asio::ssl::context context(boost::asio::ssl::context::tls_server);
  context.use_certificate_chain_file(own.certificate);
  context.use_private_key_file(own.key, boost::asio::ssl::context::pem);
  if (!client_ca.empty()) {
    context.load_verify_file(client_ca);
    context.set_verify_mode(boost::asio::ssl::verify_peer | boost::asio::ssl::verify_fail_if_no_peer_cert);
  }
  return context;
}

}  // namespace mirrord::client::fake
