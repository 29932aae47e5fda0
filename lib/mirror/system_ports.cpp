#include "mirror/system_ports.hpp"

#include <chrono>

namespace mirrord::mirror {

clock_port::duration system_clock::now() const { return std::chrono::steady_clock::now().time_since_epoch(); }

std::int64_t system_clock::wall_ms() const {
  return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::system_clock::now().time_since_epoch()).count();
}

asio::awaitable<void> system_clock::sleep(duration length) { (void)co_await client::sleep_for(length); }

double system_random::uniform() { return std::uniform_real_distribution<double>(0.0, 1.0)(engine_); }

}  // namespace mirrord::mirror
