#include "mirror/write_lease.hpp"

#include <ctime>

namespace mirrord::mirror {

std::uint64_t write_lease::term() {
  const duration now = now_();
  const duration gap = now - last_look_;
  last_look_ = now;
  if (gap > length_) {
    last_gap_ = gap;
    ++term_;
  }
  return term_;
}

write_lease::duration boot_time() {
  timespec now{};
  clock_gettime(CLOCK_BOOTTIME, &now);
  return std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec);
}

}  // namespace mirrord::mirror
