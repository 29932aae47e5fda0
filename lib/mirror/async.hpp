// Small single-threaded building blocks for coroutines: one_shot (a value that arrives once) and bounded_queue (between
// a producing and a consuming coroutine).
//
// All belong to one io_context on one thread; none has a lock. Whoever owns one must outlive its waiters, or close it
// and await them first. Nothing here is ended by Asio's cancellation: owners stop through close() or by fulfilling.
#pragma once

#include "base/check.hpp"
#include "client/tasks.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include <deque>
#include <optional>
#include <utility>

namespace mirrord::mirror {

namespace asio = boost::asio;

using client::notifier;

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
    while (!value_) (void)co_await arrived_.wait();
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
    while (!closed_ && items_.size() >= capacity_) (void)co_await changed_.wait();
    if (closed_) co_return false;
    items_.push_back(std::move(value));
    changed_.notify();
    co_return true;
  }

  asio::awaitable<std::optional<T>> pop() {
    while (!closed_ && items_.empty()) (void)co_await changed_.wait();
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

  // Lets go of what is left.
  void discard() {
    items_.clear();
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
