// What happened last in a simulation, the log lines of the code under test among it: a ring of lines with simulated
// times, printed when a seed fails and, through a SIGABRT handler, when an invariant check of that code aborts.
#pragma once

#include "tests/sim/sim_clock.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <deque>
#include <string>

namespace mirrord::sim {

class sim_trace {
 public:
  sim_trace(const sim_clock& clock, std::string title);
  ~sim_trace();
  sim_trace(const sim_trace&) = delete;
  sim_trace& operator=(const sim_trace&) = delete;

  template <class... Arguments>
  void add(fmt::format_string<Arguments...> text, Arguments&&... arguments) {
    line(fmt::format(text, std::forward<Arguments>(arguments)...));
  }

  // The first thing that must not happen; later ones are mostly its consequences and go to the trace only.
  template <class... Arguments>
  void violation(fmt::format_string<Arguments...> text, Arguments&&... arguments) {
    violated(fmt::format(text, std::forward<Arguments>(arguments)...));
  }

  [[nodiscard]] bool ok() const noexcept { return violation_.empty(); }
  [[nodiscard]] const std::string& first_violation() const noexcept { return violation_; }
  [[nodiscard]] std::string text() const;

 private:
  void line(std::string text);
  void violated(std::string text);

  static const std::size_t lines_max;  // MIRRORD_SIM_TRACE

  const sim_clock& clock_;
  std::string title_;
  std::string violation_;
  std::deque<std::string> lines_;
};

}  // namespace mirrord::sim
