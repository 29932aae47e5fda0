// TLS towards a broker: the context with its trust and our certificate, the check of the broker's name, and OpenSSL's
// failures in words that say which setting to change. Used by stream alone.
#pragma once

#include "base/error.hpp"
#include "client/endpoint.hpp"
#include "settings/connection_settings.hpp"

#include <boost/asio/ssl/context.hpp>
#include <boost/system/error_code.hpp>

#include <string>

namespace mirrord::client {

// TLS 1.2 or newer. Reads the PEM files anew each time, so that a renewed certificate is picked up by the next
// connection. errc::invalid names the setting and the file.
[[nodiscard]] result<boost::asio::ssl::context> make_tls_context(const connection_settings& settings);

// Sets SNI and what the broker's certificate must be good for; `ssl` must not have begun its handshake.
[[nodiscard]] result<void> expect_broker(SSL* ssl, const endpoint& broker, endpoint_identification identification);

// A failed handshake. errc::authentication_failed if one side refused the other's certificate.
[[nodiscard]] error handshake_failure(SSL* ssl, const endpoint& broker, const boost::system::error_code& code);

// Whether the other side refused our certificate, which with TLS 1.3 shows only at the first read after the handshake.
[[nodiscard]] bool is_refusal(const boost::system::error_code& code);

// OpenSSL's reason alone: "certificate verify failed".
[[nodiscard]] std::string tls_reason(const boost::system::error_code& code);

}  // namespace mirrord::client
