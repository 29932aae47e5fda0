// One librdkafka client joined to an io_context: its events arrive as calls on the loop's thread.
//
// All of the client's queues end in one, and librdkafka writes to an eventfd of ours when that queue stops being empty;
// Asio waits for the eventfd. So nothing polls, no callback runs on a thread of librdkafka, and nothing needs a lock.
// Log events are written to our log here and do not reach the owner.
//
// The owner ends it with close(): joining librdkafka's threads can take as long as a host name look-up that one of them
// is in, so a short-lived thread does that while the loop goes on. Destroying the handle without close() joins them on
// the spot; that is for error paths.
#pragma once

#include "base/error.hpp"
#include "client/deadline.hpp"
#include "client/rdkafka_settings.hpp"
#include "client/tasks.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace mirrord::client {

struct rdkafka_event_deleter {
  void operator()(rd_kafka_event_t* event) const noexcept { rd_kafka_event_destroy(event); }
};
using rdkafka_event = std::unique_ptr<rd_kafka_event_t, rdkafka_event_deleter>;

class rdkafka_handle {
 public:
  // Called from the loop, never from inside a call of the owner. It may keep the event and may destroy the handle.
  using event_handler = std::function<void(rdkafka_event)>;

  // `conf` is make_rdkafka_conf(connection) with what the role adds. `name` says in the log whose client it is.
  [[nodiscard]] static result<std::unique_ptr<rdkafka_handle>> open(const asio::any_io_executor& executor, rd_kafka_type_t type,
                                                                    rdkafka_conf conf, const connection_settings& connection,
                                                                    std::string name, event_handler on_event);
  ~rdkafka_handle();
  rdkafka_handle(const rdkafka_handle&) = delete;
  rdkafka_handle& operator=(const rdkafka_handle&) = delete;

  [[nodiscard]] rd_kafka_t* client() const noexcept;
  [[nodiscard]] rd_kafka_queue_t* queue() const noexcept;

  // Why connections fail at present: the newest such event since anything last succeeded. It explains a timeout, which
  // is all that librdkafka reports for a request that it could not send.
  [[nodiscard]] const std::optional<error>& connection_trouble() const noexcept;
  void connection_works() noexcept;

  // `failure`, or, where it is a mere timeout while connections fail, the reason for that.
  [[nodiscard]] error explained(error failure) const;

  // No event arrives from this call on. `before_destroy` runs on the ending thread, for librdkafka calls that block.
  // False when `until` passed first: librdkafka's threads then end by themselves, or with the process.
  [[nodiscard]] asio::awaitable<bool> close(std::function<void()> before_destroy, steady_time until);

 private:
  struct state;
  explicit rdkafka_handle(std::shared_ptr<state> s) : state_(std::move(s)) {}

  std::shared_ptr<state> state_;
};

}  // namespace mirrord::client
