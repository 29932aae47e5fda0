// How to reach one Kafka cluster and how to prove who we are: the one set of connection and security settings for both
// our wire client and librdkafka.
//
// Members carry Kafka's own property names (`ssl.ca.location` is ssl_ca_location). Values are what load_config made of
// them: in bounds, references resolved. Certificates are paths of PEM files, read anew for each connection, so that a
// renewed certificate needs no restart.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace mirrord {

enum class security_protocol : std::uint8_t { plaintext, ssl, sasl_plaintext, sasl_ssl };

enum class sasl_mechanism : std::uint8_t { plain, scram_sha_256, scram_sha_512 };

// Whether the name in the broker's certificate must match the host that we connect to.
enum class endpoint_identification : std::uint8_t { https, none };

struct connection_settings {
  std::vector<std::string> bootstrap_servers;  // "host:port", "[::1]:port"
  std::string client_id = "kafka-mirrord";     // names us in the brokers' logs and quotas

  mirrord::security_protocol security_protocol = mirrord::security_protocol::plaintext;
  std::string ssl_ca_location;           // CAs that we trust; empty: the system's
  std::string ssl_certificate_location;  // our own certificate with its chain; empty: none
  std::string ssl_key_location;
  std::string ssl_key_password;
  endpoint_identification ssl_endpoint_identification = endpoint_identification::https;

  mirrord::sasl_mechanism sasl_mechanism = mirrord::sasl_mechanism::plain;
  std::string sasl_username;
  std::string sasl_password;

  std::chrono::milliseconds request_timeout{30'000};
  std::chrono::milliseconds socket_connection_setup_timeout{10'000};  // TCP, TLS, SASL and ApiVersions together
  std::chrono::milliseconds reconnect_backoff{100};                   // doubled after each failure ...
  std::chrono::milliseconds reconnect_backoff_max{10'000};            // ... up to this
  std::int32_t receive_message_max_bytes = 100 * 1024 * 1024;         // largest answer that we accept
};

// As in Kafka's property `security.protocol`.
[[nodiscard]] constexpr std::string_view name(security_protocol p) noexcept {
  switch (p) {
    case security_protocol::plaintext: return "PLAINTEXT";
    case security_protocol::ssl: return "SSL";
    case security_protocol::sasl_plaintext: return "SASL_PLAINTEXT";
    case security_protocol::sasl_ssl: return "SASL_SSL";
  }
  return "";
}

// As in Kafka's property `sasl.mechanism`.
[[nodiscard]] constexpr std::string_view name(sasl_mechanism m) noexcept {
  switch (m) {
    case sasl_mechanism::plain: return "PLAIN";
    case sasl_mechanism::scram_sha_256: return "SCRAM-SHA-256";
    case sasl_mechanism::scram_sha_512: return "SCRAM-SHA-512";
  }
  return "";
}

// As in the property `ssl.endpoint.identification.algorithm`.
[[nodiscard]] constexpr std::string_view name(endpoint_identification e) noexcept {
  return e == endpoint_identification::https ? "https" : "none";
}

[[nodiscard]] constexpr bool uses_tls(security_protocol p) noexcept {
  return p == security_protocol::ssl || p == security_protocol::sasl_ssl;
}

[[nodiscard]] constexpr bool uses_sasl(security_protocol p) noexcept {
  return p == security_protocol::sasl_plaintext || p == security_protocol::sasl_ssl;
}

}  // namespace mirrord
