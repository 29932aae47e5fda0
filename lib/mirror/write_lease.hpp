// Whether this process has run without a gap, so that what it knew before still holds.
//
// A process that was stopped for a while (SIGSTOP, a virtual machine's pause) wakes up with positions and requests of
// before, while another owner may have taken over. Everybody who writes compares the term under which it read its position
// with the present one. The clock is looked at whenever somebody asks: a gap since the last look that is longer than the
// lease begins a new term. Somebody must therefore look more often than that (the daemon's heartbeat).
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>

namespace mirrord::mirror {

class write_lease {
 public:
  using duration = std::chrono::nanoseconds;

  // `now` counts on while the process or the machine is suspended (boot_time()).
  write_lease(duration length, std::function<duration()> now) : length_(length), now_(std::move(now)), last_look_(now_()) {}

  [[nodiscard]] std::uint64_t term();

  // How long the gap was that began the present term.
  [[nodiscard]] duration last_gap() const noexcept { return last_gap_; }

 private:
  duration length_;
  std::function<duration()> now_;
  duration last_look_;
  duration last_gap_{};
  std::uint64_t term_ = 0;
};

// CLOCK_BOOTTIME: monotonic, and counts the time that the machine was suspended.
[[nodiscard]] write_lease::duration boot_time();

}  // namespace mirrord::mirror
