#include "mirror/state_store.hpp"

#include "base/check.hpp"
#include "base/log.hpp"
#include "client/rdkafka_handle.hpp"
#include "mirror/state_reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

namespace mirrord::mirror {
namespace {

namespace asio = client::asio;
using std::chrono::steady_clock;

// How long joining librdkafka's threads may keep close() waiting, for each of the two clients.
constexpr std::chrono::seconds close_timeout{3};

// librdkafka's bounds of message.timeout.ms, as far as they matter; 0 would mean for ever.
constexpr std::int64_t message_timeout_ms_min = 1;
constexpr std::int64_t message_timeout_ms_max = 2'147'483'647;

struct topic_deleter {
  void operator()(rd_kafka_topic_t* topic) const noexcept { rd_kafka_topic_destroy(topic); }
};

}  // namespace

class state_store::implementation {
 public:
  implementation(const asio::any_io_executor& executor, const connection_settings& connection, state_store_options options)
      : executor_(executor), connection_(connection), options_(std::move(options)), load_changed_(executor) {}

  result<void> open();
  asio::awaitable<result<void>> load();
  asio::awaitable<result<void>> write(std::string route, std::string key, std::optional<std::string> value);
  asio::awaitable<void> close();
  [[nodiscard]] const std::string& instance() const noexcept { return options_.instance; }

  state_view view;
  std::optional<error> failure;
  change_handler on_change;
  failure_handler on_failure;

 private:
  // A write that somebody awaits.
  struct pending_write {
    explicit pending_write(const asio::any_io_executor& executor) : changed(executor) {}

    void end(error why) {
      if (!outcome) outcome = result<void>(std::move(why));
      changed.notify();
    }

    client::notifier changed;
    std::int32_t partition = 0;
    std::int64_t offset = -1;     // acknowledged there; -1 where the broker did not say (a repetition)
    bool acknowledged = false;
    bool read_back = false;
    std::optional<result<void>> outcome;
  };

  result<void> produce(std::uintptr_t id, std::int32_t partition, const std::string& key, const std::optional<std::string>& value);
  void handle_producer_event(client::rdkafka_event event);
  void handle_delivery(const rd_kafka_message_t& message);
  void handle_record(const state_topic_record& record);
  void handle_advance(std::int32_t partition);
  void settle(pending_write& write);
  void fail_for_good(const error& why);
  // The number of the write that wrote this record, if one of ours did.
  [[nodiscard]] std::optional<std::uintptr_t> own_write(std::string_view written_by) const;

  asio::any_io_executor executor_;
  connection_settings connection_;
  state_store_options options_;
  client::notifier load_changed_;
  std::unordered_map<std::uintptr_t, std::shared_ptr<pending_write>> writes_;
  std::uintptr_t last_write_ = 0;
  bool loaded_ = false;
  bool closed_ = false;
  // The clients come last: their destruction ends the events, which use the rest.
  std::unique_ptr<state_reader> reader_;
  std::unique_ptr<client::rdkafka_handle> producer_;
  std::unique_ptr<rd_kafka_topic_t, topic_deleter> producer_topic_;
};

result<void> state_store::implementation::open() {
  auto conf = client::make_rdkafka_conf(connection_);
  if (!conf) return std::move(conf).error();
  const auto timeout = std::clamp<std::int64_t>(options_.write_timeout.count(), message_timeout_ms_min, message_timeout_ms_max);
  const std::pair<const char*, std::string> settings[] = {
      {"enable.idempotence", "true"},  // and with it acks=all and order
      {"linger.ms", "0"},
      {"message.timeout.ms", std::to_string(timeout)},
  };
  for (const auto& [property, value] : settings) {
    if (auto set = client::set_property(**conf, property, value); !set) return set;
  }
  auto handle = client::rdkafka_handle::open(executor_, RD_KAFKA_PRODUCER, std::move(*conf), connection_, "writer of " + options_.topic,
                                             [this](client::rdkafka_event event) { handle_producer_event(std::move(event)); });
  if (!handle) return std::move(handle).error();
  producer_ = std::move(*handle);
  producer_topic_.reset(rd_kafka_topic_new(producer_->client(), options_.topic.c_str(), nullptr));
  if (!producer_topic_) return client::rdkafka_failure(rd_kafka_last_error(), nullptr, "topic " + options_.topic);
  return {};
}

asio::awaitable<result<void>> state_store::implementation::load() {
  MIRRORD_CHECK(!reader_, "the state is loaded twice");
  const std::string what = "read the topic " + options_.topic;
  state_reader::handlers handlers{
      [this](const state_topic_record& record) { handle_record(record); },
      [this](std::int32_t partition) { handle_advance(partition); },
      [this](const error& why) { fail_for_good(why); },
  };
  auto opened = state_reader::open(executor_, connection_, options_.topic, options_.partitions, std::move(handlers));
  if (!opened) co_return std::move(opened).error();
  reader_ = std::move(*opened);

  const auto began = steady_clock::now();
  while (!failure && !closed_ && reader_->unread() > 0) {
    const std::uint64_t arrivals = reader_->arrivals();
    const client::deadline guard(executor_, steady_clock::now() + options_.load_stall_timeout, [this] { load_changed_.notify(); });
    const bool told = co_await load_changed_.wait();
    if (!told) co_return fail(errc::cancelled, what);
    if (closed_) break;
    if (guard.passed() && reader_->arrivals() == arrivals) {
      co_return reader_->explained(fail(errc::timed_out, fmt::format("{}: nothing arrived for {} ms, {} of {} partitions left", what,
                                                                    options_.load_stall_timeout.count(), reader_->unread(), options_.partitions)));
    }
  }
  if (failure) co_return *failure;
  if (closed_) co_return fail(errc::cancelled, what);
  loaded_ = true;
  log::info("state_loaded", {{"topic", options_.topic}, {"keys", view.size()},
                             {"ms", std::chrono::duration_cast<std::chrono::milliseconds>(steady_clock::now() - began).count()}});
  co_return result<void>();
}

asio::awaitable<result<void>> state_store::implementation::write(std::string route, std::string key, std::optional<std::string> value) {
  const std::string what = "write to " + options_.topic;
  if (failure) co_return *failure;
  if (closed_) co_return fail(errc::cancelled, what);
  MIRRORD_CHECK(loaded_, "a write before the state is loaded");
  if (view.holds_newer_version(key)) co_return fail(errc::unsupported, what + ": a later release of this program wrote the present record");

  const auto waiting = std::make_shared<pending_write>(executor_);
  waiting->partition = state_partition(route, options_.partitions);
  const std::uintptr_t id = ++last_write_;
  if (auto produced = produce(id, waiting->partition, key, value); !produced) co_return std::move(produced).error().within(what);
  writes_.emplace(id, waiting);

  const client::deadline guard(executor_, steady_clock::now() + options_.write_timeout, [this, waiting, what] {
    waiting->end(producer_->explained(fail(errc::timed_out, what + (waiting->acknowledged ? ": acknowledged but not read back" : ""))));
  });
  while (!waiting->outcome) {
    const bool told = co_await waiting->changed.wait();
    if (!told) waiting->end(fail(errc::cancelled, what));
  }
  writes_.erase(id);
  co_return std::move(*waiting->outcome);
}

result<void> state_store::implementation::produce(std::uintptr_t id, std::int32_t partition, const std::string& key,
                                                  const std::optional<std::string>& value) {
  const std::string writer = fmt::format("{}/{}", options_.instance, id);
  void* payload = value ? const_cast<char*>(value->data()) : nullptr;  // copied, not written to: F_COPY
  const std::size_t payload_size = value ? value->size() : 0;
  const rd_kafka_resp_err_t code = rd_kafka_producev(
      producer_->client(), RD_KAFKA_V_RKT(producer_topic_.get()), RD_KAFKA_V_PARTITION(partition), RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY),
      RD_KAFKA_V_KEY(key.data(), key.size()), RD_KAFKA_V_VALUE(payload, payload_size),
      RD_KAFKA_V_HEADER(written_by_header, writer.data(), static_cast<ssize_t>(writer.size())),
      RD_KAFKA_V_OPAQUE(reinterpret_cast<void*>(id)),  // an id, never a pointer: the answer may come after the waiter has left
      RD_KAFKA_V_END);
  if (code == RD_KAFKA_RESP_ERR_NO_ERROR) return {};
  return client::rdkafka_failure(code, nullptr, "queue the record");
}

void state_store::implementation::handle_producer_event(client::rdkafka_event event) {
  switch (rd_kafka_event_type(event.get())) {
    case RD_KAFKA_EVENT_DR:
      while (const rd_kafka_message_t* message = rd_kafka_event_message_next(event.get())) handle_delivery(*message);
      return;
    case RD_KAFKA_EVENT_ERROR:
      if (rd_kafka_event_error_is_fatal(event.get()) != 0 || rd_kafka_event_error(event.get()) == RD_KAFKA_RESP_ERR__FATAL) {
        fail_for_good(client::rdkafka_failure(rd_kafka_event_error(event.get()), rd_kafka_event_error_string(event.get()), "write to " + options_.topic));
      }
      return;
    default:
      return;
  }
}

void state_store::implementation::handle_delivery(const rd_kafka_message_t& message) {
  if (message.err == RD_KAFKA_RESP_ERR_NO_ERROR) producer_->connection_works();
  const auto at = writes_.find(reinterpret_cast<std::uintptr_t>(message._private));
  if (at == writes_.end()) return;
  pending_write& write = *at->second;
  if (message.err != RD_KAFKA_RESP_ERR_NO_ERROR) {
    write.end(producer_->explained(client::rdkafka_failure(message.err, rd_kafka_message_errstr(&message), "write to " + options_.topic)));
    return;
  }
  write.acknowledged = true;
  write.offset = message.offset;
  settle(write);
}

void state_store::implementation::handle_record(const state_topic_record& record) {
  const std::string at = options_.topic + '-' + std::to_string(record.partition) + " offset " + std::to_string(record.offset);
  if (!record.key) {
    log::warn("state_record_without_key", {{"record", at}});
    return;
  }
  const inspection seen = inspect(*record.key, record.value);
  if (!seen.route.empty() && state_partition(seen.route, options_.partitions) != record.partition) {
    // Routed by another number of partitions than the topic has now, or by hand. The right partition decides.
    log::warn("state_record_in_wrong_partition", {{"record", at}, {"route", seen.route}});
    return;
  }
  if (seen.verdict == readability::malformed) log::error("state_record_malformed", {{"record", at}, {"fault", seen.fault}});
  view.apply(*record.key, record.offset, record.value);

  if (const auto own = own_write(record.written_by)) {
    if (const auto write = writes_.find(*own); write != writes_.end()) {
      write->second->read_back = true;
      settle(*write->second);
    }
    return;
  }
  const auto kind = kind_of(*record.key);
  if (loaded_ && on_change && kind) on_change(state_change{*kind, *record.key, record.value});
}

void state_store::implementation::handle_advance(std::int32_t partition) {
  if (reader_ && reader_->unread() == 0) load_changed_.notify();
  for (const auto& [id, write] : writes_) {
    if (write->partition == partition) settle(*write);
  }
}

void state_store::implementation::settle(pending_write& write) {
  if (write.outcome || !write.acknowledged) return;
  // By position too: compaction may have removed our record again before the reader came by.
  const bool passed = write.offset >= 0 && reader_->position(write.partition) > write.offset;
  if (!write.read_back && !passed) return;
  write.outcome = result<void>();
  write.changed.notify();
}

void state_store::implementation::fail_for_good(const error& why) {
  if (failure || closed_) return;
  failure = why;
  log::error("state_store_failed", {{"error", why.message()}});
  for (const auto& [id, write] : writes_) write->end(why);
  load_changed_.notify();
  if (loaded_ && on_failure) on_failure(why);
}

std::optional<std::uintptr_t> state_store::implementation::own_write(std::string_view written_by) const {
  if (!written_by.starts_with(options_.instance) || written_by.size() <= options_.instance.size() + 1) return std::nullopt;
  if (written_by[options_.instance.size()] != '/') return std::nullopt;
  std::uintptr_t id = 0;
  for (const char c : written_by.substr(options_.instance.size() + 1)) {
    if (c < '0' || c > '9') return std::nullopt;
    id = id * 10 + static_cast<std::uintptr_t>(c - '0');
  }
  return id;
}

asio::awaitable<void> state_store::implementation::close() {
  closed_ = true;
  for (const auto& [id, write] : writes_) write->end(fail(errc::cancelled, "write to " + options_.topic));
  load_changed_.notify();
  if (producer_) {
    std::function<void()> destroy_topic = [topic = producer_topic_.release()] { rd_kafka_topic_destroy(topic); };
    co_await producer_->close(std::move(destroy_topic), steady_clock::now() + close_timeout);
  }
  if (reader_) co_await reader_->close(steady_clock::now() + close_timeout);
}

state_store::state_store(std::unique_ptr<implementation> i) : implementation_(std::move(i)) {}
state_store::~state_store() = default;

result<std::unique_ptr<state_store>> state_store::open(const asio::any_io_executor& executor, const connection_settings& connection,
                                                       state_store_options options) {
  MIRRORD_CHECK(options.partitions > 0 && !options.topic.empty() && !options.instance.empty(), "state store of {} partitions of '{}' as '{}'",
                options.partitions, options.topic, options.instance);
  auto i = std::make_unique<implementation>(executor, connection, std::move(options));
  if (auto opened = i->open(); !opened) return std::move(opened).error();
  return std::unique_ptr<state_store>(new state_store(std::move(i)));
}

void state_store::on_change(change_handler handler) { implementation_->on_change = std::move(handler); }
void state_store::on_failure(failure_handler handler) { implementation_->on_failure = std::move(handler); }
const state_view& state_store::view() const noexcept { return implementation_->view; }
const std::optional<error>& state_store::failed() const noexcept { return implementation_->failure; }
asio::awaitable<result<void>> state_store::load() { return implementation_->load(); }
asio::awaitable<void> state_store::close() { return implementation_->close(); }

asio::awaitable<result<void>> state_store::write_bytes(std::string route, std::string key, std::optional<std::string> value) {
  return implementation_->write(std::move(route), std::move(key), std::move(value));
}

asio::awaitable<result<destination_pid>> state_store::claim_producer_id(std::string mirror, core::slot_index index, destination_pid candidate) {
  const auto holder = [&] {
    const auto pool = view().producer_ids(mirror);
    const auto at = pool.find(index);
    return at == pool.end() ? std::nullopt : std::optional(at->second);
  };
  if (const auto held = holder()) co_return *held;
  producer_id_key key{mirror, index, candidate};
  producer_id_value value{implementation_->instance()};
  auto written = co_await write(std::move(key), std::move(value));
  if (!written) co_return std::move(written).error();
  const auto held = holder();
  MIRRORD_CHECK(held.has_value(), "a producer id that was read back is not in the view");
  co_return *held;
}

}  // namespace mirrord::mirror
