// Topics and settings of one cluster through librdkafka's admin client: creating topics and partitions, reading configs.
//
// One object per cluster, owned by whoever composes the daemon and ended by its close(). Every call ends by `until` at
// the latest. An error of the broker is errc::broker with its code and its words; errc::timed_out, or the reason why no
// broker could be reached, means that nobody knows whether a creation happened: ask again, and take
// TOPIC_ALREADY_EXISTS for an answer. Calls may overlap; a result arrives on the io_context's thread.
//
// What librdkafka 2.0.2 cannot do (IncrementalAlterConfigs, and Metadata without blocking) is done on the wire elsewhere.
#pragma once

#include "base/error.hpp"
#include "base/ids.hpp"
#include "client/deadline.hpp"
#include "client/tasks.hpp"
#include "settings/connection_settings.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mirrord::client {

// Where a config value comes from, in Kafka's order of precedence (DescribeConfigs' config source).
enum class config_source : std::uint8_t {
  dynamic_topic,           // set on the topic
  dynamic_broker,          // set on one broker
  dynamic_default_broker,  // set on all brokers of the cluster
  static_broker,           // the broker's properties file
  built_in_default,
  unknown,                 // of a kind that came after us
};

[[nodiscard]] std::string_view name(config_source source) noexcept;

struct config_entry {
  std::string name;
  std::optional<std::string> value;  // none where it is null or sensitive
  config_source source = config_source::unknown;
  bool read_only = false;
  bool sensitive = false;
};

// In the order of the broker's answer.
using config_list = std::vector<config_entry>;

[[nodiscard]] const config_entry* find(const config_list& list, std::string_view config_name) noexcept;

struct topic_creation {
  std::string name;
  std::int32_t partitions = 1;
  std::int16_t replication_factor = -1;  // -1: the broker's default (brokers since 2.4)
  std::map<std::string, std::string> config;
};

class admin {
 public:
  // `cluster` names the cluster in logs and errors ("destination"). No connection is made before the first call.
  [[nodiscard]] static result<std::unique_ptr<admin>> open(const asio::any_io_executor& executor, const connection_settings& connection,
                                                           std::string cluster);
  ~admin();
  admin(const admin&) = delete;
  admin& operator=(const admin&) = delete;

  [[nodiscard]] asio::awaitable<result<void>> create_topic(topic_creation topic, steady_time until);

  // Grows the topic to `total` partitions.
  [[nodiscard]] asio::awaitable<result<void>> create_partitions(std::string topic, std::int32_t total, steady_time until);

  [[nodiscard]] asio::awaitable<result<config_list>> describe_topic_configs(std::string topic, steady_time until);
  [[nodiscard]] asio::awaitable<result<config_list>> describe_broker_configs(broker_id broker, steady_time until);

  // Calls under way end with errc::cancelled; no call may follow.
  [[nodiscard]] asio::awaitable<void> close();

 private:
  class implementation;
  explicit admin(std::unique_ptr<implementation> i);

  std::unique_ptr<implementation> implementation_;
};

}  // namespace mirrord::client
