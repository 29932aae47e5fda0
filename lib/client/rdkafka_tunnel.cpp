#include "client/rdkafka_tunnel.hpp"

#include "base/broker_error.hpp"
#include "client/deadline.hpp"
#include "client/endpoint.hpp"
#include "client/sasl.hpp"
#include "client/stream.hpp"
#include "wire/codec.hpp"
#include "wire/sasl.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <optional>
#include <vector>

namespace mirrord::client {
namespace {

using local_socket = asio::local::stream_protocol::socket;

constexpr std::size_t buffer_size = 64 * 1024;

// Answers of a login are a few hundred bytes; nothing longer is believed from a broker that has not proved itself yet.
constexpr std::size_t login_answer_max = 64 * 1024;

constexpr std::size_t node_name_max = 300;  // a DNS name has up to 255 bytes; then ":65535"

// --- on a thread of librdkafka ----------------------------------------------------------------------------------------

// Hands `descriptor` and the broker's "host:port" to the loop.
bool hand_over(int client_end, int descriptor, const char* node_name) {
  iovec text{const_cast<char*>(node_name), std::min(std::strlen(node_name), node_name_max)};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
  msghdr message{};
  message.msg_iov = &text;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  cmsghdr* header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof(int));
  std::memcpy(CMSG_DATA(header), &descriptor, sizeof descriptor);
  return ::sendmsg(client_end, &message, MSG_NOSIGNAL) >= 0;
}

// Instead of connecting librdkafka's socket, puts one end of a pair in its place. Answers an errno, or 0.
int connect_to_loop(int socket, const sockaddr* /*address*/, int /*size*/, const char* node_name, void* opaque) {
  const int client_end = static_cast<int>(reinterpret_cast<std::intptr_t>(opaque));
  std::array<int, 2> pair{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair.data()) != 0) return errno;
  int failed = 0;
  if (::dup3(pair[0], socket, O_CLOEXEC) < 0 || !hand_over(client_end, pair[1], node_name)) failed = errno;
  ::close(pair[0]);
  ::close(pair[1]);
  return failed;
}

// --- on the loop ------------------------------------------------------------------------------------------------------

struct arrival {
  int descriptor;
  std::string node_name;
};

std::optional<arrival> take_arrival(int loop_end) {
  std::array<char, node_name_max> text{};
  iovec part{text.data(), text.size()};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  const ssize_t got = ::recvmsg(loop_end, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
  const cmsghdr* header = got > 0 ? CMSG_FIRSTHDR(&message) : nullptr;
  if (header == nullptr || header->cmsg_type != SCM_RIGHTS) return std::nullopt;
  arrival a{-1, std::string(text.data(), static_cast<std::size_t>(got))};
  std::memcpy(&a.descriptor, CMSG_DATA(header), sizeof a.descriptor);
  return a;
}

// librdkafka writes an IPv6 address with brackets where a person did and without where a broker advertised it.
endpoint endpoint_of(std::string_view node_name) {
  const std::size_t colon = std::min(node_name.rfind(':'), node_name.size());
  std::string_view host = node_name.substr(0, colon);
  if (host.size() > 2 && host.front() == '[' && host.back() == ']') host = host.substr(1, host.size() - 2);
  endpoint to{std::string(host), 0};
  const std::string_view port = node_name.substr(std::min(colon + 1, node_name.size()));
  std::from_chars(port.data(), port.data() + port.size(), to.port);
  return to;
}

asio::awaitable<result<std::vector<std::byte>>> read_frame(stream& s) {
  std::array<std::byte, 4> prefix{};
  auto got = co_await s.read(prefix);
  if (!got) co_return std::move(got).error();
  std::size_t length = 0;
  for (const std::byte b : prefix) length = length << 8 | std::to_integer<std::size_t>(b);
  if (length > login_answer_max) co_return fail(errc::malformed, "an answer of " + std::to_string(length) + " bytes to a login");
  std::vector<std::byte> frame(length);
  got = co_await s.read(frame);
  if (!got) co_return std::move(got).error();
  co_return std::move(frame);
}

template <class Request>
asio::awaitable<result<typename Request::response>> ask(stream& s, Request request, std::int16_t version, std::int32_t id, const std::string& client_id) {
  const std::vector<std::byte> bytes = wire::encode_request(request, version, id, client_id).flatten();
  std::vector<std::span<const std::byte>> parts{bytes};
  auto sent = co_await s.write(std::move(parts));
  if (!sent) co_return std::move(sent).error();
  const auto frame = co_await read_frame(s);
  if (!frame) co_return frame.error();
  co_return wire::decode_response<typename Request::response>(*frame, version, id);
}

error refused(std::int16_t code, std::string context, std::string broker_text) {
  error e = broker_failure(code, std::move(context), std::move(broker_text));
  e.code = errc::authentication_failed;
  return e;
}

// SaslHandshake 1 and SaslAuthenticate 0 are spoken by every broker from 1.0 to 4.x, so nobody asks for versions first;
// the ApiVersions request is left to librdkafka.
asio::awaitable<result<void>> log_in(stream& s, const connection_settings& settings) {
  std::int32_t id = 0;
  const std::string mechanism(name(settings.sasl_mechanism));
  wire::sasl_handshake_request handshake;
  handshake.mechanism = mechanism;
  const auto shaken = co_await ask(s, std::move(handshake), 1, id++, settings.client_id);
  if (!shaken) co_return shaken.error();
  if (shaken->error_code != 0) co_return refused(shaken->error_code, "SASL mechanism " + mechanism, "");

  auto conversation = make_sasl(settings);
  if (!conversation) co_return std::move(conversation).error();
  std::string token = (*conversation)->first();
  while (true) {
    wire::sasl_authenticate_request request;
    const auto token_bytes = std::as_bytes(std::span(token));
    request.auth_bytes.assign(token_bytes.begin(), token_bytes.end());
    const auto answer = co_await ask(s, std::move(request), 0, id++, settings.client_id);
    if (!answer) co_return answer.error();
    if (answer->error_code != 0) {
      co_return refused(answer->error_code, "SASL " + mechanism + " for user '" + settings.sasl_username + "'", answer->error_message.value_or(""));
    }
    auto next = (*conversation)->next({reinterpret_cast<const char*>(answer->auth_bytes.data()), answer->auth_bytes.size()});
    if (!next) co_return std::move(next).error();
    if ((*conversation)->finished()) co_return result<void>();
    token = std::move(*next);
  }
}

// One connection of librdkafka's. Its coroutines share it; whichever finds one side closed closes the other.
struct link {
  link(const asio::any_io_executor& executor, std::string node_name) : node(std::move(node_name)), local(executor) {}

  void close() {
    boost::system::error_code ignored;
    local.close(ignored);
    if (remote) remote->close();
  }

  std::string node;
  local_socket local;
  std::unique_ptr<stream> remote;
};

asio::awaitable<void> pass_to_broker(std::shared_ptr<link> l) {
  std::vector<std::byte> buffer(buffer_size);
  while (true) {
    const auto [failed, size] = co_await l->local.async_read_some(asio::buffer(buffer), asio::as_tuple(asio::use_awaitable));
    if (failed) break;
    std::vector<std::span<const std::byte>> parts{std::span<const std::byte>(buffer).first(size)};
    const auto written = co_await l->remote->write(std::move(parts));
    if (!written) break;
  }
  l->close();
}

asio::awaitable<void> pass_to_librdkafka(std::shared_ptr<link> l) {
  std::vector<std::byte> buffer(buffer_size);
  while (true) {
    const auto size = co_await l->remote->read_some(buffer);
    if (!size) break;
    const auto [failed, written] = co_await asio::async_write(l->local, asio::buffer(buffer.data(), *size), asio::as_tuple(asio::use_awaitable));
    if (failed || written != *size) break;
  }
  l->close();
}

}  // namespace

bool needs_tunnel(const connection_settings& connection) noexcept {
  return uses_sasl(connection.security_protocol) && connection.sasl_mechanism != sasl_mechanism::plain;
}

struct rdkafka_tunnel::state : std::enable_shared_from_this<state> {
  state(const asio::any_io_executor& e, connection_settings c, failure_handler handler)
      : executor(e), connection(std::move(c)), on_failure(std::move(handler)), loop_end(e), tasks(e) {}

  ~state() {
    if (client_end >= 0) ::close(client_end);
  }

  void wait_for_arrivals() {
    loop_end.async_wait(asio::posix::stream_descriptor::wait_read, [weak = weak_from_this()](const boost::system::error_code& e) {
      const auto self = weak.lock();
      if (!self || self->closed || e) return;
      while (auto a = take_arrival(self->loop_end.native_handle())) self->begin(std::move(*a));
      self->wait_for_arrivals();
    });
  }

  void begin(arrival a) {
    const auto l = std::make_shared<link>(executor, std::move(a.node_name));
    boost::system::error_code assigned;
    l->local.assign(asio::local::stream_protocol(), a.descriptor, assigned);
    if (assigned) {
      ::close(a.descriptor);
      return;
    }
    std::erase_if(links, [](const std::weak_ptr<link>& old) { return old.expired(); });
    links.push_back(l);
    tasks.spawn(serve(shared_from_this(), l));
  }

  static asio::awaitable<void> serve(std::shared_ptr<state> self, std::shared_ptr<link> l) {
    auto ready = co_await connect(self, l);
    if (self->closed) {
      l->close();
      co_return;
    }
    if (!ready) {
      l->close();
      self->on_failure(std::move(ready).error());
      co_return;
    }
    self->tasks.spawn(pass_to_broker(l));
    co_await pass_to_librdkafka(l);
  }

  static asio::awaitable<result<void>> connect(std::shared_ptr<state> self, std::shared_ptr<link> l) {
    const steady_time until = std::chrono::steady_clock::now() + self->connection.socket_connection_setup_timeout;
    auto connected = co_await stream::connect(endpoint_of(l->node), self->connection, until);
    if (!connected) co_return std::move(connected).error();
    l->remote = std::move(*connected);
    const deadline guard(self->executor, until, [l] { l->remote->close(); });
    auto logged_in = co_await log_in(*l->remote, self->connection);
    if (!logged_in && guard.passed()) co_return fail(errc::timed_out, l->node + ": no answer to a login");
    if (!logged_in) co_return std::move(logged_in).error().within(l->node);
    co_return result<void>();
  }

  void close() {
    closed = true;
    boost::system::error_code ignored;
    loop_end.close(ignored);
    for (const auto& weak : links) {
      if (const auto l = weak.lock()) l->close();
    }
    links.clear();
  }

  asio::any_io_executor executor;
  connection_settings connection;
  failure_handler on_failure;
  asio::posix::stream_descriptor loop_end;
  int client_end = -1;
  bool closed = false;
  std::vector<std::weak_ptr<link>> links;
  task_group tasks;
};

result<std::unique_ptr<rdkafka_tunnel>> rdkafka_tunnel::open(const asio::any_io_executor& executor, connection_settings connection,
                                                             failure_handler on_failure) {
  std::array<int, 2> pair{};
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair.data()) != 0) return fail(errc::io, "socketpair: " + std::string(std::strerror(errno)));
  auto s = std::make_shared<state>(executor, std::move(connection), std::move(on_failure));
  s->client_end = pair[1];
  boost::system::error_code assigned;
  s->loop_end.assign(pair[0], assigned);
  if (assigned) {
    ::close(pair[0]);
    return fail(errc::io, "socketpair: " + assigned.message());
  }
  s->wait_for_arrivals();
  return std::unique_ptr<rdkafka_tunnel>(new rdkafka_tunnel(std::move(s)));
}

rdkafka_tunnel::~rdkafka_tunnel() { close(); }

void rdkafka_tunnel::install(rd_kafka_conf_t& conf) const {
  rd_kafka_conf_set_connect_cb(&conf, connect_to_loop);
  rd_kafka_conf_set_opaque(&conf, reinterpret_cast<void*>(static_cast<std::intptr_t>(state_->client_end)));  // a descriptor, not a pointer
}

int rdkafka_tunnel::release_client_end() noexcept { return std::exchange(state_->client_end, -1); }

void rdkafka_tunnel::close() { state_->close(); }

}  // namespace mirrord::client
