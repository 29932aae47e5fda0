#include "client/stream_tls.hpp"

#include <boost/asio/error.hpp>
#include <boost/asio/ip/address.hpp>
#include <boost/asio/ssl/error.hpp>

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509_vfy.h>

#include <algorithm>

namespace mirrord::client {

namespace ssl = boost::asio::ssl;

namespace {

// Without a callback OpenSSL would ask for the password on the terminal.
int give_password(char* buffer, int size, int, void* password) {
  const auto& text = *static_cast<const std::string*>(password);
  const std::size_t n = std::min(text.size(), static_cast<std::size_t>(size));
  std::copy_n(text.data(), n, buffer);
  return static_cast<int>(n);
}

error bad_file(std::string_view setting, const std::string& path, const boost::system::error_code& code) {
  return fail(errc::invalid, std::string(setting) + " " + path + ": " + tls_reason(code));
}

bool is_numeric(const std::string& host) {
  boost::system::error_code not_numeric;
  boost::asio::ip::make_address(host, not_numeric);
  return !not_numeric;
}

std::string verification_failure(long verdict) {
  std::string text = std::string("certificate verify failed: ") + X509_verify_cert_error_string(verdict);
  switch (verdict) {
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    case X509_V_ERR_CERT_SIGNATURE_FAILURE:
      return text + ": set ssl.ca.location to the CA that signed the broker's certificate";
    case X509_V_ERR_HOSTNAME_MISMATCH:
    case X509_V_ERR_IP_ADDRESS_MISMATCH:
      return text + ": the broker's certificate must name the host that it advertises, or set ssl.endpoint.identification.algorithm to none";
    default:
      return text;
  }
}

}  // namespace

result<ssl::context> make_tls_context(const connection_settings& settings) {
  ssl::context context(ssl::context::tls_client);
  SSL_CTX_set_min_proto_version(context.native_handle(), TLS1_2_VERSION);
  SSL_CTX_set_verify(context.native_handle(), SSL_VERIFY_PEER, nullptr);

  boost::system::error_code code;
  if (settings.ssl_ca_location.empty()) {
    if (context.set_default_verify_paths(code); code) return bad_file("the system's CA certificates", "", code);
  } else if (context.load_verify_file(settings.ssl_ca_location, code); code) {
    return bad_file("ssl.ca.location", settings.ssl_ca_location, code);
  }
  if (settings.ssl_certificate_location.empty()) return context;

  if (context.use_certificate_chain_file(settings.ssl_certificate_location, code); code) {
    return bad_file("ssl.certificate.location", settings.ssl_certificate_location, code);
  }
  std::string password = settings.ssl_key_password;
  SSL_CTX_set_default_passwd_cb(context.native_handle(), give_password);
  SSL_CTX_set_default_passwd_cb_userdata(context.native_handle(), &password);
  context.use_private_key_file(settings.ssl_key_location, ssl::context::pem, code);
  SSL_CTX_set_default_passwd_cb_userdata(context.native_handle(), nullptr);
  SSL_CTX_set_default_passwd_cb(context.native_handle(), nullptr);
  if (code) return bad_file("ssl.key.location", settings.ssl_key_location, code);
  return context;
}

result<void> expect_broker(SSL* session, const endpoint& broker, endpoint_identification identification) {
  // A fully qualified name may end in a dot for the resolver; certificates and SNI never do.
  std::string host = broker.host;
  if (host.ends_with('.')) host.pop_back();
  const bool numeric = is_numeric(host);
  if (!numeric && SSL_set_tlsext_host_name(session, host.c_str()) != 1) {
    return fail(errc::invalid, "'" + host + "' is no host name that TLS can ask for");
  }
  if (identification == endpoint_identification::none) return {};

  X509_VERIFY_PARAM* expected = SSL_get0_param(session);
  X509_VERIFY_PARAM_set_hostflags(expected, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
  const int set = numeric ? X509_VERIFY_PARAM_set1_ip_asc(expected, host.c_str()) : X509_VERIFY_PARAM_set1_host(expected, host.c_str(), host.size());
  if (set != 1) return fail(errc::invalid, "'" + host + "' is no host name that a certificate can hold");
  return {};
}

std::string tls_reason(const boost::system::error_code& code) {
  if (code.category() == boost::asio::error::get_ssl_category()) {
    const auto packed = static_cast<unsigned long>(code.value());
    if (const char* reason = ERR_reason_error_string(packed)) return reason;
  }
  return code.message();
}

bool is_refusal(const boost::system::error_code& code) {
  if (code.category() != boost::asio::error::get_ssl_category()) return false;
  // Alerts from the other side are reasons 1000 + alert number (RFC 8446 section 6.2); 40 to 51 are about handshake
  // and certificates, 116 is certificate_required.
  const int alert = ERR_GET_REASON(static_cast<unsigned long>(code.value())) - SSL_AD_REASON_OFFSET;
  return (alert >= SSL_AD_HANDSHAKE_FAILURE && alert <= SSL_AD_DECRYPT_ERROR) || alert == SSL_AD_CERTIFICATE_REQUIRED;
}

error handshake_failure(SSL* session, const endpoint& broker, const boost::system::error_code& code) {
  const std::string where = "TLS handshake with " + broker.text() + ": ";
  if (const long verdict = SSL_get_verify_result(session); verdict != X509_V_OK) {
    return fail(errc::authentication_failed, where + verification_failure(verdict));
  }
  if (is_refusal(code)) {
    return fail(errc::authentication_failed,
                where + "the broker refused us (" + tls_reason(code) + "): check ssl.certificate.location and ssl.key.location");
  }
  if (code == boost::asio::error::eof || code == ssl::error::stream_truncated || code == boost::asio::error::connection_reset ||
      ERR_GET_REASON(static_cast<unsigned long>(code.value())) == SSL_R_WRONG_VERSION_NUMBER) {
    return fail(errc::unreachable, where + tls_reason(code) + ": does this listener speak TLS? Compare security.protocol");
  }
  return fail(errc::unreachable, where + tls_reason(code));
}

}  // namespace mirrord::client
