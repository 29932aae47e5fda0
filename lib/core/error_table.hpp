// What follows from an error, for the loop of a partition: one row per broker error code that it can meet, and one rule
// for each of our own codes.
//
// Whatever the row says, the position is read from the destination again before anything is written: the rows only
// decide whether to go on by oneself, how, and what a person is told.
#pragma once

#include "base/broker_error.hpp"
#include "base/error.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace mirrord::core {

enum class consequence : std::uint8_t {
  start_over,          // passes by itself soon (leader moves, lost answers): read the position again and go on
  wait_for_cluster,    // the other side cannot serve now (unreachable, no leader, too few replicas): retry for ever
  wait_for_permission,  // refused credentials or rights: retry for ever, since a person may grant them at any time
  count_attempt,       // unknown or odd: retry a limited number of times
  fail_partition,      // no retry can mend it: FAILED until a person acts
};

struct error_row {
  kafka_error code;
  consequence then;
  std::string_view advice;  // what a person can do; empty where nothing is needed
};

// The row of a broker error code; nothing for codes that are not listed, which count attempts.
[[nodiscard]] const error_row* row_of(std::int16_t broker_code) noexcept;

[[nodiscard]] consequence decide_consequence(const error& e) noexcept;

// What commands in advice are written for; placeholders where it is not known.
struct advice_names {
  std::string destination = "<destination>";  // bootstrap servers
  std::string principal = "<daemon>";         // the daemon's principal on the destination, without "User:"
};

// The error for a person: its message, and the advice of its row.
[[nodiscard]] std::string explain(const error& e, const advice_names& names = {});

}  // namespace mirrord::core
