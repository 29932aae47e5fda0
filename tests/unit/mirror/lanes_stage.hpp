// The stage for stories of request lanes: a broker that answers ApiVersions and Metadata by itself and hands every other
// request to the story, which answers when and how it likes; and the batches that go back and forth.
#pragma once

#include "client/cluster.hpp"
#include "mirror/async.hpp"
#include "mirror/ports.hpp"
#include "mirror/write_lease.hpp"
#include "tests/support/fake_broker.hpp"
#include "wire/fetch.hpp"
#include "wire/metadata.hpp"
#include "wire/produce.hpp"

#include <boost/asio/awaitable.hpp>

#include <catch2/catch.hpp>

#include <chrono>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace mirrord::mirror::lanes {

using asio::awaitable;
using namespace std::chrono_literals;
namespace fake = client::fake;

// --- the broker -----------------------------------------------------------------------------------------------------

struct incoming {
  std::shared_ptr<fake::peer> from;
  int connection = 0;  // counted from 1
  wire::request_header header;
  std::shared_ptr<const std::vector<std::byte>> frame;  // what the views in a request point into
};

template <class Request>
struct received : incoming {
  Request body;

  awaitable<void> answer(typename Request::response response) { return from->answer(header, std::move(response)); }
};

// Plays all brokers of its cluster, each id at the same address, with connections of its own.
class lane_broker {
 public:
  explicit lane_broker(asio::io_context& io);

  awaitable<void> run();  // until stop()
  void stop();
  void drop();    // ends every connection
  void refuse();  // drops, and takes no connection until accept_again()
  void accept_again();

  [[nodiscard]] connection_settings settings() const { return listener_.settings(); }
  void lead(const topic_partition& tp, std::int32_t broker, std::int32_t epoch, topic_id id = {{7}});

  // The next request for the story; it must be of this kind.
  template <class Request>
  awaitable<received<Request>> next() {
    incoming one = co_await next_of_any_kind();
    auto body = wire::decode_request<Request>(*one.frame);
    if (one.header.key != Request::api.key || !body) throw std::runtime_error("a request of another kind: " + std::string(wire::name(one.header.key)));
    received<Request> request{std::move(one), std::move(*body)};
    co_return request;
  }

  [[nodiscard]] bool nothing_came() const noexcept { return inbox_.empty(); }

  std::vector<wire::api_version> offered;
  int metadata_requests = 0;
  bool hold_set_up = false;  // new connections get no answer before release_set_up()
  void release_set_up();

 private:
  awaitable<void> serve(std::shared_ptr<fake::peer> p, int number);
  awaitable<incoming> next_of_any_kind();
  [[nodiscard]] wire::metadata_response metadata(const wire::metadata_request& asked) const;

  fake::broker listener_;
  std::map<std::string, wire::metadata_response_topic> topics_;
  std::list<std::shared_ptr<fake::peer>> peers_;
  std::deque<incoming> inbox_;
  notifier changed_;
  int connections_ = 0;
  bool stopped_ = false;
  bool refusing_ = false;
};

// A broker, a client of its cluster, and the story. At the end of the story the broker stops first, so that whatever is
// still under way after a failed check ends; then what `at_end` holds runs, and the client closes.
struct lane_scene {
  fake::stage stage;
  lane_broker broker{stage.io};
  connection_settings settings = broker.settings();
  std::chrono::nanoseconds now{0};  // of the lease
  write_lease lease{std::chrono::seconds(7), [this] { return now; }};
  std::vector<std::function<awaitable<void>()>> at_end;

  void play(std::function<awaitable<void>(client::cluster&)> story);

  [[nodiscard]] asio::any_io_executor executor() { return stage.io.get_executor(); }

  // Closes the lane (or the table of lanes) at the end.
  template <class Lane>
  void closes(std::shared_ptr<Lane> lane) {
    at_end.push_back([lane] { return lane->close(); });
  }
};

// Waits until a request of this moment would have come: the client asks the broker some things over another connection.
awaitable<void> settle(client::cluster& c);

template <class T>
awaitable<T> arrived(std::shared_ptr<one_shot<T>> answer) {
  co_await answer->wait();
  T copy = answer->value();
  co_return copy;
}

// A call whose answer the story gives while it is under way.
template <class T>
std::shared_ptr<one_shot<result<T>>> begin(client::task_group& tasks, const asio::any_io_executor& executor, awaitable<result<T>> call) {
  auto outcome = std::make_shared<one_shot<result<T>>>(executor);
  auto run = [](std::shared_ptr<one_shot<result<T>>> into, awaitable<result<T>> from) -> awaitable<void> {
    auto value = co_await std::move(from);
    into->fulfil(std::move(value));
  };
  tasks.spawn(run(outcome, std::move(call)));
  return outcome;
}

template <class T>
errc code_of_failure(const result<T>& r) {
  REQUIRE(r.has_error());
  return r.error().code;
}

// Time that passes only while somebody sleeps.
class patient_clock final : public clock_port {
 public:
  [[nodiscard]] duration now() const override { return now_; }
  [[nodiscard]] std::int64_t wall_ms() const override { return 0; }
  awaitable<void> sleep(duration length) override {
    now_ += length;
    ++sleeps;
    if (on_sleep) on_sleep();
    co_return;
  }

  int sleeps = 0;
  std::function<void()> on_sleep;

 private:
  duration now_ = 1h;
};

// --- batches --------------------------------------------------------------------------------------------------------

struct batch_kind {
  std::int64_t pid = 1;
  std::int16_t epoch = 0;
  std::int32_t sequence = 0;
  bool transactional = false;
  acks confirmation = acks::all;
  std::size_t padding = 0;  // bytes that make it long
};

// A batch of one record whose value is `value`, as a source with other ids and offsets would store it.
[[nodiscard]] std::vector<std::byte> source_bytes(const std::string& value, bool transactional, std::size_t padding = 0);
[[nodiscard]] batch_append batch(const std::string& value, batch_kind kind = {});

// What a Produce request holds, in its order. Fails the test where a batch does not parse or its checksum is wrong.
struct produced {
  topic_partition to;
  wire::batch_header header;
  std::string value;
};
[[nodiscard]] std::vector<produced> batches_of(const wire::produce_request& request);
[[nodiscard]] std::vector<std::string> contents(const wire::produce_request& request);  // "orders-0 a"

// The answer that every batch of the request gets, in the request's order; `error_of` says otherwise per partition.
[[nodiscard]] wire::produce_response appended(const wire::produce_request& request, std::int64_t base_offset,
                                              const std::map<topic_partition, std::int16_t>& error_of = {});

inline const topic_partition orders_0{"orders", 0};
inline const topic_partition orders_1{"orders", 1};
inline const topic_partition orders_2{"orders", 2};
inline const topic_partition orders_3{"orders", 3};
inline const topic_partition audit_0{"audit", 0};

}  // namespace mirrord::mirror::lanes
