#include "client/rdkafka_settings.hpp"

#include <catch2/catch.hpp>

#include <array>

using namespace mirrord;
using namespace mirrord::client;

namespace {

std::string property(rd_kafka_conf_t& conf, const char* name) {
  std::array<char, 512> value{};
  std::size_t size = value.size();
  REQUIRE(rd_kafka_conf_get(&conf, name, value.data(), &size) == RD_KAFKA_CONF_OK);
  return value.data();
}

}  // namespace

TEST_CASE("connection settings become librdkafka's properties", "[rdkafka_settings]") {
  connection_settings c;
  c.bootstrap_servers = {"one:9092", "[::1]:9093"};
  c.security_protocol = security_protocol::sasl_ssl;
  c.ssl_ca_location = "/etc/ssl/certs/ca-certificates.crt";
  c.ssl_endpoint_identification = endpoint_identification::none;
  c.sasl_mechanism = sasl_mechanism::plain;
  c.sasl_username = "mirror";
  c.sasl_password = "open sesame";
  const auto conf = make_rdkafka_conf(c).value();
  CHECK(property(*conf, "bootstrap.servers") == "one:9092,[::1]:9093");
  CHECK(property(*conf, "security.protocol") == "sasl_ssl");
  CHECK(property(*conf, "ssl.ca.location") == "/etc/ssl/certs/ca-certificates.crt");
  CHECK(property(*conf, "ssl.endpoint.identification.algorithm") == "none");
  CHECK(property(*conf, "sasl.mechanism") == "PLAIN");
  CHECK(property(*conf, "sasl.username") == "mirror");
  CHECK(property(*conf, "client.id") == "kafka-mirrord");
  CHECK(property(*conf, "socket.timeout.ms") == "30000");
  CHECK(property(*conf, "allow.auto.create.topics") == "false");
}

TEST_CASE("librdkafka leaves SCRAM, and the TLS around it, to the tunnel", "[rdkafka_settings]") {
  connection_settings c;
  c.bootstrap_servers = {"one:9092"};
  c.security_protocol = security_protocol::sasl_ssl;
  c.sasl_mechanism = sasl_mechanism::scram_sha_512;
  c.sasl_username = "mirror";
  c.sasl_password = "open sesame";
  c.ssl_ca_location = "/no/such/file";
  const auto conf = make_rdkafka_conf(c).value();
  CHECK(property(*conf, "security.protocol") == "plaintext");
}

TEST_CASE("values outside librdkafka's bounds are clipped", "[rdkafka_settings]") {
  connection_settings c;
  c.bootstrap_servers = {"one:9092"};
  c.request_timeout = std::chrono::hours(1);
  c.socket_connection_setup_timeout = std::chrono::milliseconds(1);
  const auto conf = make_rdkafka_conf(c).value();
  CHECK(property(*conf, "socket.timeout.ms") == "300000");
  CHECK(property(*conf, "socket.connection.setup.timeout.ms") == "1000");
  CHECK(property(*conf, "security.protocol") == "plaintext");
}

TEST_CASE("librdkafka's codes become our errors", "[rdkafka_settings]") {
  const error refused = rdkafka_failure(RD_KAFKA_RESP_ERR_TOPIC_ALREADY_EXISTS, "Topic 'x' already exists.", "create topic x");
  CHECK(refused.code == errc::broker);
  CHECK(refused.broker_code == 36);
  CHECK(refused.broker_text == "Topic 'x' already exists.");
  CHECK(refused.context == "create topic x");

  CHECK(rdkafka_failure(RD_KAFKA_RESP_ERR_UNKNOWN, nullptr, "x").code == errc::broker);
  CHECK(rdkafka_failure(RD_KAFKA_RESP_ERR__TIMED_OUT, nullptr, "x").code == errc::timed_out);
  CHECK(rdkafka_failure(RD_KAFKA_RESP_ERR__MSG_TIMED_OUT, nullptr, "x").code == errc::timed_out);
  CHECK(rdkafka_failure(RD_KAFKA_RESP_ERR__AUTHENTICATION, nullptr, "x").code == errc::authentication_failed);
  CHECK(rdkafka_failure(RD_KAFKA_RESP_ERR__SSL, nullptr, "x").code == errc::authentication_failed);
  CHECK(rdkafka_failure(RD_KAFKA_RESP_ERR__RESOLVE, nullptr, "x").code == errc::unreachable);
  CHECK(rdkafka_failure(RD_KAFKA_RESP_ERR__INVALID_ARG, nullptr, "x").code == errc::invalid);
  CHECK(rdkafka_failure(RD_KAFKA_RESP_ERR__FS, nullptr, "x").code == errc::io);
  const error local = rdkafka_failure(RD_KAFKA_RESP_ERR__TIMED_OUT, "waiting for controller", "create topic x");
  CHECK(local.context == "create topic x: waiting for controller");
  CHECK(local.broker_code == 0);
}

TEST_CASE("refused properties name the property and the reason", "[rdkafka_settings]") {
  const rdkafka_conf conf(rd_kafka_conf_new());
  const auto set = set_property(*conf, "linger.ms", "soon");
  REQUIRE(set.has_error());
  CHECK(set.error().code == errc::invalid);
  CHECK_THAT(set.error().context, Catch::Contains("linger.ms"));
  CHECK(set_property(*conf, "linger.ms", "5").has_value());
}
