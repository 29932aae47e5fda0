#include "observe/http_server.hpp"

#include "base/check.hpp"
#include "base/log.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/parser.hpp>
#include <fmt/format.h>

#include <array>
#include <exception>
#include <list>
#include <optional>
#include <string_view>
#include <utility>

namespace mirrord::observe {
namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using asio::ip::tcp;
using boost::system::error_code;
using clock = std::chrono::steady_clock;

constexpr auto no_throw = asio::as_tuple(asio::use_awaitable);

// Answers that are being sent share one rendering of this age, so that 64 slow readers do not hold 64 copies.
constexpr std::chrono::seconds shared_status_age{1};

// After a refusal the client may still be sending; closing at once would reset the connection and lose the answer.
constexpr std::size_t drain_bytes_max = 64 * 1024;
constexpr std::chrono::milliseconds drain_time{500};

constexpr std::chrono::milliseconds accept_pause{100};  // after EMFILE and its like

struct request {
  bool head = false;  // answer without body
  bool keep_alive = false;
  bool refused = false;  // `refusal` is the answer
  std::string_view refusal;
  std::string path;
};

struct answer {
  std::string_view status;
  std::string_view type = "text/plain; charset=utf-8";
  std::shared_ptr<const std::string> body;
  std::string_view extra_header = {};
};

answer text_answer(std::string_view status, std::string text, std::string_view extra_header = {}) {
  return {status, "text/plain; charset=utf-8", std::make_shared<const std::string>(std::move(text)), extra_header};
}

answer refusal(std::string_view status) {
  return text_answer(status, fmt::format("{}\n", status), status.starts_with("405") ? "Allow: GET, HEAD\r\n" : "");
}

std::string header_of(const answer& a, bool keep_alive) {
  return fmt::format("HTTP/1.1 {}\r\nContent-Type: {}\r\nContent-Length: {}\r\nConnection: {}\r\n"
                     "Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n{}\r\n",
                     a.status, a.type, a.body->size(), keep_alive ? "keep-alive" : "close", a.extra_header);
}

struct session {
  explicit session(tcp::socket s) : socket(std::move(s)), timer(socket.get_executor()) {}

  // From now on the connection has this long; then it is closed, which ends whatever it waits for.
  static void allow(const std::shared_ptr<session>& self, std::chrono::milliseconds time) {
    self->timer.expires_after(time);
    self->timer.async_wait([weak = std::weak_ptr(self)](error_code ec) {
      const auto s = weak.lock();
      // A wait that had ended before allow() was called again still arrives here: only the present expiry counts.
      if (!ec && s && s->timer.expiry() <= clock::now()) s->close();
    });
  }

  void close() {
    error_code ignored;
    socket.close(ignored);
  }

  tcp::socket socket;
  asio::steady_timer timer;
  std::string received;  // not yet parsed: the rest of a header, or the next requests of a client that pipelines
};

using request_parser = http::request_parser<http::empty_body>;

request describe(const request_parser& parser) {
  const auto& message = parser.get();
  request r;
  r.head = message.method() == http::verb::head;
  r.keep_alive = parser.keep_alive();
  const auto target = message.target();
  r.path = std::string(target.substr(0, target.find('?')));
  const bool has_body = parser.chunked() || parser.content_length().value_or(0) != 0;
  if (!r.head && message.method() != http::verb::get) r.refusal = "405 Method Not Allowed";
  else if (has_body) r.refusal = "413 Content Too Large";
  r.refused = !r.refusal.empty();
  return r;
}

request refused(std::string_view status) {
  request r;
  r.refused = true;
  r.refusal = status;
  return r;
}

// Nothing when the client went away or was too slow.
asio::awaitable<std::optional<request>> read_request(session& s, std::size_t header_bytes_max) {
  request_parser parser;
  parser.header_limit(static_cast<std::uint32_t>(header_bytes_max));
  std::array<char, 2048> chunk;
  while (true) {
    if (!s.received.empty()) {
      error_code ec;
      const auto used = parser.put(asio::buffer(s.received), ec);
      s.received.erase(0, used);
      if (ec == http::error::header_limit) co_return refused("431 Request Header Fields Too Large");
      if (ec && ec != http::error::need_more) co_return refused("400 Bad Request");
      if (parser.is_header_done()) co_return describe(parser);
    }
    if (s.received.size() > header_bytes_max) co_return refused("431 Request Header Fields Too Large");
    const auto [ec, size] = co_await s.socket.async_read_some(asio::buffer(chunk), no_throw);
    if (ec) co_return std::nullopt;
    s.received.append(chunk.data(), size);
  }
}

asio::awaitable<void> drain(session& s) {
  error_code ignored;
  s.socket.shutdown(tcp::socket::shutdown_send, ignored);
  std::array<char, 2048> chunk;
  for (std::size_t total = 0; total < drain_bytes_max;) {
    const auto [ec, size] = co_await s.socket.async_read_some(asio::buffer(chunk), no_throw);
    if (ec) co_return;
    total += size;
  }
}

}  // namespace

struct http_server::state : std::enable_shared_from_this<http_server::state> {
  state(const asio::any_io_executor& executor, http_options o, std::function<status_snapshot()> s)
      : options(std::move(o)), snapshot(std::move(s)), acceptor(executor), pause(executor), ended(executor, clock::time_point::max()) {}

  // Every coroutine is counted, so that stop() can await the last one.
  void spawn(asio::awaitable<void> task) {
    ++tasks;
    asio::co_spawn(acceptor.get_executor(), std::move(task), [self = shared_from_this()](std::exception_ptr e) {
      --self->tasks;
      self->ended.cancel();
      if (e) std::rethrow_exception(e);
    });
  }

  asio::awaitable<void> accept_connections() {
    while (!stopping) {
      auto [ec, socket] = co_await acceptor.async_accept(no_throw);
      if (stopping) break;
      if (ec) {
        log::warn("http.accept_failed", {{"error", ec.message()}});
        pause.expires_after(accept_pause);
        co_await pause.async_wait(no_throw);
        continue;
      }
      if (sessions.size() >= options.connections_max) {
        turn_away(socket);
        continue;
      }
      auto s = std::make_shared<session>(std::move(socket));
      sessions.push_back(s);
      spawn(serve(std::move(s)));
    }
  }

  // Without waiting: a new connection's send buffer has room for this, and if not, the client sees a plain close.
  static void turn_away(tcp::socket& socket) {
    const auto a = refusal("503 Service Unavailable");
    error_code ec;
    socket.non_blocking(true, ec);
    if (!ec) socket.write_some(asio::buffer(header_of(a, false) + *a.body), ec);
  }

  asio::awaitable<void> serve(std::shared_ptr<session> s) {
    bool keep_alive = true;
    while (keep_alive && !stopping) {
      session::allow(s, options.timeout);
      const auto asked = co_await read_request(*s, options.header_bytes_max);
      if (!asked || stopping) break;
      const auto reply = asked->refused ? refusal(asked->refusal) : answer_to(asked->path);
      keep_alive = asked->keep_alive && !asked->refused;
      const std::string header = header_of(reply, keep_alive);
      const std::string_view body = asked->head ? std::string_view{} : std::string_view(*reply.body);
      const std::array<asio::const_buffer, 2> parts = {asio::buffer(header), asio::buffer(body)};
      session::allow(s, options.timeout);
      const auto [ec, size] = co_await asio::async_write(s->socket, parts, no_throw);
      if (ec) break;
      if (asked->refused) {
        session::allow(s, drain_time);
        co_await drain(*s);
      }
    }
    s->timer.cancel();
    s->close();
    sessions.remove(s);
  }

  answer answer_to(std::string_view path) {
    if (path == "/healthz") return text_answer("200 OK", "ok\n");
    if (path == "/status") return {"200 OK", "application/json", rendered_status()};
    return text_answer("404 Not Found", "not found; there are /healthz and /status\n");
  }

  std::shared_ptr<const std::string> rendered_status() {
    const auto now = clock::now();
    if (auto last = last_status.lock(); last && now - last_status_at < shared_status_age) return last;
    auto fresh = std::make_shared<const std::string>(to_json(snapshot()));
    last_status = fresh;
    last_status_at = now;
    return fresh;
  }

  void close_all() {
    stopping = true;
    error_code ignored;
    acceptor.close(ignored);
    pause.cancel();
    for (const auto& s : sessions) s->close();
  }

  http_options options;
  std::function<status_snapshot()> snapshot;
  tcp::acceptor acceptor;
  asio::steady_timer pause;
  asio::steady_timer ended;  // never expires; cancelled whenever a coroutine ends
  std::list<std::shared_ptr<session>> sessions;
  std::weak_ptr<const std::string> last_status;
  clock::time_point last_status_at;
  std::size_t tasks = 0;
  bool stopping = false;
};

http_server::http_server(const asio::any_io_executor& executor, http_options options, std::function<status_snapshot()> snapshot)
    : state_(std::make_shared<state>(executor, std::move(options), std::move(snapshot))) {}

http_server::~http_server() { state_->close_all(); }

result<std::uint16_t> http_server::start() {
  auto& acceptor = state_->acceptor;
  const auto& options = state_->options;
  MIRRORD_CHECK(!acceptor.is_open() && !state_->stopping, "the HTTP server was started before");
  const std::string context = fmt::format("listen for HTTP on {}:{}", options.address, options.port);
  error_code ec;
  const auto address = asio::ip::make_address(options.address, ec);
  if (ec) return fail(errc::invalid, fmt::format("{}: not a numeric address", context));
  const tcp::endpoint endpoint(address, options.port);
  acceptor.open(endpoint.protocol(), ec);
  if (!ec) acceptor.set_option(tcp::acceptor::reuse_address(true), ec);
  if (!ec) acceptor.bind(endpoint, ec);
  if (!ec) acceptor.listen(asio::socket_base::max_listen_connections, ec);
  const auto bound = ec ? tcp::endpoint{} : acceptor.local_endpoint(ec);
  if (ec) {
    error_code ignored;
    acceptor.close(ignored);
    return fail(errc::io, fmt::format("{}: {}", context, ec.message()));
  }
  state_->spawn(state_->accept_connections());
  return bound.port();
}

asio::awaitable<void> http_server::stop() {
  const auto kept = state_;
  kept->close_all();
  while (kept->tasks > 0) co_await kept->ended.async_wait(no_throw);
}

std::size_t http_server::connections() const noexcept { return state_->sessions.size(); }

}  // namespace mirrord::observe
