// The engine of one connection: a queue of requests, one writer, one reader, one watch over the deadlines.
//
//   queued --writer--> under way --reader--> answered
//      \______________________\____________  failed, when the connection ends
//
// Owned by a connection and, while they run, by its own coroutines. Requests leave in the order in which they were
// queued and are answered in that order. It ends once: by close, a lost or garbled stream, or an overdue answer (the
// answers behind it could not be told apart from late ones), and then completes every request. While it is held (before
// set-up and while authenticating again) only set-up requests leave.
#pragma once

#include "base/error.hpp"
#include "client/call.hpp"
#include "client/stream.hpp"
#include "client/tasks.hpp"
#include "settings/connection_settings.hpp"
#include "wire/api.hpp"
#include "wire/api_versions.hpp"

#include <boost/asio/steady_timer.hpp>

#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace mirrord::client::detail {

enum class call_kind : std::uint8_t { ordinary, set_up };

class connection_core : public std::enable_shared_from_this<connection_core> {
 public:
  connection_core(const asio::any_io_executor& executor, std::unique_ptr<stream> s, connection_settings settings, std::string name);

  // Starts the coroutines.
  void start();

  template <class Request>
  [[nodiscard]] pending_call<typename Request::response> start_call(const Request& request, result<std::int16_t> version,
                                                                    std::chrono::milliseconds timeout,
                                                                    std::shared_ptr<const void> owner, call_kind kind) {
    auto call = std::make_shared<typed_call<typename Request::response>>(executor_);
    if (!version) {
      call->fail(std::move(version).error());
    } else {
      call->version = *version;
      call->correlation_id = next_correlation_id_++;
      call->timeout = timeout;
      call->frame = wire::encode_request(request, *version, call->correlation_id, settings_.client_id);
      call->owner = std::move(owner);
      enqueue(call, kind);
    }
    return pending_call<typename Request::response>(std::move(call));
  }

  [[nodiscard]] result<std::int16_t> version_for(wire::api_range ours) const;
  void learn_versions(const std::vector<wire::api_version>& offered);

  // From ready() on ordinary requests leave; hold() stops them again.
  void ready();
  void hold();
  // True once nothing is under way, false when the connection ended first.
  [[nodiscard]] asio::awaitable<bool> drained();

  void end(error why);
  [[nodiscard]] const std::optional<error>& ended() const noexcept { return ended_; }
  [[nodiscard]] asio::awaitable<bool> join() { return tasks_.join(); }
  void run(asio::awaitable<void> task) { tasks_.spawn(std::move(task)); }

  [[nodiscard]] const connection_settings& settings() const noexcept { return settings_; }
  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  [[nodiscard]] std::size_t queued() const noexcept { return set_up_.size() + ordinary_.size(); }
  [[nodiscard]] std::size_t under_way() const noexcept { return under_way_.size(); }
  [[nodiscard]] std::chrono::milliseconds throttled() const noexcept { return throttled_; }

 private:
  using call_ptr = std::shared_ptr<call_state>;

  void enqueue(call_ptr call, call_kind kind);
  [[nodiscard]] std::vector<call_ptr> take_sendable();
  [[nodiscard]] result<void> on_frame(frame_bytes frame);
  [[nodiscard]] std::size_t frame_limit() const noexcept;
  [[nodiscard]] error bad_length(std::int32_t length) const;
  void throttle(std::chrono::milliseconds length);
  void expire_overdue();
  void fail_call(call_state& call, const error& why, bool sent) const;

  static asio::awaitable<void> write_loop(std::shared_ptr<connection_core> self);
  static asio::awaitable<void> read_loop(std::shared_ptr<connection_core> self);
  static asio::awaitable<void> watch_loop(std::shared_ptr<connection_core> self);

  asio::any_io_executor executor_;
  std::unique_ptr<stream> stream_;
  connection_settings settings_;
  std::string name_;
  std::map<std::int16_t, std::pair<std::int16_t, std::int16_t>> offered_;  // per API key: what the broker speaks
  std::int32_t next_correlation_id_ = 0;

  std::deque<call_ptr> set_up_;
  std::deque<call_ptr> ordinary_;
  std::deque<call_ptr> under_way_;
  bool held_ = true;
  bool was_ready_ = false;
  bool served_ = false;  // an ordinary request was answered
  std::optional<error> ended_;

  steady_time throttled_until_{};
  std::chrono::milliseconds throttled_{0};

  asio::steady_timer writer_wake_;  // cancelled to wake the writer, expires when a throttle ends
  asio::steady_timer watch_wake_;   // expires at next_check_
  steady_time next_check_ = steady_time::max();
  notifier drained_;
  task_group tasks_;
};

}  // namespace mirrord::client::detail
