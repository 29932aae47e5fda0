#include "client/tasks.hpp"

#include "base/check.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/cancellation_state.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/system/system_error.hpp>

#include <exception>
#include <list>

namespace mirrord::client {

bool is_cancelled(const asio::cancellation_state& state) noexcept { return state.cancelled() != asio::cancellation_type::none; }

asio::awaitable<bool> notifier::wait() {
  // The timer never expires: it ends by notify() or by cancellation, and only the coroutine's state tells which.
  co_await timer_.async_wait(asio::as_tuple(asio::use_awaitable));
  co_return !is_cancelled(co_await asio::this_coro::cancellation_state);
}

asio::awaitable<bool> sleep_for(std::chrono::nanoseconds length) {
  asio::steady_timer timer(co_await asio::this_coro::executor, length);
  co_await timer.async_wait(asio::as_tuple(asio::use_awaitable));
  co_return !is_cancelled(co_await asio::this_coro::cancellation_state);
}

struct task_group::state {
  asio::any_io_executor executor;
  notifier ended;
  std::list<asio::cancellation_signal> tasks;  // a list, since a signal's address must not change
};

task_group::task_group(const asio::any_io_executor& executor)
    : state_(std::make_shared<state>(executor, notifier(executor), std::list<asio::cancellation_signal>())) {}

void task_group::spawn(asio::awaitable<void> task) {
  const auto signal = state_->tasks.emplace(state_->tasks.end());
  auto on_end = [s = state_, signal](std::exception_ptr failure) {
    s->tasks.erase(signal);
    s->ended.notify();
    if (!failure) return;
    try {
      std::rethrow_exception(failure);
    } catch (const boost::system::system_error& e) {
      MIRRORD_CHECK(e.code() == asio::error::operation_aborted, "a task ended with {}", e.what());
    }
  };
  asio::co_spawn(state_->executor, std::move(task), asio::bind_cancellation_slot(signal->slot(), std::move(on_end)));
}

void task_group::cancel() {
  for (auto& task : state_->tasks) task.emit(asio::cancellation_type::terminal);
}

std::size_t task_group::running() const noexcept { return state_->tasks.size(); }

asio::awaitable<bool> task_group::join() {
  const std::shared_ptr<state> s = state_;
  while (!s->tasks.empty()) {
    const bool woken = co_await s->ended.wait();
    if (!woken) co_return false;
  }
  co_return true;
}

}  // namespace mirrord::client
