// The strict loader: every rule with the line at which it is reported.
#include "settings/settings.hpp"

#include <catch2/catch.hpp>

#include <cstdlib>

using namespace mirrord;

namespace {

// A complete configuration; tests append to it, so that what they add starts in line 8.
const std::string minimal =
    "destination:\n"
    "  bootstrap.servers: localhost:9092\n"
    "mirrors:\n"
    "  - name: orders-dr\n"
    "    source:\n"
    "      bootstrap.servers: source:9092\n"
    "    topics.include: [orders]\n";

std::string problems_of(const std::string& text) {
  const auto loaded = load_config_text(text, "f.yaml");
  return loaded ? "(accepted)" : loaded.error().message();
}

std::string problems_after_minimal(const std::string& text) { return problems_of(minimal + text); }

// A configuration whose only source section has these further lines, from line 7 on.
std::string problems_in_source(const std::string& lines) {
  return problems_of(
      "destination:\n"
      "  bootstrap.servers: localhost:9092\n"
      "mirrors:\n"
      "  - name: orders-dr\n"
      "    topics.include: [orders]\n"
      "    source:\n" +
      lines);
}

std::string problems_of_name(const std::string& name) {
  std::string text = minimal;
  text.replace(text.find("orders-dr"), 9, name);
  return problems_of(text);
}

}  // namespace

TEST_CASE("a minimal file takes every default") {
  const auto s = load_config_text(minimal, "f.yaml").value();
  CHECK(s.destination.bootstrap_servers == std::vector<std::string>{"localhost:9092"});
  CHECK(s.destination.security_protocol == security_protocol::plaintext);
  REQUIRE(s.mirrors.size() == 1);
  CHECK(s.mirrors[0].name == "orders-dr");
  CHECK(s.mirrors[0].source.bootstrap_servers == std::vector<std::string>{"source:9092"});
  CHECK(s.mirrors[0].topics_include == std::vector<std::string>{"orders"});
  CHECK(s.mirrors[0].topics_exclude == std::vector<std::string>{"__.*"});
  CHECK(s.ownership == ownership_mode::all);
  CHECK(s.http.address == "127.0.0.1");
  CHECK(s.http.port == 8489);
  CHECK(s.log_level == log::level::info);
  CHECK(s.state_topic.partitions == 50);
  CHECK(s.state_topic.replication_factor == -1);
  CHECK(s.topic_replication_factor == -1);
  CHECK(s.hole_fill_max == 100'000'000);
  CHECK(s.lanes == 2);
  CHECK(s.fetch.max_bytes == 1024 * 1024);
  CHECK(s.fetch.response_max_bytes == 10 * 1024 * 1024);
  CHECK(s.fetch.wait_max == std::chrono::milliseconds(500));
  CHECK(s.fetch.min_bytes == 1);
  CHECK(s.metadata_refresh_interval == std::chrono::seconds(30));
}

TEST_CASE("every key is taken into its member") {
  const auto s = load_config_text(R"(
destination:
  bootstrap.servers: [a:1, "[::1]:2"]
  client.id: me
  security.protocol: SASL_SSL
  ssl.ca.location: /ca.pem
  ssl.certificate.location: /cert.pem
  ssl.key.location: /key.pem
  ssl.key.password: key-secret
  ssl.endpoint.identification.algorithm: none
  sasl.mechanism: SCRAM-SHA-512
  sasl.username: alice
  sasl.password: user-secret
  request.timeout.ms: 20s
  socket.connection.setup.timeout.ms: 5000
  reconnect.backoff.ms: 50
  reconnect.backoff.max.ms: 1m
  receive.message.max.bytes: 32MiB
mirrors:
  - name: m
    source: {bootstrap.servers: "b:1, c:2"}
    topics.include: [x, "y.*"]
    topics.exclude: []
ownership: all
http.listen: "[::1]:0"
log.level: debug
mirror.state.topic.num.partitions: 3
mirror.state.topic.replication.factor: 2
mirror.topic.replication.factor: 1
mirror.metadata.refresh.interval.ms: 250ms
hole.fill.max: 5
lanes: 3
fetch.max.bytes: 64KiB
fetch.response.max.bytes: 1MiB
fetch.min.bytes: 100
fetch.wait.max.ms: 1s
)",
                                  "f.yaml")
                     .value();
  const auto& d = s.destination;
  CHECK(d.bootstrap_servers == std::vector<std::string>{"a:1", "[::1]:2"});
  CHECK(d.client_id == "me");
  CHECK(d.security_protocol == security_protocol::sasl_ssl);
  CHECK(d.ssl_ca_location == "/ca.pem");
  CHECK(d.ssl_certificate_location == "/cert.pem");
  CHECK(d.ssl_key_location == "/key.pem");
  CHECK(d.ssl_key_password == "key-secret");
  CHECK(d.ssl_endpoint_identification == endpoint_identification::none);
  CHECK(d.sasl_mechanism == sasl_mechanism::scram_sha_512);
  CHECK(d.sasl_username == "alice");
  CHECK(d.sasl_password == "user-secret");
  CHECK(d.request_timeout == std::chrono::seconds(20));
  CHECK(d.socket_connection_setup_timeout == std::chrono::seconds(5));
  CHECK(d.reconnect_backoff == std::chrono::milliseconds(50));
  CHECK(d.reconnect_backoff_max == std::chrono::minutes(1));
  CHECK(d.receive_message_max_bytes == 32 * 1024 * 1024);
  CHECK(s.mirrors[0].source.bootstrap_servers == std::vector<std::string>{"b:1", "c:2"});
  CHECK(s.mirrors[0].topics_include == std::vector<std::string>{"x", "y.*"});
  CHECK(s.mirrors[0].topics_exclude.empty());
  CHECK(s.http.address == "::1");
  CHECK(s.http.port == 0);
  CHECK(s.log_level == log::level::debug);
  CHECK(s.state_topic.partitions == 3);
  CHECK(s.state_topic.replication_factor == 2);
  CHECK(s.topic_replication_factor == 1);
  CHECK(s.metadata_refresh_interval == std::chrono::milliseconds(250));
  CHECK(s.hole_fill_max == 5);
  CHECK(s.lanes == 3);
  CHECK(s.fetch.max_bytes == 64 * 1024);
  CHECK(s.fetch.response_max_bytes == 1024 * 1024);
  CHECK(s.fetch.min_bytes == 100);
  CHECK(s.fetch.wait_max == std::chrono::seconds(1));
}

TEST_CASE("an unknown key is told with line, column and nearest key") {
  CHECK(problems_after_minimal("lane: 4\n") == "f.yaml:8: lane: unknown key (column 1); did you mean lanes?");
  CHECK(problems_in_source("      bootstrap.servers: a:1\n      sasl.user: x\n") ==
        "f.yaml:8: mirrors[0].source.sasl.user: unknown key (column 7); did you mean sasl.username?");
  CHECK_THAT(problems_after_minimal("zookeeper: x\n"), Catch::StartsWith("f.yaml:8: zookeeper: unknown key (column 1); known here: destination, mirrors, ownership, "));
}

TEST_CASE("properties of the Java client are told with their replacement") {
  CHECK(problems_in_source("      bootstrap.servers: a:1\n      ssl.truststore.location: /x.jks\n") ==
        "f.yaml:8: mirrors[0].source.ssl.truststore.location: unknown key (column 7): write ssl.ca.location with a PEM file");
  CHECK_THAT(problems_in_source("      bootstrap.servers: a:1\n      sasl.jaas.config: secret\n"), Catch::EndsWith("write sasl.username and sasl.password"));
}

TEST_CASE("a duplicate key is told with both lines") {
  CHECK(problems_after_minimal("lanes: 2\nlanes: 3\n") == "f.yaml:9: lanes: duplicate key, first in line 8");
  CHECK(problems_in_source("      bootstrap.servers: a:1\n      bootstrap.servers: b:1\n") == "f.yaml:8: bootstrap.servers: duplicate key, first in line 7");
}

TEST_CASE("numbers") {
  CHECK_THAT(problems_after_minimal("lanes: 010\n"), Catch::StartsWith("f.yaml:8: lanes: '010': leading zero"));
  CHECK(problems_after_minimal("lanes: four\n") == "f.yaml:8: lanes: 'four': not a whole number");
  CHECK(problems_after_minimal("lanes: 0\n") == "f.yaml:8: lanes: '0': out of range: 1 to 64");
  CHECK(problems_after_minimal("lanes: 65\n") == "f.yaml:8: lanes: '65': out of range: 1 to 64");
  CHECK(problems_after_minimal("mirror.state.topic.replication.factor: 0\n") == "f.yaml:8: mirror.state.topic.replication.factor: '0': must be -1 or at least 1");
  CHECK(problems_after_minimal("mirror.topic.replication.factor: -2\n") == "f.yaml:8: mirror.topic.replication.factor: '-2': out of range: -1 to 32767");
}

TEST_CASE("sizes and durations") {
  CHECK_THAT(problems_after_minimal("fetch.max.bytes: 1MB\n"), Catch::StartsWith("f.yaml:8: fetch.max.bytes: '1MB': unknown unit"));
  CHECK_THAT(problems_after_minimal("fetch.wait.max.ms: 1 minute\n"), Catch::StartsWith("f.yaml:8: fetch.wait.max.ms: '1 minute': unknown unit"));
  CHECK(problems_after_minimal("fetch.wait.max.ms: 61s\n") == "f.yaml:8: fetch.wait.max.ms: '61s': out of range: 1ms to 1m");
}

TEST_CASE("wrong kinds of value") {
  CHECK(problems_after_minimal("lanes: [4]\n") == "f.yaml:8: lanes: must be a single value");
  CHECK(problems_after_minimal("lanes:\n") == "f.yaml:8: lanes: has no value");
  CHECK(problems_after_minimal("log.level: verbose\n") == "f.yaml:8: log.level: 'verbose': must be one of debug, info, warn, error");
  CHECK(problems_of("- a\n- b\n") == "f.yaml:1: must be a section of `key: value` lines");
  CHECK(problems_of("just text\n") == "f.yaml:1: must be a section of `key: value` lines");
  CHECK_THAT(problems_of("destination: localhost:9092\nmirrors: []\n"),
             Catch::Equals("f.yaml:1: destination: must be a section of `key: value` lines\n"
                           "f.yaml:2: mirrors: must be a list of mirrors, each beginning with `- name: ...`"));
}

TEST_CASE("lists") {
  std::string text = minimal;
  const auto replace_topics = [&](const std::string& value) {
    auto changed = text;
    changed.replace(changed.find("[orders]"), 8, value);
    return problems_of(changed);
  };
  CHECK(replace_topics("orders") == "f.yaml:7: mirrors[0].topics.include: must be a list: [first, second]");
  CHECK(replace_topics("[]") == "f.yaml:7: mirrors[0].topics.include: must not be empty");
  CHECK_THAT(replace_topics("\n      - good\n      - 'bad('\n      - [x]\n"),
             Catch::StartsWith("f.yaml:9: mirrors[0].topics.include[1]: 'bad(': not an RE2 pattern: ") &&
                 Catch::EndsWith("f.yaml:10: mirrors[0].topics.include[2]: must be a single value"));
}

TEST_CASE("bootstrap servers") {
  for (const auto* bad : {"a", "a:", ":1", "a:0", "a:65536", "a:01", "::1:9092", "a:1,", "SSL://a:1", "user@a:1"}) {
    INFO(bad);
    CHECK_THAT(problems_in_source("      bootstrap.servers: \"" + std::string(bad) + "\"\n"),
               Catch::StartsWith("f.yaml:7: mirrors[0].source.bootstrap.servers: '" + std::string(bad) + "': "));
  }
  CHECK(problems_in_source("      bootstrap.servers: a:1,b.example.com:2 , [::1]:3\n") == "(accepted)");
}

TEST_CASE("mirror names") {
  for (const auto* good : {"a", "A.b_c-9", "stopped", ".stopped.x", "010"}) CHECK(problems_of_name(good) == "(accepted)");
  CHECK(problems_of_name(std::string(249, 'a')) == "(accepted)");
  CHECK_THAT(problems_of_name(std::string(250, 'a')), Catch::Contains("at most 249 characters"));
  CHECK_THAT(problems_of_name("''"), Catch::StartsWith("f.yaml:4: mirrors[0].name: '': must not be empty"));
  for (const auto* bad : {".", "..", "a b", "a/b", "é", "x.stopped", "x.paused", "x.removed"}) {
    INFO(bad);
    CHECK_THAT(problems_of_name(bad), Catch::StartsWith("f.yaml:4: mirrors[0].name: '" + std::string(bad) + "': "));
  }
  CHECK(problems_after_minimal("  - name: orders-dr\n    source: {bootstrap.servers: a:1}\n    topics.include: [a]\n") ==
        "f.yaml:8: mirrors[1].name: 'orders-dr': another mirror has this name");
}

TEST_CASE("missing required keys are told at the line of their section") {
  CHECK(problems_of("lanes: 4\n") == "f.yaml:1: destination: required, but not given\nf.yaml:1: mirrors: required, but not given");
  CHECK(problems_of("destination:\n  client.id: x\nmirrors:\n  - topics.exclude: []\n") ==
        "f.yaml:2: destination.bootstrap.servers: required, but not given\n"
        "f.yaml:4: mirrors[0].name: required, but not given\n"
        "f.yaml:4: mirrors[0].topics.include: required, but not given\n"
        "f.yaml:4: mirrors[0].source: required, but not given");
}

TEST_CASE("rules between keys") {
  const auto in_source = [](const std::string& lines) { return problems_in_source("      bootstrap.servers: a:1\n" + lines); };
  CHECK(in_source("      security.protocol: SASL_SSL\n      sasl.username: u\n") == "f.yaml:7: mirrors[0].source.sasl.password: required with security.protocol SASL_SSL");
  CHECK(in_source("      sasl.password: p\n") == "f.yaml:8: mirrors[0].source.sasl.password: has no effect with security.protocol PLAINTEXT");
  CHECK(in_source("      ssl.ca.location: /ca\n") == "f.yaml:8: mirrors[0].source.ssl.ca.location: has no effect with security.protocol PLAINTEXT");
  CHECK(in_source("      security.protocol: SSL\n      ssl.certificate.location: /c\n") == "f.yaml:7: mirrors[0].source.ssl.key.location: required with ssl.certificate.location");
  CHECK(in_source("      security.protocol: SSL\n      ssl.key.location: /k\n") == "f.yaml:7: mirrors[0].source.ssl.certificate.location: required with ssl.key.location");
  CHECK(in_source("      reconnect.backoff.ms: 2s\n      reconnect.backoff.max.ms: 1s\n") == "f.yaml:9: mirrors[0].source.reconnect.backoff.max.ms: must not be below reconnect.backoff.ms");
  CHECK(problems_after_minimal("fetch.max.bytes: 11MiB\n") == "f.yaml:8: fetch.max.bytes: must not be above fetch.response.max.bytes");
  CHECK_THAT(problems_after_minimal("fetch.response.max.bytes: 100MiB\n"), Catch::Contains("f.yaml:8: fetch.response.max.bytes: must be 512 bytes below receive.message.max.bytes"));
  CHECK_THAT(problems_after_minimal("fetch.wait.max.ms: 30s\n"), Catch::Contains("f.yaml:8: fetch.wait.max.ms: must be below request.timeout.ms of the source of mirror 'orders-dr'"));
}

TEST_CASE("sidecar ownership is refused with its reason") {
  CHECK_THAT(problems_after_minimal("ownership: sidecar\n"), Catch::StartsWith("f.yaml:8: ownership: 'sidecar': sidecar is not available yet"));
  CHECK(problems_after_minimal("ownership: some\n") == "f.yaml:8: ownership: 'some': must be one of all");
}

TEST_CASE("the listen address") {
  for (const auto* good : {"127.0.0.1:0", "0.0.0.0:80", "[::1]:8489"}) CHECK(problems_after_minimal("http.listen: \"" + std::string(good) + "\"\n") == "(accepted)");
  for (const auto* bad : {"8489", ":8489", "localhost:8489", "127.0.0.1", "127.0.0.1:70000", "::1:80"}) {
    INFO(bad);
    CHECK_THAT(problems_after_minimal("http.listen: \"" + std::string(bad) + "\"\n"), Catch::StartsWith("f.yaml:8: http.listen: '" + std::string(bad) + "': "));
  }
}

TEST_CASE("all problems are told at once, in the order of their lines") {
  CHECK(problems_after_minimal("lanes: 0\nlog.level: loud\nlanes: 1\nhole.fill.maximum: 3\n") ==
        "f.yaml:8: lanes: '0': out of range: 1 to 64\n"
        "f.yaml:9: log.level: 'loud': must be one of debug, info, warn, error\n"
        "f.yaml:10: lanes: duplicate key, first in line 8\n"
        "f.yaml:11: hole.fill.maximum: unknown key (column 1); did you mean hole.fill.max?");
}

TEST_CASE("YAML that is broken or beyond the subset") {
  CHECK(problems_of("") == "f.yaml:1: the file is empty");
  CHECK(problems_of("# only a comment\n") == "f.yaml:1: the file is empty");
  CHECK_THAT(problems_after_minimal("lanes: [1, 2\n"), Catch::Contains("not YAML: "));
  CHECK_THAT(problems_after_minimal("lanes: *x\n"), Catch::Contains("not YAML: "));
  CHECK_THAT(problems_after_minimal("lanes: &x 4\n"), Catch::Contains("f.yaml:8: anchors (&name) are not supported"));
  CHECK_THAT(problems_after_minimal("lanes: !!int 4\n"), Catch::Contains("f.yaml:8: tags (!name) are not supported"));
  CHECK_THAT(problems_after_minimal("client: &x {a: b}\nother: *x\n"), Catch::Contains("f.yaml:9: aliases (*name) are not supported"));
  CHECK_THAT(problems_after_minimal("[a, b]: 4\n"), Catch::Contains("f.yaml:8: a key must be a plain text"));
  CHECK_THAT(problems_after_minimal("---\nlanes: 4\n"), Catch::Contains("a second document (---)"));
  CHECK_THAT(problems_of(std::string(100'000, '[')), Catch::Contains("not YAML: "));
}

TEST_CASE("references in values; what they resolve to never shows") {
  ::setenv("MIRRORD_TEST_SERVERS", "a:1,b:2", 1);
  ::setenv("MIRRORD_TEST_SECRET", "hunter2", 1);
  ::unsetenv("MIRRORD_TEST_MISSING");
  std::string text = minimal;
  text.replace(text.find("source:9092"), 11, "${env:MIRRORD_TEST_SERVERS}");
  CHECK(load_config_text(text, "f.yaml").value().mirrors[0].source.bootstrap_servers == std::vector<std::string>{"a:1", "b:2"});
  CHECK(problems_in_source("      bootstrap.servers: a:1\n      client.id: ${env:MIRRORD_TEST_MISSING}\n") ==
        "f.yaml:8: mirrors[0].source.client.id: ${env:MIRRORD_TEST_MISSING}: the environment variable is not set");
  CHECK(problems_after_minimal("lanes: ${env:MIRRORD_TEST_SECRET}\n") == "f.yaml:8: lanes: '${env:MIRRORD_TEST_SECRET}': not a whole number");
  CHECK(problems_after_minimal("fetch.max.bytes: ${env:MIRRORD_TEST_SECRET}\n").find("hunter2") == std::string::npos);
  CHECK(problems_in_source("      bootstrap.servers: ${env:MIRRORD_TEST_SECRET}\n").find("hunter2") == std::string::npos);
  ::setenv("MIRRORD_TEST_SECRET", "hunter2(", 1);
  CHECK_THAT(problems_after_minimal("    topics.exclude: ['${env:MIRRORD_TEST_SECRET}']\n"),
             Catch::Equals("f.yaml:8: mirrors[0].topics.exclude[0]: '${env:MIRRORD_TEST_SECRET}': not an RE2 pattern: missing )"));
}

TEST_CASE("a file that cannot be read") {
  const auto missing = load_config("/nowhere/at/all.yaml");
  REQUIRE_FALSE(missing.has_value());
  CHECK(missing.error().message() == "/nowhere/at/all.yaml:1: the file cannot be opened");
  const auto directory = load_config("/");
  REQUIRE_FALSE(directory.has_value());
  CHECK(directory.error().message() == "/:1: the file cannot be read");
}
