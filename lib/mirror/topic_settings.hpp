// The settings of a destination topic: those that keep a mirrored log as it is on the source, and the source's own, which
// take their place when the mirror is stopped.
#pragma once

#include "client/admin.hpp"
#include "client/cluster.hpp"
#include "mirror/ports.hpp"
#include "mirror/state_records.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace mirrord::mirror {

inline constexpr std::int64_t broker_default_max_message_bytes = 1'048'588;  // Kafka's default of max.message.bytes

using topic_configs = std::map<std::string, std::string>;

// The value of a setting; empty, or `otherwise`, where it is missing or no number.
[[nodiscard]] std::string value_of(const client::config_list& configs, std::string_view key);
[[nodiscard]] std::int64_t number_of(const client::config_list& configs, std::string_view key, std::int64_t otherwise);

// Under which a topic keeps whatever the source sends, unchanged, until the source removes it.
[[nodiscard]] topic_configs settings_while_mirrored(const client::config_list& source, bool split_timestamp_bounds);

// What is set on the source topic itself of the settings that a mirror overrides.
[[nodiscard]] source_config_value own_settings(const client::config_list& source);

// Sets single keys and leaves the others alone.
[[nodiscard]] asio::awaitable<result<void>> alter_topic(client::cluster& destination, std::string topic, topic_configs configs);

// Puts the source's own values in place; what the source did not set itself is left to the destination's brokers.
[[nodiscard]] asio::awaitable<result<void>> restore_topic_settings(client::cluster& destination, client::admin& admin, std::string topic,
                                                                  source_config_value own);

}  // namespace mirrord::mirror
