#include "tests/support/fake_broker.hpp"

#include "wire/buffer.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>

#include <exception>

namespace mirrord::client::fake {

using asio::ip::tcp;

void stage::play(std::vector<asio::awaitable<void>> parts) {
  std::size_t running = parts.size();
  for (auto& part : parts) {
    asio::co_spawn(io, std::move(part), [&](std::exception_ptr failure) {
      --running;
      if (failure) std::rethrow_exception(failure);
    });
  }
  io.restart();
  const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (running > 0 && io.run_one_until(give_up) > 0) {
  }
  if (running > 0) throw std::runtime_error("the story did not end");
}

peer::peer(tcp::socket socket, asio::ssl::context* tls) {
  if (tls) tls_.emplace(std::move(socket), *tls);
  else plain_.emplace(std::move(socket));
}

asio::awaitable<void> peer::handshake() {
  if (tls_) co_await tls_->async_handshake(asio::ssl::stream_base::server, asio::use_awaitable);
}

asio::awaitable<void> peer::read_exactly(std::span<std::byte> into) {
  const auto buffer = asio::buffer(into.data(), into.size());
  if (tls_) co_await asio::async_read(*tls_, buffer, asio::use_awaitable);
  else co_await asio::async_read(*plain_, buffer, asio::use_awaitable);
}

asio::awaitable<std::vector<std::byte>> peer::read_frame() {
  std::vector<std::byte> length(4);
  co_await read_exactly(length);
  std::vector<std::byte> frame(static_cast<std::size_t>(wire::reader(length).int32()));
  co_await read_exactly(frame);
  co_return frame;
}

asio::awaitable<void> peer::send(std::vector<std::byte> bytes) {
  const auto buffer = asio::buffer(bytes.data(), bytes.size());
  if (tls_) co_await asio::async_write(*tls_, buffer, asio::use_awaitable);
  else co_await asio::async_write(*plain_, buffer, asio::use_awaitable);
}

asio::awaitable<void> peer::read_to_end() {
  std::vector<std::byte> rest(4096);
  const auto as_pair = asio::as_tuple(asio::use_awaitable);
  for (;;) {
    const auto [code, n] = tls_ ? co_await tls_->async_read_some(asio::buffer(rest), as_pair)
                                : co_await plain_->async_read_some(asio::buffer(rest), as_pair);
    if (code) co_return;
  }
}

void peer::close() {
  boost::system::error_code ignored;
  if (tls_) tls_->lowest_layer().close(ignored);
  else plain_->close(ignored);
}

broker::broker(asio::io_context& io, asio::ssl::context* tls)
    : acceptor_(io, tcp::endpoint(asio::ip::address_v4::loopback(), 0)), bound_(acceptor_.local_endpoint()), tls_(tls) {}

endpoint broker::address() const { return {"127.0.0.1", bound_.port()}; }

connection_settings broker::settings() const {
  connection_settings s;
  s.bootstrap_servers = {address().text()};
  s.request_timeout = std::chrono::milliseconds(5000);
  s.socket_connection_setup_timeout = std::chrono::milliseconds(5000);
  s.reconnect_backoff = std::chrono::milliseconds(10);
  s.reconnect_backoff_max = std::chrono::milliseconds(80);
  return s;
}

asio::awaitable<std::shared_ptr<peer>> broker::accept() {
  tcp::socket socket = co_await acceptor_.async_accept(asio::use_awaitable);
  auto p = std::make_shared<peer>(std::move(socket), tls_);
  co_await p->handshake();
  co_return p;
}

asio::awaitable<std::shared_ptr<peer>> broker::accept_client(std::vector<wire::api_version> offered) {
  auto p = co_await accept();
  co_await answer_api_versions(p, std::move(offered));
  co_return p;
}

void broker::shut() { acceptor_.close(); }

void broker::open() {
  acceptor_ = tcp::acceptor(acceptor_.get_executor(), bound_);
}

std::vector<wire::api_version> usual_versions() {
  return {{0, 0, 13}, {1, 4, 18}, {2, 1, 11}, {3, 0, 13}, {17, 0, 1}, {18, 0, 4}, {22, 0, 6}, {23, 2, 4}, {27, 1, 1}, {36, 0, 2}, {61, 0, 0}};
}

asio::awaitable<void> answer_api_versions(std::shared_ptr<peer> p, std::vector<wire::api_version> offered) {
  const auto [header, request] = co_await p->read<wire::api_versions_request>();
  wire::api_versions_response response;
  response.api_keys = std::move(offered);
  co_await p->answer(header, std::move(response));
}

asio::awaitable<void> pause(std::chrono::milliseconds length) {
  asio::steady_timer timer(co_await asio::this_coro::executor, length);
  co_await timer.async_wait(asio::use_awaitable);
}

}  // namespace mirrord::client::fake
