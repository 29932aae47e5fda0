#include "mirror/topic_settings.hpp"

#include "wire/configs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <vector>

namespace mirrord::mirror {
namespace {

// All that a mirror may set on a topic.
constexpr std::array overridden_keys{
    "cleanup.policy",          "compression.type",
    "max.message.bytes",       "message.timestamp.after.max.ms",
    "message.timestamp.type",  "message.timestamp.before.max.ms",
    "retention.bytes",         "message.timestamp.difference.max.ms",
    "retention.ms",
};

asio::awaitable<result<void>> alter(client::cluster& destination, std::string topic, std::vector<wire::alterable_config> configs) {
  wire::alter_configs_resource resource;
  resource.resource_name = topic;
  resource.configs = std::move(configs);
  wire::incremental_alter_configs_request request;
  request.resources.push_back(std::move(resource));
  auto connection = co_await destination.any_connection();
  if (!connection) co_return std::move(connection.error());
  auto reply = co_await (*connection)->call(request, destination.settings().request_timeout);
  const std::string what = fmt::format("alter the settings of destination topic {}", topic);
  if (!reply) co_return std::move(reply.error()).within(what);
  for (const auto& answer : reply->body.responses) {
    if (answer.error_code != 0) co_return broker_failure(answer.error_code, what, answer.error_message.value_or(""));
  }
  co_return result<void>{};
}

}  // namespace

std::string value_of(const client::config_list& configs, std::string_view key) {
  const auto* entry = client::find(configs, key);
  return entry && entry->value ? *entry->value : std::string{};
}

std::int64_t number_of(const client::config_list& configs, std::string_view key, std::int64_t otherwise) {
  const std::string text = value_of(configs, key);
  std::int64_t number = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
  return failure == std::errc{} && end == text.data() + text.size() ? number : otherwise;
}

topic_configs settings_while_mirrored(const client::config_list& source, bool split_timestamp_bounds) {
  const std::string open_bound = std::to_string(INT64_MAX);
  topic_configs wanted{
      {"retention.ms", "-1"},  // the log start follows the source's, by DeleteRecords and nothing else
      {"retention.bytes", "-1"},
      {"compression.type", "producer"},
      {"message.timestamp.type", "CreateTime"},
      {"max.message.bytes", std::to_string(std::max(number_of(source, "max.message.bytes", 0), broker_default_max_message_bytes))},
  };
  if (split_timestamp_bounds) {
    wanted["message.timestamp.before.max.ms"] = open_bound;
    wanted["message.timestamp.after.max.ms"] = open_bound;
  } else {
    wanted["message.timestamp.difference.max.ms"] = open_bound;
  }
  return wanted;
}

source_config_value own_settings(const client::config_list& source) {
  source_config_value own;
  for (const std::string_view key : overridden_keys) {
    const auto* entry = client::find(source, key);
    if (!entry || !entry->value || entry->source != client::config_source::dynamic_topic) continue;
    own.dynamic.push_back({std::string(key), *entry->value});
  }
  return own;
}

asio::awaitable<result<void>> alter_topic(client::cluster& destination, std::string topic, topic_configs configs) {
  std::vector<wire::alterable_config> changes;
  for (auto& [key, value] : configs) changes.push_back({key, wire::config_set, value});
  co_return co_await alter(destination, std::move(topic), std::move(changes));
}

asio::awaitable<result<void>> restore_topic_settings(client::cluster& destination, client::admin& admin, std::string topic,
                                                    source_config_value own) {
  auto present = co_await admin.describe_topic_configs(topic, std::chrono::steady_clock::now() + destination.settings().request_timeout);
  if (!present) co_return std::move(present.error());
  std::vector<wire::alterable_config> changes;
  for (const std::string_view key : overridden_keys) {
    const auto* entry = client::find(*present, key);
    if (!entry) continue;  // brokers before and after 3.6 know different timestamp bounds
    const auto set = std::find_if(own.dynamic.begin(), own.dynamic.end(), [&](const config_property& p) { return p.key == key; });
    if (set != own.dynamic.end()) changes.push_back({std::string(key), wire::config_set, set->value});
    else if (entry->source == client::config_source::dynamic_topic) changes.push_back({std::string(key), wire::config_delete, std::nullopt});
  }
  if (changes.empty()) co_return result<void>{};
  co_return co_await alter(destination, std::move(topic), std::move(changes));
}

}  // namespace mirrord::mirror
