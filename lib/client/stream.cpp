#include "client/stream.hpp"

#include "client/stream_tls.hpp"
#include "client/tasks.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/cancellation_state.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/ssl/error.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>

#include <optional>
#include <tuple>

namespace mirrord::client {

using asio::ip::tcp;
using boost::system::error_code;

namespace {

constexpr auto as_pair = asio::as_tuple(asio::use_awaitable);

// getaddrinfo cannot be interrupted: it runs on Asio's resolver thread and is left behind when the deadline passes, so
// its completion and the waiting coroutine share this.
struct lookup {
  tcp::resolver resolver;
  asio::steady_timer answered;
  std::optional<std::pair<error_code, tcp::resolver::results_type>> outcome;
};

asio::awaitable<result<std::vector<tcp::endpoint>>> resolve(endpoint to, steady_time until) {
  const auto executor = co_await asio::this_coro::executor;
  auto l = std::make_shared<lookup>(tcp::resolver(executor), asio::steady_timer(executor, until), std::nullopt);
  auto on_answer = [l](const error_code& e, tcp::resolver::results_type found) {
    l->outcome.emplace(e, std::move(found));
    l->answered.cancel();
  };
  l->resolver.async_resolve(to.host, std::to_string(to.port), tcp::resolver::numeric_service, std::move(on_answer));
  co_await l->answered.async_wait(as_pair);
  const bool cancelled = is_cancelled(co_await asio::this_coro::cancellation_state);
  if (cancelled) co_return fail(errc::cancelled, "resolve " + to.host);
  if (!l->outcome) co_return fail(errc::timed_out, "resolve " + to.host + ": no answer from the name service");
  if (l->outcome->first) co_return fail(errc::unreachable, "resolve " + to.host + ": " + l->outcome->first.message());

  std::vector<tcp::endpoint> addresses;
  for (const auto& entry : l->outcome->second) addresses.push_back(entry.endpoint());
  if (addresses.empty()) co_return fail(errc::unreachable, "resolve " + to.host + ": the name has no address");
  co_return addresses;
}

}  // namespace

struct stream::impl {
  endpoint peer;
  tcp::socket socket;
  std::optional<asio::ssl::context> context;
  std::optional<asio::ssl::stream<tcp::socket&>> tls;

  asio::awaitable<result<void>> connect(std::vector<tcp::endpoint> addresses, steady_time until);
  asio::awaitable<result<void>> handshake(connection_settings settings, steady_time until);
  [[nodiscard]] error failure(std::string_view doing, const error_code& code) const;
  void close() noexcept;
};

void stream::impl::close() noexcept {
  error_code ignored;
  socket.close(ignored);
}

error stream::impl::failure(std::string_view doing, const error_code& code) const {
  const std::string where = std::string(doing) + " " + peer.text() + ": ";
  if (code == asio::error::operation_aborted || code == asio::error::bad_descriptor) return fail(errc::cancelled, where + "closed here");
  if (code == asio::error::eof || code == asio::ssl::error::stream_truncated) {
    return fail(errc::connection_lost, where + "closed by the broker");
  }
  if (is_refusal(code)) {
    return fail(errc::authentication_failed, where + "the broker refused us (" + tls_reason(code) + "): check ssl.certificate.location");
  }
  return fail(errc::connection_lost, where + tls_reason(code));
}

// Each address gets its share of what is left, so that one that swallows packets cannot use up the time of the others.
asio::awaitable<result<void>> stream::impl::connect(std::vector<tcp::endpoint> addresses, steady_time until) {
  std::string attempts;
  bool timed_out = false;
  for (std::size_t i = 0; i < addresses.size(); ++i) {
    const auto now = std::chrono::steady_clock::now();
    const auto share = (until - now) / static_cast<long>(addresses.size() - i);
    deadline limit(socket.get_executor(), now + share, [this] { close(); });
    const auto [code] = co_await socket.async_connect(addresses[i], as_pair);
    const bool cancelled = is_cancelled(co_await asio::this_coro::cancellation_state);
    if (cancelled) co_return fail(errc::cancelled, "connect to " + peer.text());
    if (!code && socket.is_open()) {
      error_code ignored;
      socket.set_option(tcp::no_delay(true), ignored);
      socket.set_option(asio::socket_base::keep_alive(true), ignored);
      co_return result<void>();
    }
    timed_out = limit.passed();
    attempts += attempts.empty() ? "" : "; ";
    attempts += addresses[i].address().to_string() + ": " + (timed_out ? "no answer in time" : code.message());
    close();
  }
  co_return fail(timed_out ? errc::timed_out : errc::unreachable, "connect to " + peer.text() + ": " + attempts);
}

asio::awaitable<result<void>> stream::impl::handshake(connection_settings settings, steady_time until) {
  auto made = make_tls_context(settings);
  if (!made) co_return std::move(made).error();
  context.emplace(std::move(made).value());
  tls.emplace(socket, *context);
  if (auto expected = expect_broker(tls->native_handle(), peer, settings.ssl_endpoint_identification); !expected) co_return expected;

  deadline limit(socket.get_executor(), until, [this] { close(); });
  const auto [code] = co_await tls->async_handshake(asio::ssl::stream_base::client, as_pair);
  const bool cancelled = is_cancelled(co_await asio::this_coro::cancellation_state);
  if (cancelled) co_return fail(errc::cancelled, "TLS handshake with " + peer.text());
  if (limit.passed()) co_return fail(errc::timed_out, "TLS handshake with " + peer.text() + ": no answer in time");
  if (code) co_return handshake_failure(tls->native_handle(), peer, code);
  co_return result<void>();
}

stream::stream(std::unique_ptr<impl> i) : impl_(std::move(i)) {}

stream::~stream() { impl_->close(); }

asio::awaitable<result<std::unique_ptr<stream>>> stream::connect(endpoint to, connection_settings settings, steady_time until) {
  auto addresses = co_await resolve(to, until);
  if (!addresses) co_return std::move(addresses).error();

  auto made = std::make_unique<impl>(to, tcp::socket(co_await asio::this_coro::executor), std::nullopt, std::nullopt);
  auto connected = co_await made->connect(std::move(addresses).value(), until);
  if (!connected) co_return std::move(connected).error();
  if (uses_tls(settings.security_protocol)) {
    auto shaken = co_await made->handshake(settings, until);
    if (!shaken) co_return std::move(shaken).error();
  }
  co_return std::unique_ptr<stream>(new stream(std::move(made)));
}

asio::awaitable<result<std::size_t>> stream::read_some(std::span<std::byte> into) {
  const auto buffer = asio::buffer(into.data(), into.size());
  const auto [code, n] = impl_->tls ? co_await impl_->tls->async_read_some(buffer, as_pair)
                                    : co_await impl_->socket.async_read_some(buffer, as_pair);
  if (code) co_return impl_->failure("read from", code);
  co_return n;
}

asio::awaitable<result<void>> stream::read(std::span<std::byte> into) {
  const auto buffer = asio::buffer(into.data(), into.size());
  const auto [code, n] = impl_->tls ? co_await asio::async_read(*impl_->tls, buffer, as_pair)
                                    : co_await asio::async_read(impl_->socket, buffer, as_pair);
  if (code) co_return impl_->failure("read from", code);
  co_return result<void>();
}

asio::awaitable<result<void>> stream::write(std::vector<std::span<const std::byte>> parts) {
  std::vector<asio::const_buffer> buffers;
  buffers.reserve(parts.size());
  for (const auto& part : parts) buffers.emplace_back(part.data(), part.size());
  const auto [code, n] = impl_->tls ? co_await asio::async_write(*impl_->tls, buffers, as_pair)
                                    : co_await asio::async_write(impl_->socket, buffers, as_pair);
  if (code) co_return impl_->failure("write to", code);
  co_return result<void>();
}

void stream::close() noexcept { impl_->close(); }

}  // namespace mirrord::client
