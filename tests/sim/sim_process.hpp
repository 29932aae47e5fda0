// The process of one simulated daemon: it runs, is stopped for a while (SIGSTOP, a VM's pause), or is gone.
//
// While it is stopped nothing of it goes on: whatever would wake one of its coroutines waits here until it is continued.
// What it had given to the kernel travels on, and so do the answers. A process that is gone has no effect any more.
#pragma once

#include "tests/sim/sim_clock.hpp"

#include <functional>
#include <utility>
#include <vector>

namespace mirrord::sim {

class sim_process final : public mirror::clock_port {
 public:
  explicit sim_process(sim_clock& clock) : clock_(clock) {}

  void pause() { paused_ = true; }

  void resume() {
    paused_ = false;
    auto waiting = std::move(waiting_);
    waiting_.clear();
    for (auto& action : waiting) when_running(std::move(action));
  }

  // Its coroutines run to their end, so that they can be taken away; their calls fail.
  void kill() {
    gone_ = true;
    resume();
  }

  // At once, or when it is continued.
  void when_running(std::function<void()> action) {
    if (paused_) waiting_.push_back(std::move(action));
    else action();
  }

  [[nodiscard]] bool paused() const noexcept { return paused_; }
  [[nodiscard]] bool gone() const noexcept { return gone_; }
  [[nodiscard]] sim_clock& clock() noexcept { return clock_; }

  // Its clock: time goes on while it is stopped, it only does not see it.
  [[nodiscard]] duration now() const override { return clock_.now(); }
  [[nodiscard]] std::int64_t wall_ms() const override { return clock_.wall_ms(); }
  asio::awaitable<void> sleep(duration length) override {
    auto woken = std::make_shared<mirror::one_shot<bool>>(clock_.context().get_executor());
    clock_.after(length, [this, woken] { when_running([woken] { woken->fulfil(true); }); });
    co_await woken->wait();
  }

 private:
  sim_clock& clock_;
  bool paused_ = false;
  bool gone_ = false;
  std::vector<std::function<void()>> waiting_;
};

}  // namespace mirrord::sim
