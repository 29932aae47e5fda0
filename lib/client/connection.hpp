// One authenticated connection to one broker, with many requests under way on it.
//
// Shared by whoever sends through it; letting go of the last reference closes it, and every request that was on it is
// completed. Requests leave in the order of start_call() and call() (both queue before they return) and are answered in
// that order. A broker's throttle time delays what is sent later on this connection and on no other (KIP-219). All of it
// belongs to one io_context on one thread. How many requests may be queued is the callers' affair: see queued().
#pragma once

#include "base/error.hpp"
#include "client/call.hpp"
#include "client/connection_core.hpp"
#include "client/endpoint.hpp"
#include "settings/connection_settings.hpp"

#include <boost/asio/awaitable.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

namespace mirrord::client {

class connection {
 public:
  // Connects, asks for API versions and authenticates, all within settings.socket_connection_setup_timeout. `name` is
  // what errors call the broker ("broker 2 at host:9092"). Errors: unreachable, timed_out, authentication_failed,
  // connection_lost, unsupported, malformed, invalid (a PEM file), cancelled.
  [[nodiscard]] static asio::awaitable<result<std::shared_ptr<connection>>> open(endpoint to, connection_settings settings,
                                                                                std::string name);

  explicit connection(std::shared_ptr<detail::connection_core> core) : core_(std::move(core)) {}
  ~connection() { close(); }
  connection(const connection&) = delete;
  connection& operator=(const connection&) = delete;

  // Queues the request and hands out what to await later. Record bytes that the request borrows are written straight
  // from where they are and kept alive by `owner`; without an owner they are copied.
  template <class Request>
  [[nodiscard]] pending_call<typename Request::response> start_call(const Request& request, std::chrono::milliseconds timeout,
                                                                    std::shared_ptr<const void> owner = nullptr) {
    return core_->start_call(request, version_for<Request>(), timeout, std::move(owner), detail::call_kind::ordinary);
  }

  // start_call() and wait() in one: the request is queued even before the awaitable is awaited.
  //
  // Errors: unsupported (the message names the API and both ranges); timed_out: this request's time was over, which ends
  // the connection; connection_lost: it ended while this request was under way; unreachable: it ended before this
  // request left (see never_sent); malformed: an answer that does not parse, which ends the connection too; cancelled:
  // the awaiting coroutine was asked to end.
  template <class Request>
  [[nodiscard]] asio::awaitable<result<reply<typename Request::response>>> call(const Request& request, std::chrono::milliseconds timeout,
                                                                                std::shared_ptr<const void> owner = nullptr) {
    return start_call(request, timeout, std::move(owner)).wait();
  }

  // The version in which this broker gets a request of this type, or errc::unsupported.
  template <class Request>
  [[nodiscard]] result<std::int16_t> version_for() const {
    return core_->version_for(Request::api);
  }

  [[nodiscard]] bool is_open() const noexcept { return !core_->ended(); }
  [[nodiscard]] const std::string& name() const noexcept { return core_->name(); }

  [[nodiscard]] std::size_t queued() const noexcept { return core_->queued(); }        // not yet sent
  [[nodiscard]] std::size_t under_way() const noexcept { return core_->under_way(); }  // sent, not yet answered
  [[nodiscard]] std::chrono::milliseconds throttled() const noexcept { return core_->throttled(); }  // in total

  // At once and as often as one likes; completes every request.
  void close();

  // Waits until the connection has ended and its coroutines with it; false when the awaiting coroutine was cancelled.
  [[nodiscard]] asio::awaitable<bool> closed();

 private:
  std::shared_ptr<detail::connection_core> core_;
};

}  // namespace mirrord::client
