#include "client/endpoint.hpp"

#include <catch2/catch.hpp>

using namespace mirrord;
using namespace mirrord::client;

TEST_CASE("endpoints read and print the same", "[endpoint]") {
  for (const char* text : {"kafka-1.example:9092", "127.0.0.1:1", "[::1]:65535", "[fe80::1%eth0]:9092"}) {
    auto parsed = parse_endpoint(text);
    REQUIRE(parsed.has_value());
    CHECK(parsed->text() == text);
  }
  CHECK(parse_endpoint("[::1]:9092")->host == "::1");
}

TEST_CASE("what is no endpoint is refused with what to write", "[endpoint]") {
  for (const char* text : {"", "kafka", ":9092", "[]:9092", "kafka:", "kafka:0", "kafka:65536", "kafka:9092x", "kafka:-1", "::1:9092", "[::1:9092", "kafka: 9092"}) {
    INFO(text);
    auto parsed = parse_endpoint(text);
    REQUIRE(parsed.has_error());
    CHECK(parsed.error().code == errc::invalid);
  }
}
