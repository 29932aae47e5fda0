// Two building blocks of objects that own coroutines: `notifier` wakes whoever waits, `task_group` runs coroutines and
// lets their owner await the end of them all, so that nothing has to be detached.
//
// Both belong to one io_context on one thread. A wait that the awaiting coroutine's owner cancels ends with `false`.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>

#include <chrono>
#include <cstddef>
#include <memory>

namespace mirrord::client {

namespace asio = boost::asio;

// Wakes every coroutine that waits now. A notify() without waiters is lost: waiters test their condition in a loop.
class notifier {
 public:
  explicit notifier(const asio::any_io_executor& executor) : timer_(executor, asio::steady_timer::time_point::max()) {}

  void notify() { timer_.cancel(); }

  // True after notify(), false when the awaiting coroutine was cancelled.
  [[nodiscard]] asio::awaitable<bool> wait();

 private:
  asio::steady_timer timer_;
};

// The group may be destroyed before its tasks end (its owner's last reference can be inside one of them).
class task_group {
 public:
  explicit task_group(const asio::any_io_executor& executor);

  // The task can run up to its first wait inside this call. It handles its own errors: an exception that leaves it is a
  // bug and aborts, except operation_aborted, which is how Asio ends a cancelled coroutine.
  void spawn(asio::awaitable<void> task);

  // Ends whatever the tasks wait for, now and from here on: each sees errc::cancelled or Asio's operation_aborted.
  void cancel();

  [[nodiscard]] std::size_t running() const noexcept;

  // True when no task runs any more, false when the awaiting coroutine was cancelled before.
  [[nodiscard]] asio::awaitable<bool> join();

 private:
  struct state;
  std::shared_ptr<state> state_;
};

// Waits for `length`; false when the awaiting coroutine was cancelled.
[[nodiscard]] asio::awaitable<bool> sleep_for(std::chrono::nanoseconds length);

// Whether the owner of the coroutine that awaits this asked it to end. Never throws.
[[nodiscard]] bool is_cancelled(const asio::cancellation_state& state) noexcept;

}  // namespace mirrord::client
