// The one source of chance of a simulation: the same seed gives the same run on every machine.
//
// splitmix64, because its whole state is one number and fork() gives streams that do not disturb each other: a new
// draw in the destination's faults leaves the source's history of that seed as it was.
#pragma once

#include "mirror/ports.hpp"

#include <cstdint>

namespace mirrord::sim {

class sim_random final : public mirror::random_port {
 public:
  // Mixed once: neighbouring seeds must not be one stream, shifted by a draw.
  explicit sim_random(std::uint64_t seed) : state_(mix(seed + 0x2545f4914f6cdd1dULL)) {}

  std::uint64_t next() {
    state_ += 0x9e3779b97f4a7c15ULL;
    return mix(state_);
  }

  double uniform() override { return static_cast<double>(next() >> 11) * 0x1.0p-53; }

  bool chance(double probability) { return uniform() < probability; }

  // Both ends included.
  std::int64_t between(std::int64_t low, std::int64_t high) {
    if (high <= low) return low;
    return low + static_cast<std::int64_t>(next() % static_cast<std::uint64_t>(high - low + 1));
  }

  sim_random fork() { return sim_random(next()); }

 private:
  static std::uint64_t mix(std::uint64_t z) {
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
  }

  std::uint64_t state_;
};

}  // namespace mirrord::sim
