// The real clock and the real chance behind clock_port and random_port.
#pragma once

#include "mirror/ports.hpp"

#include <random>

namespace mirrord::mirror {

class system_clock final : public clock_port {
 public:
  [[nodiscard]] duration now() const override;
  [[nodiscard]] std::int64_t wall_ms() const override;
  asio::awaitable<void> sleep(duration length) override;
};

class system_random final : public random_port {
 public:
  double uniform() override;

 private:
  std::mt19937_64 engine_{std::random_device{}()};
};

}  // namespace mirrord::mirror
