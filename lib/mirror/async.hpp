// Small single-threaded building blocks for coroutines: one_shot (a value that arrives once), notifier (wake all who
// wait) and bounded_queue (between a producing and a consuming coroutine).
//
// All belong to one io_context on one thread; none has a lock. Whoever owns one must outlive its waiters, or close it
// and await them first.
#pragma once

#include "base/check.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <deque>
#include <optional>
#include <utility>

namespace mirrord::mirror {

namespace asio = boost::asio;

// Wakes every coroutine that waits now. A notify() without waiters is lost: waiters test their condition in a loop.
class notifier {
 public:
  explicit notifier(const asio::any_io_executor& executor) : timer_(executor, asio::steady_timer::time_point::max()) {}

  void notify() { timer_.cancel(); }

  asio::awaitable<void> wait() {
    boost::system::error_code ignored;  // always operation_aborted: the timer is never meant to expire
    co_await timer_.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
  }

 private:
  asio::steady_timer timer_;
};

// A value that somebody fulfils exactly once and one coroutine awaits.
template <class T>
class one_shot {
 public:
  explicit one_shot(const asio::any_io_executor& executor) : arrived_(executor) {}

  void fulfil(T value) {
    MIRRORD_CHECK(!value_, "a one_shot is fulfilled twice");
    value_.emplace(std::move(value));
    arrived_.notify();
  }

  [[nodiscard]] bool ready() const noexcept { return value_.has_value(); }

  // The value; call after ready().
  [[nodiscard]] T& value() { return *value_; }

  asio::awaitable<void> wait() {
    while (!value_) co_await arrived_.wait();
  }

 private:
  std::optional<T> value_;
  notifier arrived_;
};

// Bounded by count; push waits for room, pop waits for an element. close() ends both: push answers false, pop hands out
// what is left and then nothing.
template <class T>
class bounded_queue {
 public:
  bounded_queue(const asio::any_io_executor& executor, std::size_t capacity)
      : capacity_(capacity), changed_(executor) {}

  asio::awaitable<bool> push(T value) {
    while (!closed_ && items_.size() >= capacity_) co_await changed_.wait();
    if (closed_) co_return false;
    items_.push_back(std::move(value));
    changed_.notify();
    co_return true;
  }

  asio::awaitable<std::optional<T>> pop() {
    while (!closed_ && items_.empty()) co_await changed_.wait();
    if (items_.empty()) co_return std::nullopt;
    T value = std::move(items_.front());
    items_.pop_front();
    changed_.notify();
    co_return value;
  }

  void close() {
    closed_ = true;
    changed_.notify();
  }

  [[nodiscard]] bool empty() const noexcept { return items_.empty(); }

 private:
  std::size_t capacity_;
  bool closed_ = false;
  std::deque<T> items_;
  notifier changed_;
};

}  // namespace mirrord::mirror
