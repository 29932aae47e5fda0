// What is not the same in the logs of a partition on two clusters, in words for a person.
#pragma once

#include "core/log_cursor.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace mirrord::core {

enum class difference_kind : std::uint8_t {
  record,       // there on one side only
  key,
  value,
  headers,
  timestamp,
  transaction,  // the record belongs to another transaction, or to none
  outcome,      // committed here, aborted there
  marker,       // the end of a transaction is on one side only
  log_start,
  log_end,
  last_stable_offset,
};

// Stable lower-case name, used in text and JSON.
[[nodiscard]] std::string_view name(difference_kind kind) noexcept;

struct difference {
  std::int64_t offset = 0;
  difference_kind kind{};
  std::string source;
  std::string destination;
};

// Both values, printable and short, each with its size where it is cut: from shortly before the first byte in which they
// differ. "null" where there is none.
[[nodiscard]] std::pair<std::string, std::string> show_both(std::optional<wire::bytes_view> source, std::optional<wire::bytes_view> destination);

// What a record is, for a person: "key a, value b".
[[nodiscard]] std::string show_record(const wire::record_view& record);

[[nodiscard]] std::string show_headers(const wire::record_view& record);

}  // namespace mirrord::core
