// Always-on invariant checks: a false condition is a bug in this program, never bad input. It prints the condition
// with its values and aborts; the supervisor restarts the daemon, which reads its position back from the log.
#pragma once

#include <fmt/format.h>

#include <string_view>

namespace mirrord::detail {
[[noreturn]] void check_failed(std::string_view condition, std::string_view values, const char* file, int line);
}

// MIRRORD_CHECK(next == expected, "next {} expected {}", next, expected)
#define MIRRORD_CHECK(condition, ...)                                                                \
  do {                                                                                               \
    if (!(condition)) [[unlikely]]                                                                   \
      ::mirrord::detail::check_failed(#condition, ::fmt::format(__VA_ARGS__), __FILE__, __LINE__);   \
  } while (false)
