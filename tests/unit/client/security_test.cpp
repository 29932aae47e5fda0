// TLS and SASL on real sockets against a broker played by the test: who is let in, and what the refused are told.
#include "client/connection.hpp"

#include "tests/support/fake_broker.hpp"
#include "test_ca.hpp"

#include "client/scram.hpp"
#include "wire/metadata.hpp"
#include "wire/sasl.hpp"

#include <catch2/catch.hpp>

#include <functional>
#include <string>
#include <vector>

using namespace mirrord;
using namespace mirrord::client;
using namespace std::chrono_literals;
using asio::awaitable;

namespace {

using opened = result<std::shared_ptr<connection>>;

bool mentions(const error& e, const std::string& words) { return e.message().find(words) != std::string::npos; }

// Opens a connection to `to` while the broker does its part; the broker may fail, since a refused client hangs up.
opened open_against(fake::stage& s, endpoint to, connection_settings settings, std::function<awaitable<void>()> broker) {
  std::optional<opened> got;
  auto client = [&]() -> awaitable<void> {
    auto c = co_await connection::open(to, settings, "broker 7");
    got.emplace(std::move(c));
    if (got->has_value()) (**got)->close();
  };
  auto part = [&]() -> awaitable<void> {
    try {
      co_await broker();
    } catch (const boost::system::system_error&) {
      co_return;
    }
  };
  std::vector<awaitable<void>> parts;
  parts.push_back(client());
  parts.push_back(part());
  s.play(std::move(parts));
  return std::move(*got);
}

std::function<awaitable<void>()> accepting(fake::broker& b) {
  return [&b]() -> awaitable<void> {
    const auto p = co_await b.accept_client(fake::usual_versions());
    co_await p->read_to_end();
  };
}

connection_settings tls_settings(const fake::broker& b, const std::string& ca) {
  connection_settings s = b.settings();
  s.security_protocol = security_protocol::ssl;
  s.ssl_ca_location = ca;
  return s;
}

connection_settings sasl_settings(const fake::broker& b, sasl_mechanism mechanism) {
  connection_settings s = b.settings();
  s.security_protocol = security_protocol::sasl_plaintext;
  s.sasl_mechanism = mechanism;
  s.sasl_username = "mirror";
  s.sasl_password = "pencil";
  return s;
}

std::vector<std::byte> bytes_of(std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

std::string text_of(const std::vector<std::byte>& bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

awaitable<void> answer_handshake(std::shared_ptr<fake::peer> p, std::string mechanism, std::int16_t code = 0) {
  const auto [header, request] = co_await p->read<wire::sasl_handshake_request>();
  CHECK(request.mechanism == mechanism);
  wire::sasl_handshake_response r;
  r.error_code = code;
  r.mechanisms = {"PLAIN", "GSSAPI"};
  co_await p->answer(header, std::move(r));
}

// Reads one token and answers it; gives the token.
awaitable<std::string> answer_token(std::shared_ptr<fake::peer> p, std::string answer, std::int64_t lifetime_ms = 0, std::int16_t code = 0) {
  const auto [header, request] = co_await p->read<wire::sasl_authenticate_request>();
  wire::sasl_authenticate_response r;
  r.auth_bytes = bytes_of(answer);
  r.session_lifetime_ms = lifetime_ms;
  r.error_code = code;
  if (code != 0) r.error_message = "Authentication failed: Invalid username or password";
  co_await p->answer(header, std::move(r));
  co_return text_of(request.auth_bytes);
}

}  // namespace

TEST_CASE("a broker of a trusted CA is accepted by name and by address", "[tls]") {
  fake::test_ca ca("test CA");
  auto server = ca.server(ca.issue("broker", "DNS:localhost,IP:127.0.0.1"));
  fake::stage s;
  fake::broker b(s.io, &server);
  for (const char* host : {"localhost", "127.0.0.1"}) {
    INFO(host);
    const endpoint to{host, b.address().port};
    const auto c = open_against(s, to, tls_settings(b, ca.ca_file()), accepting(b));
    if (!c) FAIL(c.error().message());
  }
}

TEST_CASE("a broker of another CA is refused, and the setting named", "[tls]") {
  fake::test_ca ca("test CA");
  fake::test_ca other("other CA");
  auto server = ca.server(ca.issue("broker", "IP:127.0.0.1"));
  fake::stage s;
  fake::broker b(s.io, &server);
  const auto c = open_against(s, b.address(), tls_settings(b, other.ca_file()), accepting(b));
  REQUIRE(c.has_error());
  CHECK(c.error().code == errc::authentication_failed);
  CHECK(mentions(c.error(), "certificate verify failed"));
  CHECK(mentions(c.error(), "ssl.ca.location"));
  CHECK(mentions(c.error(), b.address().text()));
}

TEST_CASE("a certificate for another host is refused, unless names are not to be compared", "[tls]") {
  fake::test_ca ca("test CA");
  auto server = ca.server(ca.issue("localhost", "DNS:kafka-1.example,DNS:kafka-2.example,IP:127.0.0.2"));
  fake::stage s;
  fake::broker b(s.io, &server);
  for (const char* host : {"localhost", "127.0.0.1"}) {
    INFO(host);
    const endpoint to{host, b.address().port};
    const auto c = open_against(s, to, tls_settings(b, ca.ca_file()), accepting(b));
    REQUIRE(c.has_error());
    CHECK(c.error().code == errc::authentication_failed);
    CHECK(mentions(c.error(), "mismatch"));
    CHECK(mentions(c.error(), "ssl.endpoint.identification.algorithm"));

    connection_settings settings = tls_settings(b, ca.ca_file());
    settings.ssl_endpoint_identification = endpoint_identification::none;
    CHECK(open_against(s, to, settings, accepting(b)).has_value());
  }
}

TEST_CASE("a client certificate is shown where the broker asks, and its absence is explained", "[tls]") {
  fake::test_ca ca("test CA");
  fake::test_ca other("other CA");
  auto server = ca.server(ca.issue("broker", "IP:127.0.0.1"), ca.ca_file());
  fake::stage s;
  fake::broker b(s.io, &server);
  connection_settings settings = tls_settings(b, ca.ca_file());

  SECTION("without one") {
    const auto c = open_against(s, b.address(), settings, accepting(b));
    REQUIRE(c.has_error());
    CHECK(c.error().code == errc::authentication_failed);
    CHECK(mentions(c.error(), "certificate required"));
  }
  SECTION("with one") {
    const auto own = ca.issue("client", "");
    settings.ssl_certificate_location = own.certificate;
    settings.ssl_key_location = own.key;
    const auto c = open_against(s, b.address(), settings, accepting(b));
    if (!c) FAIL(c.error().message());
  }
  SECTION("with one whose key is encrypted") {
    const auto own = ca.issue("client", "", "open sesame");
    settings.ssl_certificate_location = own.certificate;
    settings.ssl_key_location = own.key;
    settings.ssl_key_password = "open sesame";
    CHECK(open_against(s, b.address(), settings, accepting(b)).has_value());
    settings.ssl_key_password = "wrong";
    const auto c = open_against(s, b.address(), settings, accepting(b));
    REQUIRE(c.has_error());
    CHECK(c.error().code == errc::invalid);
    CHECK(mentions(c.error(), "ssl.key.location"));
    CHECK_FALSE(mentions(c.error(), "wrong"));
  }
  SECTION("with one of another CA") {
    const auto own = other.issue("client", "");
    settings.ssl_certificate_location = own.certificate;
    settings.ssl_key_location = own.key;
    const auto c = open_against(s, b.address(), settings, accepting(b));
    REQUIRE(c.has_error());
    CHECK(c.error().code == errc::authentication_failed);
  }
}

TEST_CASE("PEM files that cannot be read are named with their setting", "[tls]") {
  fake::test_ca ca("test CA");
  auto server = ca.server(ca.issue("broker", "IP:127.0.0.1"));
  fake::stage s;
  fake::broker b(s.io, &server);
  connection_settings settings = tls_settings(b, "/nowhere/ca.pem");
  const auto no_ca = open_against(s, b.address(), settings, accepting(b));
  REQUIRE(no_ca.has_error());
  CHECK(no_ca.error().code == errc::invalid);
  CHECK(mentions(no_ca.error(), "ssl.ca.location /nowhere/ca.pem"));

  settings = tls_settings(b, ca.ca_file());
  settings.ssl_certificate_location = "/nowhere/client.pem";
  const auto no_certificate = open_against(s, b.address(), settings, accepting(b));
  CHECK(mentions(no_certificate.error(), "ssl.certificate.location /nowhere/client.pem"));
}

TEST_CASE("TLS towards a listener without TLS, and the other way round, says so", "[tls]") {
  fake::test_ca ca("test CA");
  SECTION("we speak TLS, the broker does not") {
    fake::stage s;
    fake::broker b(s.io);
    auto hang_up = [&]() -> awaitable<void> {
      const auto p = co_await b.accept();
      p->close();
    };
    const auto c = open_against(s, b.address(), tls_settings(b, ca.ca_file()), hang_up);
    REQUIRE(c.has_error());
    CHECK(c.error().code == errc::unreachable);
    CHECK(mentions(c.error(), "security.protocol"));
  }
  SECTION("the broker speaks TLS, we do not") {
    auto server = ca.server(ca.issue("broker", "IP:127.0.0.1"));
    fake::stage s;
    fake::broker b(s.io, &server);
    const auto c = open_against(s, b.address(), b.settings(), accepting(b));
    REQUIRE(c.has_error());
  }
}

TEST_CASE("a handshake that nobody answers ends with the set-up time", "[tls]") {
  fake::test_ca ca("test CA");
  fake::stage s;
  fake::broker b(s.io);
  connection_settings settings = tls_settings(b, ca.ca_file());
  settings.socket_connection_setup_timeout = 50ms;
  auto silent = [&]() -> awaitable<void> {
    const auto p = co_await b.accept();
    co_await p->read_to_end();
  };
  const auto c = open_against(s, b.address(), settings, silent);
  REQUIRE(c.has_error());
  CHECK(c.error().code == errc::timed_out);
}

TEST_CASE("requests pass through TLS in both directions", "[tls]") {
  fake::test_ca ca("test CA");
  auto server = ca.server(ca.issue("broker", "IP:127.0.0.1"));
  fake::stage s;
  fake::broker b(s.io, &server);
  const std::string long_id(500'000, 'x');
  auto client = [&]() -> awaitable<void> {
    const auto c = co_await connection::open(b.address(), tls_settings(b, ca.ca_file()), "broker 7");
    REQUIRE(c.has_value());
    wire::metadata_request request;
    const auto first = co_await (*c)->call(request, 5s);
    const auto second = co_await (*c)->call(request, 5s);
    REQUIRE(second.has_value());
    CHECK(first->body.cluster_id == long_id);
    CHECK(second->body.cluster_id == long_id);
  };
  auto broker = [&]() -> awaitable<void> {
    const auto p = co_await b.accept_client(fake::usual_versions());
    for (int i = 0; i < 2; ++i) {
      const auto [header, request] = co_await p->read<wire::metadata_request>();
      wire::metadata_response r;
      r.cluster_id = long_id;
      co_await p->answer(header, std::move(r));
    }
    co_await p->read_to_end();
  };
  std::vector<awaitable<void>> parts;
  parts.push_back(client());
  parts.push_back(broker());
  s.play(std::move(parts));
}

TEST_CASE("PLAIN is accepted or refused, and the password is never told", "[sasl]") {
  fake::stage s;
  fake::broker b(s.io);
  for (const std::int16_t code : {0, 58}) {
    INFO(code);
    auto broker = [&]() -> awaitable<void> {
      const auto p = co_await b.accept_client(fake::usual_versions());
      co_await answer_handshake(p, "PLAIN");
      const std::string token = co_await answer_token(p, "", 0, code);
      CHECK(token == std::string("\0mirror\0pencil", 14));
      co_await p->read_to_end();
    };
    const auto c = open_against(s, b.address(), sasl_settings(b, sasl_mechanism::plain), broker);
    CHECK(c.has_value() == (code == 0));
    if (c) continue;
    CHECK(c.error().code == errc::authentication_failed);
    CHECK(c.error().broker_code == 58);
    CHECK(mentions(c.error(), "user 'mirror'"));
    CHECK(mentions(c.error(), "Invalid username or password"));
    CHECK_FALSE(mentions(c.error(), "pencil"));
  }
}

TEST_CASE("a mechanism that the broker does not offer is told with those it does", "[sasl]") {
  fake::stage s;
  fake::broker b(s.io);
  auto broker = [&]() -> awaitable<void> {
    const auto p = co_await b.accept_client(fake::usual_versions());
    co_await answer_handshake(p, "SCRAM-SHA-512", 33);
    co_await p->read_to_end();
  };
  const auto c = open_against(s, b.address(), sasl_settings(b, sasl_mechanism::scram_sha_512), broker);
  REQUIRE(c.has_error());
  CHECK(c.error().code == errc::authentication_failed);
  CHECK(mentions(c.error(), "PLAIN, GSSAPI"));
}

TEST_CASE("a SCRAM broker that does not know the password is refused", "[sasl]") {
  fake::stage s;
  fake::broker b(s.io);
  auto broker = [&]() -> awaitable<void> {
    const auto p = co_await b.accept_client(fake::usual_versions());
    co_await answer_handshake(p, "SCRAM-SHA-256");
    const auto [header, request] = co_await p->read<wire::sasl_authenticate_request>();
    const std::string first = text_of(request.auth_bytes);
    const std::string nonce = first.substr(first.find(",r=") + 3);
    wire::sasl_authenticate_response challenge;
    challenge.auth_bytes = bytes_of("r=" + nonce + "more,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096");
    co_await p->answer(header, std::move(challenge));
    const std::string proof = co_await answer_token(p, "v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=");
    CHECK(proof.starts_with("c=biws,r=" + nonce + "more,p="));
    co_await p->read_to_end();
  };
  const auto c = open_against(s, b.address(), sasl_settings(b, sasl_mechanism::scram_sha_256), broker);
  REQUIRE(c.has_error());
  CHECK(c.error().code == errc::authentication_failed);
  CHECK(mentions(c.error(), "signature"));
}

TEST_CASE("a broker that hangs up during SASL is told as it is", "[sasl]") {
  fake::stage s;
  fake::broker b(s.io);
  auto broker = [&]() -> awaitable<void> {
    const auto p = co_await b.accept_client(fake::usual_versions());
    p->close();
  };
  const auto c = open_against(s, b.address(), sasl_settings(b, sasl_mechanism::plain), broker);
  REQUIRE(c.has_error());
  CHECK(c.error().code == errc::connection_lost);
  CHECK(mentions(c.error(), "sasl_handshake"));
}

TEST_CASE("before a session's life ends we authenticate again, between requests", "[sasl]") {
  fake::stage s;
  fake::broker b(s.io);
  auto client = [&]() -> awaitable<void> {
    const auto c = co_await connection::open(b.address(), sasl_settings(b, sasl_mechanism::plain), "broker 7");
    REQUIRE(c.has_value());
    wire::metadata_request request;
    auto before = (*c)->start_call(request, 5s);
    co_await fake::pause(120ms);  // the time to authenticate again has come, but an answer is still due
    auto after = (*c)->start_call(request, 5s);
    CHECK((*c)->queued() == 1);
    const auto first = co_await before.wait();
    const auto second = co_await after.wait();
    CHECK(first.has_value());
    CHECK(second.has_value());
  };
  auto broker = [&]() -> awaitable<void> {
    const auto p = co_await b.accept_client(fake::usual_versions());
    co_await answer_handshake(p, "PLAIN");
    (void)co_await answer_token(p, "", 100);
    const auto [first, first_body] = co_await p->read<wire::metadata_request>();
    co_await fake::pause(150ms);
    wire::metadata_response r;
    co_await p->answer(first, r);
    co_await answer_handshake(p, "PLAIN");
    (void)co_await answer_token(p, "", 0);
    const auto [second, second_body] = co_await p->read<wire::metadata_request>();
    co_await p->answer(second, r);
    co_await p->read_to_end();
  };
  std::vector<awaitable<void>> parts;
  parts.push_back(client());
  parts.push_back(broker());
  s.play(std::move(parts));
}

TEST_CASE("authentication that fails the second time ends the connection", "[sasl]") {
  fake::stage s;
  fake::broker b(s.io);
  auto client = [&]() -> awaitable<void> {
    const auto c = co_await connection::open(b.address(), sasl_settings(b, sasl_mechanism::plain), "broker 7");
    REQUIRE(c.has_value());
    const bool ended = co_await (*c)->closed();
    CHECK(ended);
    wire::metadata_request request;
    const auto late = co_await (*c)->call(request, 5s);
    CHECK(never_sent(late.error()));
    CHECK(mentions(late.error(), "authenticate again"));
  };
  auto broker = [&]() -> awaitable<void> {
    const auto p = co_await b.accept_client(fake::usual_versions());
    co_await answer_handshake(p, "PLAIN");
    (void)co_await answer_token(p, "", 20);
    co_await answer_handshake(p, "PLAIN");
    (void)co_await answer_token(p, "", 0, 58);
    co_await p->read_to_end();
  };
  std::vector<awaitable<void>> parts;
  parts.push_back(client());
  parts.push_back(broker());
  s.play(std::move(parts));
}
