#include "client/rdkafka_handle.hpp"

#include "base/log.hpp"
#include "client/rdkafka_tunnel.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <sys/eventfd.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <thread>

namespace mirrord::client {
namespace {

// Events handled before other work of the loop gets its turn.
constexpr int events_per_turn = 256;

constexpr std::uint64_t one = 1;  // what a write to an eventfd adds

struct queue_deleter {
  void operator()(rd_kafka_queue_t* queue) const noexcept { rd_kafka_queue_destroy(queue); }
};
using queue_pointer = std::unique_ptr<rd_kafka_queue_t, queue_deleter>;

int make_eventfd() { return ::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC); }

bool is_connection_trouble(rd_kafka_resp_err_t code) {
  switch (code) {
    case RD_KAFKA_RESP_ERR__TRANSPORT:
    case RD_KAFKA_RESP_ERR__RESOLVE:
    case RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN:
    case RD_KAFKA_RESP_ERR__SSL:
    case RD_KAFKA_RESP_ERR__AUTHENTICATION:
      return true;
    default:
      return false;
  }
}

// "All brokers down" follows each single failure and says less than that did.
bool replaces(rd_kafka_resp_err_t code, const std::optional<error>& known) { return !known || code != RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN; }

}  // namespace

struct rdkafka_handle::state : std::enable_shared_from_this<state> {
  state(const asio::any_io_executor& executor, std::string client_name, event_handler handler)
      : wake_up(executor), name(std::move(client_name)), on_event(std::move(handler)) {}

  ~state() {
    if (client == nullptr) return;
    detach();
    rd_kafka_destroy_flags(client, RD_KAFKA_DESTROY_F_NO_CONSUMER_CLOSE);
  }

  // After this librdkafka neither writes to the eventfd nor has a queue of ours.
  void detach() {
    closed = true;
    if (queue) rd_kafka_queue_io_event_enable(queue.get(), -1, nullptr, 0);
    queue.reset();
    wake_up.close();
    if (tunnel) tunnel->close();
  }

  void note_tunnel_trouble(error why) {
    const std::string before = trouble ? trouble->context : "";
    trouble = std::move(why).within(name);
    if (trouble->context != before) log::warn("broker_connection_failed", {{"client", name}, {"error", trouble->message()}});
  }

  void wait_for_events() {
    wake_up.async_wait(asio::posix::stream_descriptor::wait_read, [weak = weak_from_this()](const boost::system::error_code& e) {
      if (const auto self = weak.lock(); self && !self->closed && !e) self->handle_events();
    });
  }

  void handle_events() {
    const std::shared_ptr<state> keep = shared_from_this();  // a handler may drop the last reference
    // Emptied before the queue is read: what arrives meanwhile wakes us once more, which is harmless.
    std::uint64_t count = 0;
    [[maybe_unused]] const ssize_t got = ::read(wake_up.native_handle(), &count, sizeof count);
    for (int handled = 0; handled < events_per_turn; ++handled) {
      rdkafka_event event(rd_kafka_queue_poll(queue.get(), 0));
      // librdkafka writes again only after a read that found the queue empty, so reading must go on to here.
      if (!event) return wait_for_events();
      handle(std::move(event));
      if (closed) return;
    }
    asio::post(wake_up.get_executor(), [weak = weak_from_this()] {
      if (const auto self = weak.lock(); self && !self->closed) self->handle_events();
    });
  }

  void handle(rdkafka_event event) {
    switch (rd_kafka_event_type(event.get())) {
      case RD_KAFKA_EVENT_LOG:
        write_log(*event);
        return;
      case RD_KAFKA_EVENT_ERROR: {
        const rd_kafka_resp_err_t code = rd_kafka_event_error(event.get());
        // Behind a tunnel librdkafka sees closed connections only; what the tunnel knows says more.
        if (is_connection_trouble(code) && (tunnel ? !trouble : replaces(code, trouble))) {
          trouble = rdkafka_failure(code, rd_kafka_event_error_string(event.get()), name);
        }
        break;
      }
      default:
        break;
    }
    on_event(std::move(event));
  }

  void write_log(rd_kafka_event_t& event) const {
    const char* facility = "";
    const char* text = "";
    int severity = 7;
    if (rd_kafka_event_log(&event, &facility, &text, &severity) != 0) return;
    // syslog's levels. Its errors are for us to judge, so they are warnings at most.
    const log::level level = severity <= 4 ? log::level::warn : severity <= 6 ? log::level::info : log::level::debug;
    log::write(level, "librdkafka", {{"client", name}, {"facility", facility}, {"text", text}});
  }

  asio::posix::stream_descriptor wake_up;
  std::string name;
  event_handler on_event;
  rd_kafka_t* client = nullptr;
  queue_pointer queue;
  std::unique_ptr<rdkafka_tunnel> tunnel;  // destroyed after librdkafka's threads have ended, who use its socket
  std::optional<error> trouble;
  bool closed = false;
};

result<std::unique_ptr<rdkafka_handle>> rdkafka_handle::open(const asio::any_io_executor& executor, rd_kafka_type_t type, rdkafka_conf conf,
                                                             const connection_settings& connection, std::string name, event_handler on_event) {
  auto s = std::make_shared<state>(executor, std::move(name), std::move(on_event));
  const int descriptor = make_eventfd();
  if (descriptor < 0) return fail(errc::io, "eventfd: " + std::string(std::strerror(errno)));
  boost::system::error_code assigned;
  s->wake_up.assign(descriptor, assigned);
  if (assigned) {
    ::close(descriptor);
    return fail(errc::io, "eventfd: " + assigned.message());
  }

  rd_kafka_conf_set_events(conf.get(), RD_KAFKA_EVENT_DR | RD_KAFKA_EVENT_FETCH | RD_KAFKA_EVENT_ERROR | RD_KAFKA_EVENT_LOG);
  if (needs_tunnel(connection)) {
    auto tunnel = rdkafka_tunnel::open(executor, connection, [weak = std::weak_ptr<state>(s)](error why) {
      if (const auto self = weak.lock(); self && !self->closed) self->note_tunnel_trouble(std::move(why));
    });
    if (!tunnel) return std::move(tunnel).error();
    s->tunnel = std::move(*tunnel);
    s->tunnel->install(*conf);
  }
  std::array<char, 512> reason{};
  s->client = rd_kafka_new(type, conf.get(), reason.data(), reason.size());
  if (s->client == nullptr) return fail(errc::invalid, s->name + ": librdkafka: " + reason.data());
  static_cast<void>(conf.release());  // the client owns it now

  s->queue.reset(rd_kafka_queue_new(s->client));
  const queue_pointer main_queue(rd_kafka_queue_get_main(s->client));
  rd_kafka_queue_forward(main_queue.get(), s->queue.get());
  rd_kafka_set_log_queue(s->client, s->queue.get());
  rd_kafka_queue_io_event_enable(s->queue.get(), descriptor, &one, sizeof one);
  // What was queued before the eventfd was known wrote nothing to it.
  asio::post(executor, [weak = std::weak_ptr<state>(s)] {
    if (const auto self = weak.lock(); self && !self->closed) self->handle_events();
  });
  return std::unique_ptr<rdkafka_handle>(new rdkafka_handle(std::move(s)));
}

rdkafka_handle::~rdkafka_handle() { state_->closed = true; }

rd_kafka_t* rdkafka_handle::client() const noexcept { return state_->client; }

rd_kafka_queue_t* rdkafka_handle::queue() const noexcept { return state_->queue.get(); }

const std::optional<error>& rdkafka_handle::connection_trouble() const noexcept { return state_->trouble; }

void rdkafka_handle::connection_works() noexcept { state_->trouble.reset(); }

error rdkafka_handle::explained(error failure) const {
  if (failure.code != errc::timed_out || !state_->trouble) return failure;
  failure.context += " (" + state_->trouble->message() + ")";
  if (state_->trouble->code != errc::connection_lost) failure.code = state_->trouble->code;
  return failure;
}

asio::awaitable<bool> rdkafka_handle::close(std::function<void()> before_destroy, steady_time until) {
  const std::shared_ptr<state> s = state_;
  s->detach();
  rd_kafka_t* const client = std::exchange(s->client, nullptr);
  if (client == nullptr) co_return true;

  // The thread has its own copy of the descriptor: it may outlive this coroutine and the loop.
  asio::posix::stream_descriptor ended(co_await asio::this_coro::executor);
  const int descriptor = make_eventfd();
  const int threads_copy = descriptor < 0 ? -1 : ::dup(descriptor);
  boost::system::error_code assigned;
  if (descriptor >= 0) ended.assign(descriptor, assigned);
  const int tunnel_socket = s->tunnel ? s->tunnel->release_client_end() : -1;
  std::jthread ending([client, threads_copy, tunnel_socket, before = std::move(before_destroy)] {
    if (before) before();
    rd_kafka_destroy_flags(client, RD_KAFKA_DESTROY_F_NO_CONSUMER_CLOSE);
    if (tunnel_socket >= 0) ::close(tunnel_socket);
    [[maybe_unused]] const ssize_t written = ::write(threads_copy, &one, sizeof one);
    ::close(threads_copy);
  });
  if (threads_copy < 0 || assigned) {
    if (descriptor >= 0 && assigned) ::close(descriptor);
    ending.join();
    co_return true;
  }

  bool in_time = false;
  {
    deadline guard(s->wake_up.get_executor(), until, [&ended] { ended.cancel(); });
    const auto [failed] = co_await ended.async_wait(asio::posix::stream_descriptor::wait_read, asio::as_tuple(asio::use_awaitable));
    in_time = !failed;
  }
  if (in_time) {
    ending.join();
  } else {
    ending.detach();
    log::warn("librdkafka_client_ends_late", {{"client", s->name}});
  }
  co_return in_time;
}

}  // namespace mirrord::client
