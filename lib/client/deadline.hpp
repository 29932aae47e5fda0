// A guard that does something to a pending operation (close its socket, as a rule) when its time is over.
//
// One coroutine creates it before the awaits that it covers and destroys it after them. `on_expiry` runs at most once,
// from the io_context's loop, never during or after the guard's destruction. Asio 1.81 has no cancel_after, and racing
// every read against a timer would cost an extra coroutine each.
#pragma once

#include <boost/asio/any_io_executor.hpp>

#include <chrono>
#include <functional>
#include <memory>

namespace mirrord::client {

using steady_time = std::chrono::steady_clock::time_point;

class deadline {
 public:
  deadline(const boost::asio::any_io_executor& executor, steady_time at, std::function<void()> on_expiry);
  ~deadline();
  deadline(const deadline&) = delete;
  deadline& operator=(const deadline&) = delete;

  [[nodiscard]] bool passed() const noexcept;

 private:
  struct state;
  std::shared_ptr<state> state_;
};

}  // namespace mirrord::client
