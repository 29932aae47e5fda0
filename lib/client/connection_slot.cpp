#include "client/connection_slot.hpp"

#include "base/log.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/cancellation_state.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace mirrord::client {

using connection_ptr = std::shared_ptr<connection>;

connection_slot::connection_slot(const asio::any_io_executor& executor, connection_settings settings, random_unit random, std::string name)
    : settings_(std::move(settings)),
      random_(std::move(random)),
      name_(std::move(name)),
      backoff_(settings_.reconnect_backoff, settings_.reconnect_backoff_max),
      pause_(executor),
      settled_(executor),
      tasks_(executor) {}

connection_ptr connection_slot::current() const { return connection_ && connection_->is_open() ? connection_ : nullptr; }

std::optional<error> connection_slot::failing(const endpoint& address) const {
  if (address != address_ || backoff_.failures() == 0 || std::chrono::steady_clock::now() >= not_before_) return std::nullopt;
  return last_error_;
}

asio::awaitable<result<connection_ptr>> connection_slot::get(endpoint address) {
  const auto self = shared_from_this();
  if (closing_) co_return fail(errc::cancelled, name_ + ": closed here");
  if (auto open = current()) co_return open;

  if (address != address_) {
    // The broker has come back elsewhere: what we know of its old address says nothing about the new one.
    address_ = std::move(address);
    backoff_.succeeded();
    not_before_ = {};
    pause_.cancel();
  }
  const std::uint64_t before = attempts_;
  if (!attempting_) {
    attempting_ = true;
    tasks_.spawn(attempt(self));
  }
  while (attempts_ == before) {
    const bool woken = co_await settled_.wait();
    if (!woken) co_return fail(errc::cancelled, name_ + ": connect");
  }
  // An attempt that came to its end while we were being resumed may already have been followed by a loss.
  if (auto open = current()) co_return open;
  co_return last_error_.value_or(fail(errc::unreachable, name_ + ": the connection was lost as soon as it was made"));
}

asio::awaitable<void> connection_slot::attempt(std::shared_ptr<connection_slot> self) {
  auto outcome = co_await self->open_after_pause();
  self->settle(std::move(outcome));
}

asio::awaitable<result<connection_ptr>> connection_slot::open_after_pause() {
  while (std::chrono::steady_clock::now() < not_before_) {
    pause_.expires_at(not_before_);
    co_await pause_.async_wait(asio::as_tuple(asio::use_awaitable));
    if (closing_) co_return fail(errc::cancelled, name_ + ": closed here");
  }
  co_return co_await connection::open(address_, settings_, name_ + " at " + address_.text());
}

void connection_slot::settle(result<connection_ptr> outcome) {
  attempting_ = false;
  ++attempts_;
  const auto now = std::chrono::steady_clock::now();
  if (outcome && !closing_) {
    release();
    ++totals_.opened;
    connection_ = std::move(outcome).value();
    last_error_.reset();
    backoff_.succeeded();
    not_before_ = now + backoff_.initial(random_());
    log::debug("connected", {{"broker", connection_->name()}});
  } else if (outcome) {
    last_error_ = fail(errc::cancelled, name_ + ": closed here");
  } else {
    ++totals_.failed;
    last_error_ = std::move(outcome).error();
    const auto wait = backoff_.after_failure(random_());
    not_before_ = now + wait;
    // The first failure in a row is news; the rest repeat it as often as the back-off allows.
    const auto level = backoff_.failures() == 1 && !closing_ ? log::level::warn : log::level::debug;
    if (log::enabled(level)) {
      log::write(level, "connect_failed", {{"broker", name_}, {"error", last_error_->message()}, {"retry_in_ms", wait.count()}});
    }
  }
  settled_.notify();
}

void connection_slot::release() {
  if (connection_) totals_.throttled += connection_->throttled();
  if (current()) not_before_ = {};  // let go of, not lost: the next one need not keep a distance
  connection_.reset();
}

void connection_slot::close() {
  closing_ = true;
  tasks_.cancel();
  if (connection_) connection_->close();
}

asio::awaitable<bool> connection_slot::closed() {
  const auto self = shared_from_this();
  const bool ended = co_await tasks_.join();
  const connection_ptr last = connection_;
  if (!ended || !last) co_return ended;
  co_return co_await last->closed();
}

connection_slot::statistics connection_slot::totals() const {
  statistics t = totals_;
  if (connection_) t.throttled += connection_->throttled();
  return t;
}

}  // namespace mirrord::client
