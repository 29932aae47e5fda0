#include "settings/sections.hpp"

#include "settings/mirror_name.hpp"
#include "settings/topic_filter.hpp"
#include "settings/value_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>

namespace mirrord {
namespace {

constexpr std::int64_t int32_max = std::numeric_limits<std::int32_t>::max();
constexpr std::int64_t int16_max = std::numeric_limits<std::int16_t>::max();

struct endpoint {
  std::string_view host;
  std::string_view port;
};

// "host:port", "[::1]:port"; an empty host where there is no such thing.
endpoint split_endpoint(std::string_view text) {
  const auto colon = text.rfind(':');
  if (colon == std::string_view::npos) return {};
  std::string_view host = text.substr(0, colon);
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  else if (host.find_first_of(":[]") != std::string_view::npos) return {};
  return {host, text.substr(colon + 1)};
}

std::string check_port(std::string_view port, std::int64_t min) {
  const auto number = parse_integer(port);
  if (!number || *number < min || *number > 65535) return fmt::format("the port must be a number from {} to 65535", min);
  return {};
}

std::string check_bootstrap_server(std::string_view text) {
  const auto [host, port] = split_endpoint(text);
  if (host.empty()) return "must be host:port, or [address]:port for IPv6";
  if (host.find_first_of(" \t/@,") != std::string_view::npos) return "must be host:port, without protocol or user name";
  return check_port(port, 1);
}

std::string check_listen(std::string_view text) {
  const auto [host, port] = split_endpoint(text);
  if (host.empty() || host.find_first_not_of("0123456789abcdefABCDEF.:") != std::string_view::npos) {
    return "must be a numeric address with a port: 127.0.0.1:8489 or [::1]:8489";
  }
  return check_port(port, 0);
}

std::string check_ownership(std::string_view text) {
  if (text == "sidecar") return "sidecar is not available yet and comes with a later version: write all";
  return {};
}

std::string check_replication_factor(std::int64_t value) { return value == 0 ? "must be -1 or at least 1" : std::string{}; }

field<settings> listen_field() {
  field<settings> row;
  static_cast<field_rules&>(row) = {.key = "http.listen",
                                    .kind = value_kind::text,
                                    .doc = "Address and port of the status server: /healthz and /status. It has no authentication: "
                                           "keep it on loopback. Port 0 takes any free port.",
                                    .check = check_listen};
  row.get = [](const settings& s) -> field_value {
    const bool is_v6 = s.http.address.find(':') != std::string::npos;
    return is_v6 ? fmt::format("[{}]:{}", s.http.address, s.http.port) : fmt::format("{}:{}", s.http.address, s.http.port);
  };
  row.set = [](settings& s, field_value value) {
    const auto [host, port] = split_endpoint(std::get<std::string>(value));
    s.http.address = host;
    s.http.port = static_cast<std::uint16_t>(*parse_integer(port));
  };
  return row;
}

}  // namespace

const std::vector<field<settings>>& daemon_fields() {
  static const std::vector<field<settings>> rows = {
      make_field<settings>({.key = "ownership",
                            .kind = value_kind::choice,
                            .doc = "Which daemon works on which partition. all: this daemon works on every partition.",
                            .choices = {"all"},
                            .check = check_ownership},
                           [](auto& s) -> auto& { return s.ownership; }),
      listen_field(),
      make_field<settings>({.key = "log.level",
                            .kind = value_kind::choice,
                            .doc = "Lowest level that is logged. error: act now; warn: look when you can; info: something changed; "
                                   "debug: for developers.",
                            .choices = {"debug", "info", "warn", "error"}},
                           [](auto& s) -> auto& { return s.log_level; }),
      make_field<settings>({.key = "mirror.state.topic.num.partitions",
                            .kind = value_kind::integer,
                            .doc = "Partitions of the topic __mirror_state in the destination cluster. Used when it is created; must "
                                   "not change afterwards.",
                            .unit = "partitions",
                            .min = 1,
                            .max = 10'000},
                           [](auto& s) -> auto& { return s.state_topic.partitions; }),
      make_field<settings>({.key = "mirror.state.topic.replication.factor",
                            .kind = value_kind::integer,
                            .doc = "Replicas of __mirror_state. -1: 3, or the number of brokers where there are fewer.",
                            .unit = "replicas",
                            .min = -1,
                            .max = int16_max,
                            .check_number = check_replication_factor},
                           [](auto& s) -> auto& { return s.state_topic.replication_factor; }),
      make_field<settings>({.key = "mirror.topic.replication.factor",
                            .kind = value_kind::integer,
                            .doc = "Replicas of the topics that the daemon creates in the destination cluster. -1: the brokers' default.",
                            .unit = "replicas",
                            .min = -1,
                            .max = int16_max,
                            .check_number = check_replication_factor},
                           [](auto& s) -> auto& { return s.topic_replication_factor; }),
      make_field<settings>({.key = "mirror.metadata.refresh.interval.ms",
                            .kind = value_kind::duration,
                            .doc = "How often new topics and partitions are looked for and the ends of both sides are compared.",
                            .min = 100,
                            .max = 3'600'000},
                           [](auto& s) -> auto& { return s.metadata_refresh_interval; }),
      make_field<settings>({.key = "hole.fill.max",
                            .kind = value_kind::integer,
                            .doc = "Largest number of missing source offsets that is filled in one partition. Each costs 78 bytes in "
                                   "the destination; beyond it the partition is FAILED and nothing is written.",
                            .unit = "offsets",
                            .min = 0,
                            .max = 1'000'000'000'000},
                           [](auto& s) -> auto& { return s.hole_fill_max; }),
      make_field<settings>({.key = "lanes",
                            .kind = value_kind::integer,
                            .doc = "Connections to each destination broker over which data is written.",
                            .unit = "connections",
                            .min = 1,
                            .max = 64},
                           [](auto& s) -> auto& { return s.lanes; }),
      make_field<settings>({.key = "fetch.max.bytes",
                            .kind = value_kind::size,
                            .doc = "Most bytes of one partition in one fetch from a source.",
                            .min = 1024,
                            .max = int32_max},
                           [](auto& s) -> auto& { return s.fetch.max_bytes; }),
      make_field<settings>({.key = "fetch.response.max.bytes",
                            .kind = value_kind::size,
                            .doc = "Most bytes in one fetch from a source, over all partitions; at least 512 bytes below "
                                   "receive.message.max.bytes of each source.",
                            .min = 1024,
                            .max = int32_max},
                           [](auto& s) -> auto& { return s.fetch.response_max_bytes; }),
      make_field<settings>({.key = "fetch.min.bytes",
                            .kind = value_kind::size,
                            .doc = "A source broker waits for this much new data before it answers a fetch, up to fetch.wait.max.ms.",
                            .min = 1,
                            .max = int32_max},
                           [](auto& s) -> auto& { return s.fetch.min_bytes; }),
      make_field<settings>({.key = "fetch.wait.max.ms",
                            .kind = value_kind::duration,
                            .doc = "How long a source broker may hold back a fetch while there is no new data; below "
                                   "request.timeout.ms of each source.",
                            .min = 1,
                            .max = 60'000},
                           [](auto& s) -> auto& { return s.fetch.wait_max; }),
  };
  return rows;
}

const std::vector<field<mirror_settings>>& mirror_fields() {
  static const std::vector<field<mirror_settings>> rows = {
      make_field<mirror_settings>({.key = "name",
                                   .kind = value_kind::text,
                                   .doc = "Name of the mirror: letters, digits, '.', '_' and '-'; unique; never reused for another source.",
                                   .required = true,
                                   .check = mirror_name_problem},
                                  [](auto& m) -> auto& { return m.name; }),
      make_field<mirror_settings>({.key = "topics.include",
                                   .kind = value_kind::list,
                                   .doc = "Topics to mirror: names, or RE2 patterns that match the full name. A name must exist on "
                                          "the source.",
                                   .required = true,
                                   .check = topic_entry_problem},
                                  [](auto& m) -> auto& { return m.topics_include; }),
      make_field<mirror_settings>({.key = "topics.exclude",
                                   .kind = value_kind::list,
                                   .doc = "Topics to leave out, even if included. Kafka's internal topics are always left out.",
                                   .check = topic_entry_problem},
                                  [](auto& m) -> auto& { return m.topics_exclude; }),
  };
  return rows;
}

const std::vector<field<connection_settings>>& connection_fields() {
  static const std::vector<field<connection_settings>> rows = {
      make_field<connection_settings>({.key = "bootstrap.servers",
                                       .kind = value_kind::list,
                                       .doc = "Brokers to ask first: host:port, separated by commas or as a list. Used again "
                                              "whenever no known broker can be reached.",
                                       .required = true,
                                       .comma_separated = true,
                                       .check = check_bootstrap_server},
                                      [](auto& c) -> auto& { return c.bootstrap_servers; }),
      make_field<connection_settings>({.key = "client.id",
                                       .kind = value_kind::text,
                                       .doc = "How the brokers' logs and quotas name this client."},
                                      [](auto& c) -> auto& { return c.client_id; }),
      make_field<connection_settings>({.key = "security.protocol",
                                       .kind = value_kind::choice,
                                       .doc = "Encryption and authentication of the connections.",
                                       .choices = {name(security_protocol::plaintext),
                                                   name(security_protocol::ssl),
                                                   name(security_protocol::sasl_plaintext),
                                                   name(security_protocol::sasl_ssl)}},
                                      [](auto& c) -> auto& { return c.security_protocol; }),
      make_field<connection_settings>({.key = "ssl.ca.location",
                                       .kind = value_kind::text,
                                       .doc = "PEM file of the certificate authorities that are trusted. Empty: the system's."},
                                      [](auto& c) -> auto& { return c.ssl_ca_location; }),
      make_field<connection_settings>({.key = "ssl.certificate.location",
                                       .kind = value_kind::text,
                                       .doc = "PEM file of the client's own certificate with its chain. Empty: none is shown."},
                                      [](auto& c) -> auto& { return c.ssl_certificate_location; }),
      make_field<connection_settings>({.key = "ssl.key.location",
                                       .kind = value_kind::text,
                                       .doc = "PEM file of the private key that belongs to the certificate."},
                                      [](auto& c) -> auto& { return c.ssl_key_location; }),
      make_field<connection_settings>({.key = "ssl.key.password",
                                       .kind = value_kind::text,
                                       .doc = "Password of an encrypted private key.",
                                       .secret = true},
                                      [](auto& c) -> auto& { return c.ssl_key_password; }),
      make_field<connection_settings>({.key = "ssl.endpoint.identification.algorithm",
                                       .kind = value_kind::choice,
                                       .doc = "https: the broker's certificate must carry the name that is connected to. none: not "
                                              "checked.",
                                       .choices = {name(endpoint_identification::https), name(endpoint_identification::none)}},
                                      [](auto& c) -> auto& { return c.ssl_endpoint_identification; }),
      make_field<connection_settings>({.key = "sasl.mechanism",
                                       .kind = value_kind::choice,
                                       .doc = "How the user name and password are proved with SASL_PLAINTEXT or SASL_SSL.",
                                       .choices = {name(sasl_mechanism::plain),
                                                   name(sasl_mechanism::scram_sha_256),
                                                   name(sasl_mechanism::scram_sha_512)}},
                                      [](auto& c) -> auto& { return c.sasl_mechanism; }),
      make_field<connection_settings>({.key = "sasl.username",
                                       .kind = value_kind::text,
                                       .doc = "User name."},
                                      [](auto& c) -> auto& { return c.sasl_username; }),
      make_field<connection_settings>({.key = "sasl.password",
                                       .kind = value_kind::text,
                                       .doc = "Password; best as a reference to a file or the environment.",
                                       .secret = true},
                                      [](auto& c) -> auto& { return c.sasl_password; }),
      make_field<connection_settings>({.key = "request.timeout.ms",
                                       .kind = value_kind::duration,
                                       .doc = "How long an answer may take before the connection is given up.",
                                       .min = 1'000,
                                       .max = 600'000},
                                      [](auto& c) -> auto& { return c.request_timeout; }),
      make_field<connection_settings>({.key = "socket.connection.setup.timeout.ms",
                                       .kind = value_kind::duration,
                                       .doc = "How long connecting may take, TLS and authentication included.",
                                       .min = 100,
                                       .max = 600'000},
                                      [](auto& c) -> auto& { return c.socket_connection_setup_timeout; }),
      make_field<connection_settings>({.key = "reconnect.backoff.ms",
                                       .kind = value_kind::duration,
                                       .doc = "Pause before the first new attempt to connect; doubled with each failure.",
                                       .min = 1,
                                       .max = 3'600'000},
                                      [](auto& c) -> auto& { return c.reconnect_backoff; }),
      make_field<connection_settings>({.key = "reconnect.backoff.max.ms",
                                       .kind = value_kind::duration,
                                       .doc = "Longest pause between two attempts to connect.",
                                       .min = 1,
                                       .max = 3'600'000},
                                      [](auto& c) -> auto& { return c.reconnect_backoff_max; }),
      make_field<connection_settings>({.key = "receive.message.max.bytes",
                                       .kind = value_kind::size,
                                       .doc = "Largest answer that is accepted; a larger one ends the connection.",
                                       .min = 64 * 1024,
                                       .max = int32_max},
                                      [](auto& c) -> auto& { return c.receive_message_max_bytes; }),
  };
  return rows;
}

std::vector<connection_conflict> conflicts_in(const connection_settings& c) {
  std::vector<connection_conflict> found;
  const auto require = [&](bool holds, std::string_view key, std::string text) {
    if (!holds) found.push_back({key, std::move(text)});
  };
  const std::string required_with = fmt::format("required with security.protocol {}", name(c.security_protocol));
  const std::string no_effect_with = fmt::format("has no effect with security.protocol {}", name(c.security_protocol));
  const bool own_certificate = !c.ssl_certificate_location.empty();
  const bool own_key = !c.ssl_key_location.empty();
  const bool sasl = uses_sasl(c.security_protocol);
  const bool tls = uses_tls(c.security_protocol);
  require(!sasl || !c.sasl_username.empty(), "sasl.username", required_with);
  require(!sasl || !c.sasl_password.empty(), "sasl.password", required_with);
  require(sasl || c.sasl_username.empty(), "sasl.username", no_effect_with);
  require(sasl || c.sasl_password.empty(), "sasl.password", no_effect_with);
  require(tls || c.ssl_ca_location.empty(), "ssl.ca.location", no_effect_with);
  require(tls || !own_certificate, "ssl.certificate.location", no_effect_with);
  require(!own_certificate || own_key, "ssl.key.location", "required with ssl.certificate.location");
  require(!own_key || own_certificate, "ssl.certificate.location", "required with ssl.key.location");
  require(c.reconnect_backoff <= c.reconnect_backoff_max, "reconnect.backoff.max.ms", "must not be below reconnect.backoff.ms");
  return found;
}

std::string_view replacement_of(std::string_view java_key) noexcept {
  struct replacement {
    std::string_view prefix;
    std::string_view text;
  };
  static constexpr std::array<replacement, 4> table = {{
      {"ssl.truststore.", "write ssl.ca.location with a PEM file"},
      {"ssl.keystore.", "write ssl.certificate.location and ssl.key.location with PEM files"},
      {"sasl.jaas.config", "write sasl.username and sasl.password"},
      {"enable.ssl.certificate.verification", "certificates are always verified; ssl.endpoint.identification.algorithm says whether the host name is"},
  }};
  const auto found = std::find_if(table.begin(), table.end(), [&](const replacement& r) { return java_key.starts_with(r.prefix); });
  return found == table.end() ? std::string_view{} : found->text;
}

}  // namespace mirrord
