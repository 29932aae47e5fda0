// One place for a connection that is opened when somebody asks for it, shared by all who do, and opened again after a
// loss, with back-off.
//
// Owned by cluster. At most one attempt runs at a time; everybody who asks meanwhile gets its outcome. The back-off
// grows with each failed attempt and starts over only when a connection was set up completely; even then the next
// attempt keeps the first wait's distance, since a broker can accept everybody and drop them at the first request.
#pragma once

#include "base/error.hpp"
#include "client/backoff.hpp"
#include "client/connection.hpp"
#include "client/deadline.hpp"
#include "client/tasks.hpp"

#include <boost/asio/steady_timer.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace mirrord::client {

using random_unit = std::function<double()>;  // numbers in [0, 1); copies draw from the same sequence

class connection_slot : public std::enable_shared_from_this<connection_slot> {
 public:
  // `name` is what logs and errors call the broker.
  connection_slot(const asio::any_io_executor& executor, connection_settings settings, random_unit random, std::string name);

  // The open connection, or a new one to `address` after the rest of the back-off. Errors: those of connection::open;
  // cancelled after close() too.
  [[nodiscard]] asio::awaitable<result<std::shared_ptr<connection>>> get(endpoint address);

  // The connection if it is open now.
  [[nodiscard]] std::shared_ptr<connection> current() const;

  // Why the last attempt to reach this address failed, while the back-off after it lasts.
  [[nodiscard]] std::optional<error> failing(const endpoint& address) const;

  [[nodiscard]] steady_time not_before() const noexcept { return not_before_; }

  // Lets go of the connection; whoever still uses it keeps it.
  void release();

  void close();

  // After close(): waits until everything has ended; false when the awaiting coroutine was cancelled.
  [[nodiscard]] asio::awaitable<bool> closed();

  struct statistics {
    std::uint64_t opened = 0;
    std::uint64_t failed = 0;
    std::chrono::milliseconds throttled{0};  // over all connections that were here
  };
  [[nodiscard]] statistics totals() const;

 private:
  static asio::awaitable<void> attempt(std::shared_ptr<connection_slot> self);
  [[nodiscard]] asio::awaitable<result<std::shared_ptr<connection>>> open_after_pause();
  void settle(result<std::shared_ptr<connection>> outcome);

  connection_settings settings_;
  random_unit random_;
  std::string name_;
  endpoint address_;
  backoff backoff_;
  steady_time not_before_{};
  asio::steady_timer pause_;

  std::shared_ptr<connection> connection_;
  std::optional<error> last_error_;
  std::uint64_t attempts_ = 0;  // that have ended
  bool attempting_ = false;
  bool closing_ = false;
  statistics totals_;
  notifier settled_;
  task_group tasks_;
};

}  // namespace mirrord::client
