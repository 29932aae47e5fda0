// Creating and checking the topic `__mirror_state` itself.
//
// It is made once and then only checked: records are routed by its number of partitions, and a cleanup policy other
// than compact would delete state. What is wrong is reported with the command or setting that puts it right; nothing
// is altered here.
#pragma once

#include "base/error.hpp"
#include "client/admin.hpp"
#include "settings/settings.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace mirrord::mirror {

inline constexpr const char* state_topic_name = "__mirror_state";

struct topic_shape {
  std::int32_t partitions = 0;
  std::int32_t replication_factor = 0;  // the smallest of its partitions
};

struct cluster_shape {
  std::int32_t brokers = 0;
  std::optional<topic_shape> topic;  // none: there is no such topic
};

// Asks the cluster for its Metadata, without creating the topic. librdkafka can do that only by blocking, so it is done
// by the wire client of whoever composes the daemon.
using shape_source = std::function<client::asio::awaitable<result<cluster_shape>>(std::string topic, client::steady_time until)>;

// Replicas that the topic is created with, and has at least: the setting, or min(3, brokers).
[[nodiscard]] std::int16_t wanted_replication_factor(const state_topic_settings& wanted, std::int32_t brokers) noexcept;

[[nodiscard]] client::topic_creation plan_state_topic(std::string name, const state_topic_settings& wanted, std::int32_t brokers);

// errc::invalid with what to do about it.
[[nodiscard]] result<void> check_state_topic(const std::string& name, const state_topic_settings& wanted, std::int32_t brokers,
                                             const topic_shape& found, const client::config_list& configs);

// Creates the topic unless it exists (several daemons may do so at once), waits until brokers know it, and checks it.
// The answer is its number of partitions.
[[nodiscard]] client::asio::awaitable<result<std::int32_t>> ensure_state_topic(client::admin& admin, shape_source shape, std::string name,
                                                                              state_topic_settings wanted, client::steady_time until);

}  // namespace mirrord::mirror
