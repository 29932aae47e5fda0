// Expected failures as values: what went wrong (`errc`), where (context), and what the broker itself said.
//
// The broker's words are kept apart from ours, so that a caller can quote them and a reader can tell who speaks.
// Neither ever holds a secret. A broken invariant is not an error: see check.hpp.
#pragma once

#include <boost/system/result.hpp>

#include <cstdint>
#include <string>
#include <string_view>

namespace mirrord {

enum class errc : std::uint8_t {
  cancelled,              // the owner asked for an end; nothing failed
  timed_out,              // no answer within the deadline; for a write the outcome is unknown
  unreachable,            // no connection could be made (DNS, TCP, TLS handshake)
  connection_lost,        // the connection ended with requests under way; for a write the outcome is unknown
  authentication_failed,  // TLS or SASL: the other side refused us, or we refused it
  unsupported,            // the broker lacks an API version, or the data needs something we do not do
  malformed,              // foreign bytes that do not parse: truncated, bad length, bad checksum, unknown magic
  broker,                 // the broker answered with an error code (`error::broker_code`)
  fenced,                 // our view of the leader, the epoch or the ownership is out of date: read again
  foreign_write,          // the destination holds an append that is not ours: offsets would shift
  diverged,               // source and destination histories differ
  outcome_unknown,        // a transaction ended out of our sight and nobody can say how
  limit_exceeded,         // a configured or hard limit would be passed
  not_found,              // a named thing (topic, file, key) does not exist
  invalid,                // configuration or input that a person must correct
  io,                     // local files and descriptors
  recorded,               // told by a record of an earlier process, which had the code
};

// Stable lower-case name, used in logs, metrics and JSON.
[[nodiscard]] std::string_view name(errc code) noexcept;

struct error {
  errc code{};
  std::string context;           // ours: "fetch orders-3 from broker 2"
  std::string broker_text;       // the broker's own message, if it sent one
  std::int16_t broker_code = 0;  // Kafka's error code where code == errc::broker or it explains the code

  // One line for a person: "fetch orders-3 from broker 2: NOT_LEADER_OR_FOLLOWER (6): <broker text>".
  [[nodiscard]] std::string message() const;

  // The same error, told from further out: "<outer>: <context>".
  [[nodiscard]] error within(std::string_view outer) &&;
};

// Kafka's name of an error code ("NOT_LEADER_OR_FOLLOWER"), or "UNKNOWN_CODE_<n>".
[[nodiscard]] std::string broker_error_name(std::int16_t broker_code);

template <class T>
using result = boost::system::result<T, error>;

[[nodiscard]] inline error fail(errc code, std::string context) { return error{code, std::move(context), {}, 0}; }

[[nodiscard]] inline error broker_failure(std::int16_t broker_code, std::string context, std::string broker_text = {}) {
  return error{errc::broker, std::move(context), std::move(broker_text), broker_code};
}

// Called by result<T>::value() on an error. Only start-up code and tests use value(); the rest tests first.
[[noreturn]] void throw_exception_from_error(const error& e, const boost::source_location& where);

}  // namespace mirrord
