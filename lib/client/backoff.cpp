#include "client/backoff.hpp"

#include <algorithm>
#include <limits>

namespace mirrord::client {

namespace {
constexpr double jitter = 0.2;
}

std::chrono::milliseconds backoff::after_failure(double unit) {
  std::chrono::milliseconds nominal = std::min(initial_, max_);
  for (std::uint32_t i = 0; i < failures_ && nominal < max_; ++i) nominal = std::min(nominal * 2, max_);
  if (failures_ < std::numeric_limits<std::uint32_t>::max()) ++failures_;
  return spread(nominal, unit);
}

std::chrono::milliseconds backoff::spread(std::chrono::milliseconds nominal, double unit) {
  const double factor = 1 - jitter + 2 * jitter * std::clamp(unit, 0.0, 1.0);
  return std::chrono::milliseconds(static_cast<std::int64_t>(static_cast<double>(nominal.count()) * factor));
}

}  // namespace mirrord::client
