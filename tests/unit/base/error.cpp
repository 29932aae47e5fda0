#include "base/error.hpp"

#include "base/broker_error.hpp"

#include <catch2/catch.hpp>

#include <set>

namespace mirrord {

TEST_CASE("an error is told in one line: context, the broker's code, the broker's words") {
  CHECK(fail(errc::malformed, "fetch response v12: truncated").message() == "fetch response v12: truncated");
  CHECK(fail(errc::timed_out, "").message() == "timed_out");
  CHECK(broker_failure(6, "fetch orders-3 from broker 2").message() == "fetch orders-3 from broker 2: NOT_LEADER_OR_FOLLOWER (6)");
  CHECK(broker_failure(-1, "produce", "disk on fire").message() == "produce: UNKNOWN_SERVER_ERROR (-1): disk on fire");
  CHECK(broker_failure(31, "").message() == "CLUSTER_AUTHORIZATION_FAILED (31)");
}

TEST_CASE("within puts the outer context first and keeps the rest") {
  const error inner = broker_failure(3, "orders-3", "who?").within("metadata").within("source");
  CHECK(inner.context == "source: metadata: orders-3");
  CHECK(inner.code == errc::broker);
  CHECK(inner.broker_code == 3);
  CHECK(inner.broker_text == "who?");
  CHECK(fail(errc::io, "").within("state file").context == "state file");
}

TEST_CASE("value() of a failed result throws its message") {
  const result<int> failed = fail(errc::invalid, "bad port");
  CHECK_THROWS_WITH(failed.value(), "bad port");
  const result<int> good = 7;
  CHECK(good.value() == 7);
}

TEST_CASE("every kind of error has a name of its own") {
  std::set<std::string_view> names;
  for (int i = 0; i <= static_cast<int>(errc::io); ++i) names.insert(name(static_cast<errc>(i)));
  CHECK(names.size() == static_cast<std::size_t>(errc::io) + 1);
  CHECK_FALSE(names.contains("unknown"));
  CHECK(name(static_cast<errc>(200)) == "unknown");
}

TEST_CASE("broker error names: all of Kafka 4.4's, and a number for those of newer brokers") {
  CHECK(broker_error_name(0) == "NONE");
  CHECK(broker_error_name(17) == "INVALID_TOPIC_EXCEPTION");
  CHECK(broker_error_name(129) == "REBOOTSTRAP_REQUIRED");
  CHECK(broker_error_name(136) == "CONTROLLER_ID_NOT_REGISTERED");
  CHECK(broker_error_name(137) == "UNKNOWN_CODE_137");
  CHECK(broker_error_name(-2) == "UNKNOWN_CODE_-2");
  std::set<std::string> names;
  for (std::int16_t code = -1; code <= 136; ++code) names.insert(broker_error_name(code));
  CHECK(names.size() == 138);
  for (const std::string& n : names) CHECK_FALSE(n.starts_with("UNKNOWN_CODE"));
}

TEST_CASE("broker codes compare with the enumerators") {
  CHECK(is(74, kafka_error::fenced_leader_epoch));
  CHECK_FALSE(is(0, kafka_error::fenced_leader_epoch));
  CHECK(code_of(kafka_error::unknown_server_error) == -1);
}

}  // namespace mirrord
