// Bytes to and from one broker, over TCP or over TLS on TCP.
//
// Owned by one connection, which runs at most one read and one write at a time and keeps the stream alive until both
// have ended. close() ends whatever is pending with errc::cancelled. Reads and writes have no clock of their own: a
// reader may wait as long as nothing is asked, so the owner closes the stream when an answer is overdue.
#pragma once

#include "base/error.hpp"
#include "client/deadline.hpp"
#include "client/endpoint.hpp"
#include "settings/connection_settings.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

namespace mirrord::client {

namespace asio = boost::asio;

class stream {
 public:
  // Resolves the name, tries its addresses in turn and does the TLS handshake where settings.security_protocol asks for
  // it, all before `until`. Errors: unreachable, timed_out, authentication_failed, invalid (a PEM file), cancelled.
  [[nodiscard]] static asio::awaitable<result<std::unique_ptr<stream>>> connect(endpoint to, connection_settings settings, steady_time until);

  ~stream();
  stream(const stream&) = delete;
  stream& operator=(const stream&) = delete;

  // At least one byte. errc::connection_lost when the broker closed, authentication_failed when it refused our
  // certificate.
  [[nodiscard]] asio::awaitable<result<std::size_t>> read_some(std::span<std::byte> into);

  // Fills all of `into`.
  [[nodiscard]] asio::awaitable<result<void>> read(std::span<std::byte> into);

  // All of the parts, in order; their bytes stay alive until it ends.
  [[nodiscard]] asio::awaitable<result<void>> write(std::vector<std::span<const std::byte>> parts);

  void close() noexcept;

 private:
  struct impl;
  explicit stream(std::unique_ptr<impl> i);
  std::unique_ptr<impl> impl_;
};

}  // namespace mirrord::client
