// Simulated time: a queue of events, the clock_port of the code under test, and the driver of the event loop.
//
// Nothing here looks at real time. drive() lets the loop run until nothing is ready and only then moves the clock to
// the next event, so a run depends on its seed alone. Events of one moment run in the order of their creation.
#pragma once

#include "mirror/ports.hpp"

#include <boost/asio/io_context.hpp>

#include <cstdint>
#include <functional>
#include <map>
#include <utility>

namespace mirrord::sim {

namespace asio = boost::asio;

class sim_clock final : public mirror::clock_port {
 public:
  explicit sim_clock(asio::io_context& context) : context_(context) {}

  [[nodiscard]] duration now() const override { return now_; }
  [[nodiscard]] std::int64_t wall_ms() const override {
    return wall_start_ms + std::chrono::duration_cast<std::chrono::milliseconds>(now_).count();
  }
  asio::awaitable<void> sleep(duration length) override;

  void after(duration delay, std::function<void()> action);

  // Right after the `count`-th event from now on, whatever it is: between two steps of everybody.
  void after_events(std::uint64_t count, std::function<void()> action);

  // Moves to the next event and runs it; false when there is none.
  bool advance();

  [[nodiscard]] asio::io_context& context() noexcept { return context_; }

 private:
  static constexpr std::int64_t wall_start_ms = 1'700'000'000'000;

  asio::io_context& context_;
  duration now_{0};
  std::uint64_t created_ = 0;
  std::map<std::pair<duration, std::uint64_t>, std::function<void()>> events_;
  std::uint64_t passed_ = 0;  // events
  std::multimap<std::uint64_t, std::function<void()>> by_count_;
};

enum class drive_end : std::uint8_t {
  done,       // the condition came true
  idle,       // nothing is ready and no event is left: whoever waits would wait for ever
  time_limit  // simulated time ran out: a livelock, or a wait for something that cannot come
};

// Runs the loop and the events until `done`; `after_step` runs whenever nothing is ready.
[[nodiscard]] drive_end drive(sim_clock& clock, mirror::clock_port::duration limit, const std::function<bool()>& done,
                              const std::function<void()>& after_step = {});

}  // namespace mirrord::sim
