// A Java properties file to connection settings: the text, the logins, the stores, and what is refused.
#include "settings/client_properties.hpp"

#include "settings/jaas_config.hpp"

#include <catch2/catch.hpp>

#include <cstdlib>

using namespace mirrord;

namespace {

std::string values_of(std::string_view text) {
  std::string out;
  const auto parsed = parse_properties(text);
  for (const auto& p : parsed.properties) out += std::to_string(p.line) + ":[" + p.key + "][" + p.value + "]";
  for (const auto& p : parsed.problems) out += std::to_string(p.line) + "!" + p.key + ": " + p.text;
  return out;
}

connection_settings settings_of(std::string_view text) { return load_client_properties_text(text, "f", {}).value().connection; }

std::string problems_of(std::string_view text, properties_rules rules = {}) {
  const auto loaded = load_client_properties_text(text, "f", rules);
  return loaded ? "(accepted)" : loaded.error().message();
}

const std::string sasl = "security.protocol=SASL_PLAINTEXT\n";
const std::string plain_login = "sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required ";
const std::string scram_login = "sasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule required ";

std::string jaas_problem(const std::string& text) {
  const auto parsed = parse_jaas_config(text);
  return parsed ? "(accepted)" : parsed.error().context.substr(0, parsed.error().context.find(';'));
}

}  // namespace

TEST_CASE("the three ways to write a property") {
  CHECK(values_of("a=1\nb:2\nc 3\nd = 4 \n  e\t:\t5\nf\ng=\nh==x\ni a:b=c") ==
        "1:[a][1]2:[b][2]3:[c][3]4:[d][4 ]5:[e][5]6:[f][]7:[g][]8:[h][=x]9:[i][a:b=c]");
  CHECK(values_of("a=1\r\nb=2\rc=3") == "1:[a][1]2:[b][2]3:[c][3]");
  CHECK(values_of("").empty());
}

TEST_CASE("comments and blank lines") {
  CHECK(values_of("# a=1\n  ! b=2\n\n \t\f\nc=#3\n# goes not on \\\nd=4") == "5:[c][#3]7:[d][4]");
}

TEST_CASE("a line goes on after a backslash") {
  CHECK(values_of("a=1,\\\n   2,\\\n# 3\nb=4") == "1:[a][1,2,# 3]4:[b][4]");
  CHECK(values_of("a=x\\\\\nb=y") == "1:[a][x\\]2:[b][y]");
  CHECK(values_of("a=x\\") == "1:[a][x]");
}

TEST_CASE("escapes") {
  CHECK(values_of(R"(a\=b\ c\:d=\t\n\q\"\\)") == "1:[a=b c:d][\t\nq\"\\]");
  CHECK(values_of(R"(a=\u00e4\u20AC\uD83D\uDE00)") == "1:[a][\xC3\xA4\xE2\x82\xAC\xF0\x9F\x98\x80]");
  for (const auto* bad : {R"(a=\u12)", R"(a=\u12G4)", R"(a=\uD83D)", R"(a=\uDE00\uD83D)", R"(a=\uD83Dx)", R"(a=\u0000)"}) {
    INFO(bad);
    CHECK(values_of(bad) == "1!a: \\u must be followed by the four hexadecimal digits of a character");
  }
}

TEST_CASE("what two readers could take in two ways is refused") {
  CHECK(values_of("a=1\n#\na=2") == "1:[a][1]3!a: duplicate key, first in line 1");
  CHECK_THAT(values_of("a=\xC3\xA4"), Catch::StartsWith("1!a: write characters outside ASCII as \\uXXXX"));
  CHECK(values_of("# \xC3\xA4\na=1") == "2:[a][1]");
  CHECK(values_of("=x") == "1!: a value without a key");
}

TEST_CASE("values go through the field table") {
  const auto c = settings_of(
      "bootstrap.servers=a:1, b:2\nsecurity.protocol=SASL_SSL \nssl.ca.location=/ca.pem\nsasl.mechanism=SCRAM-SHA-512\nsasl.username=u\n"
      "sasl.password= pass word \nrequest.timeout.ms=20000\nclient.id=x\nssl.endpoint.identification.algorithm=\n");
  CHECK(c.bootstrap_servers == std::vector<std::string>{"a:1", "b:2"});
  CHECK(c.security_protocol == security_protocol::sasl_ssl);
  CHECK(c.ssl_ca_location == "/ca.pem");
  CHECK(c.sasl_mechanism == sasl_mechanism::scram_sha_512);
  CHECK(c.sasl_username == "u");
  CHECK(c.sasl_password == "pass word ");
  CHECK(c.request_timeout == std::chrono::seconds(20));
  CHECK(c.client_id == "x");
  CHECK(c.ssl_endpoint_identification == endpoint_identification::none);
}

TEST_CASE("what the file does not say is as it was") {
  properties_rules rules;
  rules.defaults.client_id = "kafka-mirror";
  const auto c = load_client_properties_text("request.timeout.ms=5s\n", "f", rules).value().connection;
  CHECK(c.client_id == "kafka-mirror");
  CHECK(c.bootstrap_servers.empty());
}

TEST_CASE("every problem is told at once, with its line") {
  properties_rules rules;
  rules.servers_required = true;
  CHECK(problems_of("# comment\nsecurity.protocol=TLS\n\nrequest.timeout.ms=1\nsasl.usrname=x\nrequest.timeout.ms=2\n", rules) ==
        "f:1: bootstrap.servers: required, but not given: add a line bootstrap.servers=HOST:PORT\n"
        "f:2: security.protocol: 'TLS': must be one of PLAINTEXT, SSL, SASL_PLAINTEXT, SASL_SSL\n"
        "f:4: request.timeout.ms: '1': out of range: 1s to 10m\n"
        "f:5: sasl.usrname: unknown key; did you mean sasl.username?\n"
        "f:6: request.timeout.ms: duplicate key, first in line 4");
  CHECK(problems_of("bootstrap.servers=a,b:x\n") ==
        "f:1: bootstrap.servers: 'a,b:x': must be host:port, or [address]:port for IPv6\n"
        "f:1: bootstrap.servers: 'a,b:x': the port must be a number from 1 to 65535");
  CHECK_THAT(problems_of("zookeeper=x\n"), Catch::StartsWith("f:1: zookeeper: unknown key; known here: bootstrap.servers, "));
}

TEST_CASE("keys that need each other") {
  CHECK(problems_of("\nsecurity.protocol=SASL_SSL\n") ==
        "f:1: sasl.username: required with security.protocol SASL_SSL\nf:1: sasl.password: required with security.protocol SASL_SSL");
  CHECK(problems_of("\n" + plain_login + R"(username="a" password="b";)") == "f:2: sasl.jaas.config: has no effect with security.protocol PLAINTEXT");
  CHECK(problems_of("ssl.truststore.type=PEM\nssl.truststore.location=/ca.pem\n") ==
        "f:2: ssl.truststore.location: has no effect with security.protocol PLAINTEXT");
}

TEST_CASE("settings of the Java client that change nothing here are let pass, others are not") {
  CHECK(problems_of("default.api.timeout.ms=60000\nretries=5\nretry.backoff.ms=100\n") == "(accepted)");
  CHECK(problems_of("ssl.enabled.protocols=TLSv1.2\n") == "f:1: ssl.enabled.protocols: TLS 1.3 and 1.2 are always enabled: remove the line");
  CHECK_THAT(problems_of("sasl.kerberos.service.name=kafka\n"), Catch::Contains("Kerberos is not supported"));
}

TEST_CASE("references are resolved as in the YAML file") {
  setenv("PROPERTIES_TEST_SERVERS", "a:1,b:2", 1);
  setenv("PROPERTIES_TEST_PASSWORD", "p\"w;d\\", 1);
  CHECK(settings_of("bootstrap.servers=${env:PROPERTIES_TEST_SERVERS}\n").bootstrap_servers == std::vector<std::string>{"a:1", "b:2"});
  CHECK(settings_of(sasl + "sasl.username=u\nsasl.password=${env:PROPERTIES_TEST_PASSWORD}\n").sasl_password == "p\"w;d\\");
  CHECK(settings_of(sasl + plain_login + R"(username="u" password="${env:PROPERTIES_TEST_PASSWORD}";)").sasl_password == "p\"w;d\\");
  setenv("PROPERTIES_TEST_LOGIN", R"(org.apache.kafka.common.security.plain.PlainLoginModule required username="u" password="x${y";)", 1);
  CHECK(settings_of(sasl + "sasl.jaas.config=${env:PROPERTIES_TEST_LOGIN}\n").sasl_password == "x${y");
  CHECK(problems_of("sasl.password=${file:/no/such/file}\n") == "f:1: sasl.password: ${file:/no/such/file}: the file cannot be opened");
  CHECK(problems_of(sasl + plain_login + R"(username="u" password="${env:PROPERTIES_TEST_UNSET}";)") ==
        "f:2: sasl.jaas.config: ${env:PROPERTIES_TEST_UNSET}: the environment variable is not set");
}

TEST_CASE("logins in sasl.jaas.config") {
  const auto plain = settings_of(sasl + plain_login + "username=\"alice\" \\\n   password=\"s e;c=r'et\";\n");
  CHECK(plain.sasl_username == "alice");
  CHECK(plain.sasl_password == "s e;c=r'et");
  CHECK(plain.sasl_mechanism == sasl_mechanism::plain);
  const auto scram = settings_of(sasl + "sasl.mechanism=SCRAM-SHA-256\n" + scram_login + "password='b\"' username=a;");
  CHECK(scram.sasl_username == "a");
  CHECK(scram.sasl_password == "b\"");
  // The properties file takes one level of backslashes, the login's quotes the next.
  CHECK(settings_of(sasl + plain_login + R"(username="u" password="a\\"b\\\\c\\101";)").sasl_password == "a\"b\\cA");

  CHECK_THAT(problems_of(sasl + scram_login + R"(username="u" password="secret";)"),
             Catch::StartsWith("f:2: sasl.jaas.config: ScramLoginModule needs sasl.mechanism=SCRAM-SHA-256"));
  CHECK_THAT(problems_of(sasl + "sasl.mechanism=SCRAM-SHA-256\n" + plain_login + R"(username="u" password="secret";)"),
             Catch::StartsWith("f:3: sasl.jaas.config: PlainLoginModule needs sasl.mechanism=PLAIN"));
  CHECK(problems_of(sasl + "sasl.username=u\n" + plain_login + R"(username="u" password="secret";)") ==
        "f:3: sasl.jaas.config: sasl.username says the same: remove one of them");
}

TEST_CASE("a broken login is told without what stands in it") {
  const std::string module = "org.apache.kafka.common.security.plain.PlainLoginModule";
  CHECK(jaas_problem("") == "the value is empty");
  CHECK(jaas_problem(module + R"( required username="u" password="secret")") == "the closing ");
  CHECK(jaas_problem(module + R"( required username="u" password="secret;)") == "a quotation mark is not closed");
  CHECK(jaas_problem("com.example.Login required secret;") == "only PlainLoginModule and ScramLoginModule are supported");
  CHECK(jaas_problem(module + R"( username="u" password="secret";)") == "the login module must be followed by `required`");
  CHECK(jaas_problem(module + ";") == "the login module must be followed by `required`");
  CHECK(jaas_problem(module + " required username secret;") == "the options must be key=\"value\"");
  CHECK(jaas_problem(module + " required username=;") == "the options must be key=\"value\"");
  CHECK(jaas_problem(module + R"( required username="u" tokenauth="true" password="secret";)") == "only the options username and password are supported");
  CHECK(jaas_problem(module + R"( required password="secret";)") == "username is missing");
  CHECK(jaas_problem(module + R"( required username="u";)") == "password is missing");
  CHECK(jaas_problem(module + R"( required username="u" password="secret"; x required;)") == "one login module is expected");
  CHECK(jaas_problem(module + R"( REQUIRED username="u" password="secret" ; )") == "(accepted)");
}

TEST_CASE("stores of type PEM are taken over") {
  const auto c = settings_of(
      "security.protocol=SSL\nssl.truststore.type=PEM\nssl.truststore.location=/ca.pem\nssl.keystore.type=PEM\nssl.keystore.location=/me.pem\n"
      "ssl.key.password=k\n");
  CHECK(c.ssl_ca_location == "/ca.pem");
  CHECK(c.ssl_certificate_location == "/me.pem");
  CHECK(c.ssl_key_location == "/me.pem");
  CHECK(c.ssl_key_password == "k");
}

TEST_CASE("other stores are refused with the command that converts them") {
  CHECK(problems_of("security.protocol=SSL\nssl.truststore.location=/t.jks\nssl.truststore.password=secret\n") ==
        "f:2: ssl.truststore.location: a JKS store cannot be read here; convert it with `keytool -list -rfc -keystore /t.jks > ca.pem` and write "
        "ssl.ca.location=/path/ca.pem in its place (if it is a PEM file, add ssl.truststore.type=PEM)");
  CHECK_THAT(problems_of("security.protocol=SSL\nssl.keystore.type=PKCS12\nssl.keystore.location=/k.p12\nssl.keystore.password=secret\n"),
             Catch::StartsWith("f:3: ssl.keystore.location: a PKCS12 store cannot be read here; convert it with `openssl pkcs12 -in /k.p12 -nodes -out client.pem`"));
  CHECK_THAT(problems_of("security.protocol=SSL\nssl.keystore.location=/k.jks\n"),
             Catch::Contains("`keytool -importkeystore -srckeystore /k.jks -destkeystore client.p12 -deststoretype PKCS12 && openssl pkcs12 -in client.p12 -nodes -out client.pem`"));
  CHECK(problems_of("security.protocol=SSL\nssl.truststore.certificates=secret\n") ==
        "f:2: ssl.truststore.certificates: not supported: write the PEM text to a file and name that");
  CHECK_THAT(problems_of("security.protocol=SSL\nssl.truststore.type=PEM\nssl.truststore.location=/ca.pem\nssl.truststore.password=secret\n"),
             Catch::StartsWith("f:4: ssl.truststore.password: has no meaning for a PEM file"));
}

TEST_CASE("no secret in any problem") {
  for (const std::string text : {"sasl.password=secret\nsasl.password=secret\n", "ssl.key.password=secret\\u12\n", "sasl.password=\xC3\xA4secret\n"}) {
    INFO(text);
    CHECK_THAT(problems_of(text), !Catch::Contains("secret"));
  }
  CHECK_THAT(problems_of(sasl + plain_login + "username=\"u\" secret"), !Catch::Contains("secret"));
}

TEST_CASE("keys of others are handed out where the caller wants them") {
  properties_rules rules;
  rules.others_allowed = true;
  const auto loaded = load_client_properties_text("bootstrap.servers=a:1\n\ntopics.include=orders.*\nsasl.username=u\nsecurity.protocol=SASL_SSL\n"
                                                  "sasl.password=${env:PATH}\n",
                                                  "f", rules)
                          .value();
  REQUIRE(loaded.other_properties.size() == 1);
  CHECK(loaded.other_properties[0].key == "topics.include");
  CHECK(loaded.other_properties[0].value == "orders.*");
  CHECK(loaded.other_properties[0].line == 3);
  REQUIRE(loaded.connection_properties.size() == 4);
  CHECK(loaded.connection_properties[3].value == "${env:PATH}");
  CHECK(loaded.connection.bootstrap_servers == std::vector<std::string>{"a:1"});
}

TEST_CASE("a properties file that cannot be read") {
  const auto loaded = load_client_properties("/no/such/file", {});
  REQUIRE(!loaded);
  CHECK(loaded.error().message() == "/no/such/file:1: the file cannot be opened");
}
