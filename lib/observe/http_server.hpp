// The daemon's status page for tools, on the daemon's own event loop: `/healthz` and `/status`, GET and HEAD only.
//
// Owned by the composition root: start() once, stop() once and awaited before destruction; both on the loop's thread.
// Without authentication, so meant for loopback. A slow or hostile client costs at most its connection: their number,
// the size of a header and the time of each read and write are bounded, and bodies are never read.
#pragma once

#include "base/error.hpp"
#include "observe/status.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace mirrord::observe {

struct http_options {
  std::string address = "127.0.0.1";  // numeric
  std::uint16_t port = 8489;          // 0: any free port
  std::size_t connections_max = 64;   // further ones are told 503 and closed
  std::size_t header_bytes_max = 8 * 1024;
  std::chrono::milliseconds timeout{10'000};  // for a whole request header, idle time included, and for a whole answer
};

class http_server {
 public:
  // `snapshot` is called on the loop's thread, at most once a second while answers are being sent.
  http_server(const boost::asio::any_io_executor& executor, http_options options, std::function<status_snapshot()> snapshot);
  ~http_server();
  http_server(const http_server&) = delete;
  http_server& operator=(const http_server&) = delete;

  // Listens, and gives the port. errc::io with address and reason when that fails.
  [[nodiscard]] result<std::uint16_t> start();

  // Order: no new connections, all connections closed, all coroutines ended.
  [[nodiscard]] boost::asio::awaitable<void> stop();

  [[nodiscard]] std::size_t connections() const noexcept;

 private:
  struct state;
  std::shared_ptr<state> state_;
};

}  // namespace mirrord::observe
