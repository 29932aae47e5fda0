#include "client/sasl.hpp"
#include "client/scram.hpp"

#include <catch2/catch.hpp>

#include <string>

using namespace mirrord;
using namespace mirrord::client;

namespace {

// RFC 7677 section 3.
constexpr auto rfc_nonce = "rOprNGfwEbeRWgbNEkqO";
constexpr auto rfc_challenge = "r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096";
constexpr auto rfc_answer = "c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=";
constexpr auto rfc_verdict = "v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=";

scram_conversation rfc_conversation() { return {scram_hash::sha_256, "user", "pencil", rfc_nonce}; }

}  // namespace

TEST_CASE("PLAIN sends user and password at once", "[sasl]") {
  connection_settings s;
  s.sasl_username = "mirror";
  s.sasl_password = "secret";
  auto conversation = make_sasl(s);
  REQUIRE(conversation.has_value());
  CHECK((*conversation)->first() == std::string("\0mirror\0secret", 14));
  CHECK_FALSE((*conversation)->finished());
  CHECK((*conversation)->next("").has_value());
  CHECK((*conversation)->finished());
}

TEST_CASE("SCRAM-SHA-256 holds the conversation of RFC 7677", "[sasl]") {
  auto scram = rfc_conversation();
  CHECK(scram.first() == "n,,n=user,r=rOprNGfwEbeRWgbNEkqO");
  CHECK(scram.next(rfc_challenge).value() == rfc_answer);
  CHECK_FALSE(scram.finished());
  CHECK(scram.next(rfc_verdict).has_value());
  CHECK(scram.finished());
  CHECK(scram.next("").has_error());
}

TEST_CASE("a server that does not know the password is refused", "[sasl]") {
  auto scram = rfc_conversation();
  (void)scram.first();
  REQUIRE(scram.next(rfc_challenge).has_value());
  auto verdict = scram.next("v=7rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=");
  REQUIRE(verdict.has_error());
  CHECK(verdict.error().code == errc::authentication_failed);
  CHECK_FALSE(scram.finished());
}

TEST_CASE("a final message without a signature is refused", "[sasl]") {
  for (const char* text : {"", "v", "v=", "v=AAAA", "v=!!!!", "x=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="}) {
    INFO(text);
    auto scram = rfc_conversation();
    (void)scram.first();
    REQUIRE(scram.next(rfc_challenge).has_value());
    CHECK(scram.next(text).has_error());
    CHECK_FALSE(scram.finished());
  }
}

TEST_CASE("the server's own error is told", "[sasl]") {
  auto scram = rfc_conversation();
  (void)scram.first();
  REQUIRE(scram.next(rfc_challenge).has_value());
  auto verdict = scram.next("e=invalid-proof");
  REQUIRE(verdict.has_error());
  CHECK(verdict.error().context.find("invalid-proof") != std::string::npos);
}

TEST_CASE("a challenge that cannot be right is refused", "[sasl]") {
  for (const char* text : {
           "", "r=", "hello",
           "s=W22ZaJ0SNY7soEsUEjb6gQ==,r=rOprNGfwEbeRWgbNEkqOx,i=4096",       // another order
           "r=rOprNGfwEbeRWgbNEkqO,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096",        // the nonce is only ours
           "r=somebodyElse,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096",                // the nonce is not ours
           "r=rOprNGfwEbeRWgbNEkqOx,s=,i=4096", "r=rOprNGfwEbeRWgbNEkqOx,s=W22,i=4096", "r=rOprNGfwEbeRWgbNEkqOx,s=W2%Z,i=4096",
           "r=rOprNGfwEbeRWgbNEkqOx,s=W22Z,i=", "r=rOprNGfwEbeRWgbNEkqOx,s=W22Z,i=4096x", "r=rOprNGfwEbeRWgbNEkqOx,s=W22Z,i=99999999999",
           "r=rOprNGfwEbeRWgbNEkqOx,s=W22Z,i=4095",                           // too cheap to guess
           "r=rOprNGfwEbeRWgbNEkqOx,s=W22Z,i=100001",                         // would stop our thread
       }) {
    INFO(text);
    auto scram = rfc_conversation();
    (void)scram.first();
    auto answer = scram.next(text);
    REQUIRE(answer.has_error());
    CHECK(answer.error().code == errc::authentication_failed);
  }
}

TEST_CASE("user names are escaped, nonces never repeat", "[sasl]") {
  scram_conversation scram(scram_hash::sha_512, "a=b,c", "x", "n0nce");
  CHECK(scram.first() == "n,,n=a=3Db=2Cc,r=n0nce");
  CHECK(make_scram_nonce().value() != make_scram_nonce().value());
  CHECK(make_scram_nonce().value().size() == 32);
}
