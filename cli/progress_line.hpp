// How far a verification is, for whoever waits for it: a bar that redraws itself on a terminal, else a line now and then.
#pragma once

#include "mirror/log_verifier.hpp"

#include <chrono>
#include <optional>
#include <string>

namespace mirrord::cli {

class progress_line {
 public:
  using clock = std::chrono::steady_clock;

  progress_line(bool terminal, clock::time_point began) : terminal_(terminal), began_(began), last_(began) {}

  // What to write to stderr now; mostly nothing where there is no terminal.
  [[nodiscard]] std::string update(const mirror::verify_progress& progress, clock::time_point now);

  // Takes the bar away.
  [[nodiscard]] std::string finish() const;

 private:
  bool terminal_;
  clock::time_point began_;
  clock::time_point last_;
  std::optional<clock::time_point> compares_since_;
};

}  // namespace mirrord::cli
