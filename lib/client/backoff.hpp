// How long to wait before the next attempt: doubled after each failure, up to a cap, spread by jitter so that many
// clients of a restarted broker do not come back in one wave.
//
// A pure value: it reads no clock, and its owner brings the random number and says what counts as a success.
#pragma once

#include <chrono>
#include <cstdint>

namespace mirrord::client {

class backoff {
 public:
  backoff(std::chrono::milliseconds initial, std::chrono::milliseconds max) : initial_(initial), max_(max) {}

  // The wait after one more failure. `unit` is a random number in [0, 1): 0 gives 80 % of the nominal wait, 1 would
  // give 120 % (the spread of Kafka's own clients). The jitter may exceed the cap.
  [[nodiscard]] std::chrono::milliseconds after_failure(double unit);

  // The first wait again, without counting anything.
  [[nodiscard]] std::chrono::milliseconds initial(double unit) const { return spread(initial_, unit); }

  void succeeded() noexcept { failures_ = 0; }

  [[nodiscard]] std::uint32_t failures() const noexcept { return failures_; }

 private:
  [[nodiscard]] static std::chrono::milliseconds spread(std::chrono::milliseconds nominal, double unit);

  std::chrono::milliseconds initial_;
  std::chrono::milliseconds max_;
  std::uint32_t failures_ = 0;
};

}  // namespace mirrord::client
