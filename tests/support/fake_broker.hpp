// A broker played by the test: an acceptor on loopback whose connections are driven frame by frame by a coroutine of the
// test, in plain text or with TLS, and the stage on which such a coroutine and the client's run together.
//
// Everything here throws on surprise (a closed socket, a request of another kind), which fails the test.
#pragma once

#include "base/error.hpp"
#include "client/endpoint.hpp"
#include "settings/connection_settings.hpp"
#include "wire/api_versions.hpp"
#include "wire/codec.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/stream.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace mirrord::client::fake {

namespace asio = boost::asio;

// Runs coroutines side by side until all have ended; throws what one of them threw, or after ten seconds.
class stage {
 public:
  asio::io_context io;

  void play(std::vector<asio::awaitable<void>> parts);
};

class peer {
 public:
  peer(asio::ip::tcp::socket socket, asio::ssl::context* tls);

  // The next request after its length.
  [[nodiscard]] asio::awaitable<std::vector<std::byte>> read_frame();

  // The next request, which must be a Request.
  template <class Request>
  [[nodiscard]] asio::awaitable<std::pair<wire::request_header, Request>> read();

  asio::awaitable<void> send(std::vector<std::byte> bytes);

  // Answers the request with this header.
  template <class Response>
  asio::awaitable<void> answer(wire::request_header to, Response response) {
    return send(wire::encode_response(response, to.version, to.correlation_id).flatten());
  }

  // Waits until the client closes; what it still sends is thrown away.
  asio::awaitable<void> read_to_end();

  void close();
  asio::awaitable<void> handshake();

 private:
  asio::awaitable<void> read_exactly(std::span<std::byte> into);

  std::optional<asio::ssl::stream<asio::ip::tcp::socket>> tls_;
  std::optional<asio::ip::tcp::socket> plain_;
};

class broker {
 public:
  explicit broker(asio::io_context& io, asio::ssl::context* tls = nullptr);

  [[nodiscard]] endpoint address() const;
  [[nodiscard]] connection_settings settings() const;  // of a client that begins here

  // The next connection, its TLS handshake done.
  [[nodiscard]] asio::awaitable<std::shared_ptr<peer>> accept();

  // The next connection, its ApiVersions answered with all that `offered` lists.
  [[nodiscard]] asio::awaitable<std::shared_ptr<peer>> accept_client(std::vector<wire::api_version> offered);

  // From here on connections are refused, until open() takes the same port again.
  void shut();
  void open();

 private:
  asio::ip::tcp::acceptor acceptor_;
  asio::ip::tcp::endpoint bound_;
  asio::ssl::context* tls_;
};

// All APIs that the tests use, in the ranges of a 4.x broker.
[[nodiscard]] std::vector<wire::api_version> usual_versions();

asio::awaitable<void> answer_api_versions(std::shared_ptr<peer> p, std::vector<wire::api_version> offered);

[[nodiscard]] asio::awaitable<void> pause(std::chrono::milliseconds length);

template <class Request>
asio::awaitable<std::pair<wire::request_header, Request>> peer::read() {
  const std::vector<std::byte> frame = co_await read_frame();
  auto header = wire::decode_request_header(frame);
  if (!header) throw std::runtime_error(header.error().message());
  if (header->key != Request::api.key) throw std::runtime_error("a request of another kind: " + std::string(wire::name(header->key)));
  auto request = wire::decode_request<Request>(frame);
  if (!request) throw std::runtime_error(request.error().message());
  std::pair<wire::request_header, Request> both(*header, std::move(*request));
  co_return both;
}

}  // namespace mirrord::client::fake
