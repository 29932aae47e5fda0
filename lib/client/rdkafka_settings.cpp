#include "client/rdkafka_settings.hpp"

#include "client/rdkafka_tunnel.hpp"

#include <algorithm>
#include <array>

namespace mirrord::client {
namespace {

// librdkafka's own bounds; it refuses values outside instead of clipping them.
constexpr std::int64_t socket_timeout_ms_min = 10;
constexpr std::int64_t socket_timeout_ms_max = 300'000;
constexpr std::int64_t connection_setup_timeout_ms_min = 1'000;
constexpr std::int64_t connection_setup_timeout_ms_max = 2'147'483'647;
constexpr std::int64_t backoff_ms_max = 3'600'000;

std::string clipped(std::chrono::milliseconds value, std::int64_t low, std::int64_t high) {
  return std::to_string(std::clamp<std::int64_t>(value.count(), low, high));
}

std::string joined(const std::vector<std::string>& servers) {
  std::string list;
  for (const std::string& server : servers) {
    if (!list.empty()) list += ',';
    list += server;
  }
  return list;
}

result<void> set_secret(rd_kafka_conf_t& conf, const char* property, const std::string& value) {
  if (rd_kafka_conf_set(&conf, property, value.c_str(), nullptr, 0) == RD_KAFKA_CONF_OK) return {};
  return fail(errc::invalid, std::string("librdkafka refuses the value of ") + property);
}

struct setting {
  const char* property;
  std::string value;
};

std::vector<setting> plain_settings(const connection_settings& c) {
  std::vector<setting> list{
      {"bootstrap.servers", joined(c.bootstrap_servers)},
      {"client.id", c.client_id},
      {"socket.timeout.ms", clipped(c.request_timeout, socket_timeout_ms_min, socket_timeout_ms_max)},
      {"socket.connection.setup.timeout.ms",
       clipped(c.socket_connection_setup_timeout, connection_setup_timeout_ms_min, connection_setup_timeout_ms_max)},
      {"reconnect.backoff.ms", clipped(c.reconnect_backoff, 0, backoff_ms_max)},
      {"reconnect.backoff.max.ms", clipped(c.reconnect_backoff_max, 0, backoff_ms_max)},
      {"socket.keepalive.enable", "true"},
      {"log.connection.close", "false"},       // brokers close idle connections; that is no news
      {"allow.auto.create.topics", "false"},   // a producer's default is true, on brokers the default is true as well
      {"log.queue", "true"},                   // logs come as events to our loop, not from librdkafka's threads
  };
  if (needs_tunnel(c)) {
    list.push_back({"security.protocol", std::string(name(security_protocol::plaintext))});
    return list;
  }
  list.push_back({"security.protocol", std::string(name(c.security_protocol))});
  list.push_back({"socket.nagle.disable", "true"});  // single small requests: waiting for more costs 40 ms each
  if (uses_tls(c.security_protocol)) {
    list.push_back({"ssl.endpoint.identification.algorithm", std::string(name(c.ssl_endpoint_identification))});
    if (!c.ssl_ca_location.empty()) list.push_back({"ssl.ca.location", c.ssl_ca_location});
    if (!c.ssl_certificate_location.empty()) list.push_back({"ssl.certificate.location", c.ssl_certificate_location});
    if (!c.ssl_key_location.empty()) list.push_back({"ssl.key.location", c.ssl_key_location});
  }
  if (uses_sasl(c.security_protocol)) {
    list.push_back({"sasl.mechanism", std::string(name(c.sasl_mechanism))});
    list.push_back({"sasl.username", c.sasl_username});
  }
  return list;
}

struct local_meaning {
  rd_kafka_resp_err_t code;
  errc meaning;
};

// The others say nothing that a caller could act on: errc::io.
constexpr std::array local_meanings{
    local_meaning{RD_KAFKA_RESP_ERR__TIMED_OUT, errc::timed_out},
    local_meaning{RD_KAFKA_RESP_ERR__TIMED_OUT_QUEUE, errc::timed_out},
    local_meaning{RD_KAFKA_RESP_ERR__MSG_TIMED_OUT, errc::timed_out},
    local_meaning{RD_KAFKA_RESP_ERR__TRANSPORT, errc::connection_lost},
    local_meaning{RD_KAFKA_RESP_ERR__RESOLVE, errc::unreachable},
    local_meaning{RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN, errc::unreachable},
    local_meaning{RD_KAFKA_RESP_ERR__SSL, errc::authentication_failed},
    local_meaning{RD_KAFKA_RESP_ERR__AUTHENTICATION, errc::authentication_failed},
    local_meaning{RD_KAFKA_RESP_ERR__UNSUPPORTED_FEATURE, errc::unsupported},
    local_meaning{RD_KAFKA_RESP_ERR__BAD_MSG, errc::malformed},
    local_meaning{RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC, errc::not_found},
    local_meaning{RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION, errc::not_found},
    local_meaning{RD_KAFKA_RESP_ERR__UNKNOWN_BROKER, errc::not_found},
    local_meaning{RD_KAFKA_RESP_ERR__INVALID_ARG, errc::invalid},
    local_meaning{RD_KAFKA_RESP_ERR__QUEUE_FULL, errc::limit_exceeded},
    local_meaning{RD_KAFKA_RESP_ERR__PURGE_QUEUE, errc::cancelled},
    local_meaning{RD_KAFKA_RESP_ERR__PURGE_INFLIGHT, errc::outcome_unknown},
    local_meaning{RD_KAFKA_RESP_ERR__DESTROY, errc::cancelled},
};

errc meaning_of(rd_kafka_resp_err_t code) {
  for (const local_meaning& row : local_meanings) {
    if (row.code == code) return row.meaning;
  }
  return errc::io;
}

}  // namespace

result<void> set_property(rd_kafka_conf_t& conf, const char* property, const std::string& value) {
  std::array<char, 512> reason{};
  if (rd_kafka_conf_set(&conf, property, value.c_str(), reason.data(), reason.size()) == RD_KAFKA_CONF_OK) return {};
  return fail(errc::invalid, std::string("librdkafka refuses ") + property + ": " + reason.data());
}

result<rdkafka_conf> make_rdkafka_conf(const connection_settings& connection) {
  rdkafka_conf conf(rd_kafka_conf_new());
  rd_kafka_conf_set_log_cb(conf.get(), nullptr);  // its default writes to stderr while the client ends
  for (const setting& s : plain_settings(connection)) {
    if (auto set = set_property(*conf, s.property, s.value); !set) return std::move(set).error();
  }
  if (needs_tunnel(connection)) return conf;
  if (uses_tls(connection.security_protocol) && !connection.ssl_key_password.empty()) {
    if (auto set = set_secret(*conf, "ssl.key.password", connection.ssl_key_password); !set) return std::move(set).error();
  }
  if (uses_sasl(connection.security_protocol)) {
    if (auto set = set_secret(*conf, "sasl.password", connection.sasl_password); !set) return std::move(set).error();
  }
  return conf;
}

error rdkafka_failure(rd_kafka_resp_err_t code, const char* text, std::string context) {
  const std::string words = text != nullptr && *text != '\0' ? text : rd_kafka_err2str(code);
  if (code >= RD_KAFKA_RESP_ERR_UNKNOWN) return broker_failure(static_cast<std::int16_t>(code), std::move(context), words);
  return fail(meaning_of(code), std::move(context) + ": " + words);
}

}  // namespace mirrord::client
