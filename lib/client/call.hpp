// One request on a connection, from being queued to its answer.
//
// The caller and the connection share a call's state; whoever lets go first does not disturb the other. The answer is
// decoded when it arrives, so that its throttle time counts at once, and stays with the frame that its views point into.
#pragma once

#include "base/error.hpp"
#include "client/deadline.hpp"
#include "client/tasks.hpp"
#include "wire/codec.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace mirrord::client {

using frame_bytes = std::shared_ptr<const std::vector<std::byte>>;

template <class Response>
struct reply {
  Response body;
  frame_bytes frame;  // owns what the views in `body` point into
};

// Whether the request of a failed call certainly did not reach the broker. Everything else leaves the outcome of a write
// unknown, errc::cancelled included: it says that nobody waits any more, the request itself is not taken back.
[[nodiscard]] inline bool never_sent(const error& e) noexcept { return e.code == errc::unreachable || e.code == errc::unsupported; }

namespace detail {

// What the connection knows of a call.
class call_state {
 public:
  call_state(const asio::any_io_executor& executor, wire::api_key k) : key(k), answered(executor) {}
  virtual ~call_state() = default;

  // Decodes the answer of the broker `from` and completes the call. The value is the throttle time, zero if the broker
  // asks for none; an error means bytes that do not parse, and the call has failed with it.
  virtual result<std::chrono::milliseconds> accept(frame_bytes frame, const std::string& from) = 0;
  virtual void fail(error e) = 0;
  [[nodiscard]] virtual bool done() const noexcept = 0;

  const wire::api_key key;
  std::int16_t version = 0;
  std::int32_t correlation_id = 0;
  steady_time expires{};
  std::chrono::milliseconds timeout{};
  wire::encoded_frame frame;
  std::shared_ptr<const void> owner;  // keeps the borrowed bytes of `frame` alive until they are written
  notifier answered;
};

template <class Response>
class typed_call final : public call_state {
 public:
  explicit typed_call(const asio::any_io_executor& executor) : call_state(executor, Response::api.key) {}

  result<std::chrono::milliseconds> accept(frame_bytes bytes, const std::string& from) override {
    auto decoded = wire::decode_response<Response>(*bytes, version, correlation_id);
    if (!decoded) {
      fail(error(decoded.error()).within(from));
      return std::move(decoded).error();
    }
    std::chrono::milliseconds throttle{0};
    if constexpr (requires { decoded->throttle_time_ms; }) throttle = std::chrono::milliseconds(decoded->throttle_time_ms);
    outcome_.emplace(reply<Response>{std::move(decoded).value(), std::move(bytes)});
    answered.notify();
    return throttle;
  }

  void fail(error e) override {
    outcome_.emplace(std::move(e));
    answered.notify();
  }

  [[nodiscard]] bool done() const noexcept override { return outcome_.has_value(); }

  // Once, after done().
  [[nodiscard]] result<reply<Response>> take() { return std::move(*outcome_); }

 private:
  std::optional<result<reply<Response>>> outcome_;
};

[[nodiscard]] error wait_cancelled(wire::api_key key);

template <class Response>
asio::awaitable<result<reply<Response>>> wait_for(std::shared_ptr<typed_call<Response>> call) {
  while (!call->done()) {
    const bool woken = co_await call->answered.wait();
    if (!woken) co_return wait_cancelled(call->key);
  }
  co_return call->take();
}

}  // namespace detail

// A request that is on its way. Dropping it drops the answer, not the request.
template <class Response>
class pending_call {
 public:
  explicit pending_call(std::shared_ptr<detail::typed_call<Response>> state) : state_(std::move(state)) {}

  [[nodiscard]] bool done() const noexcept { return state_->done(); }

  // Called once. The call's own deadline bounds the wait; errors are those of connection::call.
  [[nodiscard]] asio::awaitable<result<reply<Response>>> wait() { return detail::wait_for(std::move(state_)); }

 private:
  std::shared_ptr<detail::typed_call<Response>> state_;
};

}  // namespace mirrord::client
