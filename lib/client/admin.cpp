#include "client/admin.hpp"

#include "client/rdkafka_handle.hpp"

#include <algorithm>
#include <array>
#include <unordered_map>

namespace mirrord::client {
namespace {

using std::chrono::milliseconds;

// librdkafka tells more about its own timeout than we could, so ours comes later; it is for the case that no event comes.
constexpr milliseconds grace{500};

// How long joining librdkafka's threads may keep close() waiting.
constexpr std::chrono::seconds close_timeout{5};

// librdkafka's bound of an admin request's timeout.
constexpr milliseconds request_timeout_max{3'600'000};

struct options_deleter {
  void operator()(rd_kafka_AdminOptions_t* o) const noexcept { rd_kafka_AdminOptions_destroy(o); }
};
using options_pointer = std::unique_ptr<rd_kafka_AdminOptions_t, options_deleter>;

struct new_topic_deleter {
  void operator()(rd_kafka_NewTopic_t* t) const noexcept { rd_kafka_NewTopic_destroy(t); }
};
struct new_partitions_deleter {
  void operator()(rd_kafka_NewPartitions_t* p) const noexcept { rd_kafka_NewPartitions_destroy(p); }
};
struct config_resource_deleter {
  void operator()(rd_kafka_ConfigResource_t* r) const noexcept { rd_kafka_ConfigResource_destroy(r); }
};

config_source source_of(rd_kafka_ConfigSource_t source) {
  switch (source) {
    case RD_KAFKA_CONFIG_SOURCE_DYNAMIC_TOPIC_CONFIG: return config_source::dynamic_topic;
    case RD_KAFKA_CONFIG_SOURCE_DYNAMIC_BROKER_CONFIG: return config_source::dynamic_broker;
    case RD_KAFKA_CONFIG_SOURCE_DYNAMIC_DEFAULT_BROKER_CONFIG: return config_source::dynamic_default_broker;
    case RD_KAFKA_CONFIG_SOURCE_STATIC_BROKER_CONFIG: return config_source::static_broker;
    case RD_KAFKA_CONFIG_SOURCE_DEFAULT_CONFIG: return config_source::built_in_default;
    default: return config_source::unknown;
  }
}

// The outcome of a request about one topic.
result<void> topic_outcome(const rd_kafka_topic_result_t** topics, std::size_t count, const std::string& what) {
  if (count != 1) return fail(errc::malformed, what + ": an answer about " + std::to_string(count) + " topics");
  const rd_kafka_resp_err_t code = rd_kafka_topic_result_error(topics[0]);
  if (code == RD_KAFKA_RESP_ERR_NO_ERROR) return {};
  return rdkafka_failure(code, rd_kafka_topic_result_error_string(topics[0]), what);
}

result<config_list> configs_of(rd_kafka_event_t* event, const std::string& what) {
  std::size_t count = 0;
  const rd_kafka_ConfigResource_t** resources =
      rd_kafka_DescribeConfigs_result_resources(rd_kafka_event_DescribeConfigs_result(event), &count);
  if (count != 1) return fail(errc::malformed, what + ": an answer about " + std::to_string(count) + " resources");
  if (const rd_kafka_resp_err_t code = rd_kafka_ConfigResource_error(resources[0]); code != RD_KAFKA_RESP_ERR_NO_ERROR) {
    return rdkafka_failure(code, rd_kafka_ConfigResource_error_string(resources[0]), what);
  }
  std::size_t entries = 0;
  const rd_kafka_ConfigEntry_t** entry = rd_kafka_ConfigResource_configs(resources[0], &entries);
  config_list list;
  list.reserve(entries);
  for (std::size_t i = 0; i < entries; ++i) {
    config_entry& e = list.emplace_back();
    e.name = rd_kafka_ConfigEntry_name(entry[i]);
    if (const char* value = rd_kafka_ConfigEntry_value(entry[i])) e.value = value;
    e.source = source_of(rd_kafka_ConfigEntry_source(entry[i]));
    e.read_only = rd_kafka_ConfigEntry_is_read_only(entry[i]) == 1;
    e.sensitive = rd_kafka_ConfigEntry_is_sensitive(entry[i]) == 1;
  }
  return list;
}

}  // namespace

std::string_view name(config_source source) noexcept {
  switch (source) {
    case config_source::dynamic_topic: return "dynamic topic config";
    case config_source::dynamic_broker: return "dynamic broker config";
    case config_source::dynamic_default_broker: return "dynamic default broker config";
    case config_source::static_broker: return "static broker config";
    case config_source::built_in_default: return "default";
    case config_source::unknown: return "unknown";
  }
  return "unknown";
}

const config_entry* find(const config_list& list, std::string_view config_name) noexcept {
  const auto at = std::ranges::find(list, config_name, &config_entry::name);
  return at == list.end() ? nullptr : &*at;
}

class admin::implementation {
 public:
  implementation(const asio::any_io_executor& executor, std::string cluster) : executor_(executor), cluster_(std::move(cluster)) {}

  result<void> open(const connection_settings& connection) {
    auto conf = make_rdkafka_conf(connection);
    if (!conf) return std::move(conf).error().within("admin client of the " + cluster_);
    auto opened = rdkafka_handle::open(executor_, RD_KAFKA_PRODUCER, std::move(*conf), connection, "admin of " + cluster_,
                                       [this](rdkafka_event event) { finish(std::move(event)); });
    if (!opened) return std::move(opened).error();
    handle_ = std::move(*opened);
    return {};
  }

  // Gives librdkafka a request by `start(client, options, queue)` and awaits the event that answers it.
  template <class Start>
  asio::awaitable<result<rdkafka_event>> call(rd_kafka_admin_op_t kind, steady_time until, std::string what, Start start) {
    if (closed_) co_return fail(errc::cancelled, what);
    const auto left = std::chrono::ceil<milliseconds>(until - std::chrono::steady_clock::now());
    if (left <= milliseconds::zero()) co_return fail(errc::timed_out, what);

    const options_pointer options(rd_kafka_AdminOptions_new(handle_->client(), kind));
    const auto limit = std::min(left, request_timeout_max);
    std::array<char, 512> reason{};
    if (rd_kafka_AdminOptions_set_request_timeout(options.get(), static_cast<int>(limit.count()), reason.data(), reason.size()) !=
        RD_KAFKA_RESP_ERR_NO_ERROR) {
      co_return fail(errc::invalid, what + ": " + reason.data());
    }
    const auto waiting = std::make_shared<call_state>(executor_);
    const std::uintptr_t id = ++last_call_;
    calls_.emplace(id, waiting);
    rd_kafka_AdminOptions_set_opaque(options.get(), reinterpret_cast<void*>(id));  // NOLINT: an id, never a pointer
    start(handle_->client(), options.get(), handle_->queue());

    const deadline guard(executor_, until + grace, [waiting] { waiting->end(errc::timed_out); });
    while (!waiting->event && !waiting->ended) {
      const bool told = co_await waiting->changed.wait();
      if (!told) waiting->ended = errc::cancelled;
    }
    calls_.erase(id);
    if (!waiting->event) co_return fail(*waiting->ended, std::move(what));
    if (const rd_kafka_resp_err_t code = rd_kafka_event_error(waiting->event.get()); code != RD_KAFKA_RESP_ERR_NO_ERROR) {
      co_return explained(rdkafka_failure(code, rd_kafka_event_error_string(waiting->event.get()), std::move(what)));
    }
    if (handle_) handle_->connection_works();
    co_return std::move(waiting->event);
  }

  asio::awaitable<result<config_list>> describe(rd_kafka_ConfigResource_t* resource, steady_time until, std::string what) {
    const auto start = [resource](rd_kafka_t* client, rd_kafka_AdminOptions_t* options, rd_kafka_queue_t* queue) {
      rd_kafka_ConfigResource_t* one_request = resource;
      rd_kafka_DescribeConfigs(client, &one_request, 1, options, queue);
    };
    const auto answer = co_await call(RD_KAFKA_ADMIN_OP_DESCRIBECONFIGS, until, what, start);
    if (!answer) co_return answer.error();
    co_return configs_of(answer->get(), what);
  }

  asio::awaitable<void> close() {
    closed_ = true;
    for (const auto& [id, waiting] : calls_) waiting->end(errc::cancelled);
    if (handle_) co_await handle_->close({}, std::chrono::steady_clock::now() + close_timeout);
    handle_.reset();
  }

  [[nodiscard]] std::string told(std::string_view action, std::string_view object) const {
    return std::string(action) + ' ' + std::string(object) + " on the " + cluster_;
  }

 private:
  struct call_state {
    explicit call_state(const asio::any_io_executor& executor) : changed(executor) {}

    void end(errc why) {
      if (!ended) ended = why;
      changed.notify();
    }

    notifier changed;
    rdkafka_event event;
    std::optional<errc> ended;
  };

  [[nodiscard]] error explained(error failure) const { return handle_ ? handle_->explained(std::move(failure)) : std::move(failure); }

  void finish(rdkafka_event event) {
    const auto at = calls_.find(reinterpret_cast<std::uintptr_t>(rd_kafka_event_opaque(event.get())));
    if (at == calls_.end()) return;  // an event without opaque is about the client itself; or the caller has given up
    at->second->event = std::move(event);
    at->second->changed.notify();
  }

  asio::any_io_executor executor_;
  std::string cluster_;
  std::unordered_map<std::uintptr_t, std::shared_ptr<call_state>> calls_;
  std::uintptr_t last_call_ = 0;
  bool closed_ = false;
  std::unique_ptr<rdkafka_handle> handle_;  // last: its destruction ends the events, which use the rest
};

admin::admin(std::unique_ptr<implementation> i) : implementation_(std::move(i)) {}
admin::~admin() = default;

result<std::unique_ptr<admin>> admin::open(const asio::any_io_executor& executor, const connection_settings& connection, std::string cluster) {
  auto i = std::make_unique<implementation>(executor, std::move(cluster));
  if (auto opened = i->open(connection); !opened) return std::move(opened).error();
  return std::unique_ptr<admin>(new admin(std::move(i)));
}

asio::awaitable<result<void>> admin::create_topic(topic_creation topic, steady_time until) {
  const std::string what = implementation_->told("create topic", topic.name);
  std::array<char, 512> reason{};
  const std::unique_ptr<rd_kafka_NewTopic_t, new_topic_deleter> request(
      rd_kafka_NewTopic_new(topic.name.c_str(), topic.partitions, topic.replication_factor, reason.data(), reason.size()));
  if (!request) co_return fail(errc::invalid, what + ": " + reason.data());
  for (const auto& [key, value] : topic.config) {
    if (const auto code = rd_kafka_NewTopic_set_config(request.get(), key.c_str(), value.c_str()); code != RD_KAFKA_RESP_ERR_NO_ERROR) {
      co_return rdkafka_failure(code, nullptr, what + ": config " + key);
    }
  }
  const auto start = [r = request.get()](rd_kafka_t* client, rd_kafka_AdminOptions_t* options, rd_kafka_queue_t* queue) {
    rd_kafka_NewTopic_t* one_request = r;
    rd_kafka_CreateTopics(client, &one_request, 1, options, queue);
  };
  const auto answer = co_await implementation_->call(RD_KAFKA_ADMIN_OP_CREATETOPICS, until, what, start);
  if (!answer) co_return answer.error();
  std::size_t count = 0;
  const auto** topics = rd_kafka_CreateTopics_result_topics(rd_kafka_event_CreateTopics_result(answer->get()), &count);
  co_return topic_outcome(topics, count, what);
}

asio::awaitable<result<void>> admin::create_partitions(std::string topic, std::int32_t total, steady_time until) {
  const std::string what = implementation_->told("grow topic", topic);
  if (total < 1) co_return fail(errc::invalid, what + ": to " + std::to_string(total) + " partitions");
  std::array<char, 512> reason{};
  const std::unique_ptr<rd_kafka_NewPartitions_t, new_partitions_deleter> request(
      rd_kafka_NewPartitions_new(topic.c_str(), static_cast<std::size_t>(total), reason.data(), reason.size()));
  if (!request) co_return fail(errc::invalid, what + ": " + reason.data());
  const auto start = [r = request.get()](rd_kafka_t* client, rd_kafka_AdminOptions_t* options, rd_kafka_queue_t* queue) {
    rd_kafka_NewPartitions_t* one_request = r;
    rd_kafka_CreatePartitions(client, &one_request, 1, options, queue);
  };
  const auto answer = co_await implementation_->call(RD_KAFKA_ADMIN_OP_CREATEPARTITIONS, until, what, start);
  if (!answer) co_return answer.error();
  std::size_t count = 0;
  const auto** topics = rd_kafka_CreatePartitions_result_topics(rd_kafka_event_CreatePartitions_result(answer->get()), &count);
  co_return topic_outcome(topics, count, what);
}

asio::awaitable<result<config_list>> admin::describe_topic_configs(std::string topic, steady_time until) {
  const std::string what = implementation_->told("read configs of topic", topic);
  const std::unique_ptr<rd_kafka_ConfigResource_t, config_resource_deleter> request(
      rd_kafka_ConfigResource_new(RD_KAFKA_RESOURCE_TOPIC, topic.c_str()));
  co_return co_await implementation_->describe(request.get(), until, what);
}

asio::awaitable<result<config_list>> admin::describe_broker_configs(broker_id broker, steady_time until) {
  const std::string id = std::to_string(broker.value);
  const std::string what = implementation_->told("read configs of broker", id);
  const std::unique_ptr<rd_kafka_ConfigResource_t, config_resource_deleter> request(
      rd_kafka_ConfigResource_new(RD_KAFKA_RESOURCE_BROKER, id.c_str()));
  co_return co_await implementation_->describe(request.get(), until, what);
}

asio::awaitable<void> admin::close() { co_await implementation_->close(); }

}  // namespace mirrord::client
