#include "tests/sim/sim_clock.hpp"

#include <algorithm>
#include <memory>

namespace mirrord::sim {

asio::awaitable<void> sim_clock::sleep(duration length) {
  auto woken = std::make_shared<mirror::one_shot<bool>>(context_.get_executor());
  after(length, [woken] { woken->fulfil(true); });
  co_await woken->wait();
}

void sim_clock::after(duration delay, std::function<void()> action) {
  events_.emplace(std::pair(now_ + std::max(delay, duration{0}), created_++), std::move(action));
}

void sim_clock::after_events(std::uint64_t count, std::function<void()> action) { by_count_.emplace(passed_ + count, std::move(action)); }

bool sim_clock::advance() {
  if (!by_count_.empty() && by_count_.begin()->first <= passed_) {
    auto due = by_count_.extract(by_count_.begin());
    due.mapped()();
    return true;
  }
  if (events_.empty()) return false;
  ++passed_;
  auto next = events_.extract(events_.begin());
  now_ = next.key().first;
  next.mapped()();
  return true;
}

drive_end drive(sim_clock& clock, mirror::clock_port::duration limit, const std::function<bool()>& done,
                const std::function<void()>& after_step) {
  const auto deadline = clock.now() + limit;
  while (true) {
    clock.context().restart();
    if (clock.context().poll() > 0) continue;
    if (after_step) after_step();
    if (done()) return drive_end::done;
    if (clock.now() > deadline) return drive_end::time_limit;
    clock.context().restart();
    if (clock.context().poll() > 0) continue;  // what after_step started
    if (!clock.advance()) return drive_end::idle;
  }
}

}  // namespace mirrord::sim
