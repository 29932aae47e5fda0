#include "mirror/state_topic.hpp"

#include "base/broker_error.hpp"
#include "base/log.hpp"
#include "client/tasks.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace mirrord::mirror {
namespace {

namespace asio = client::asio;

constexpr std::int32_t default_replication_factor = 3;

// With 3 replicas, 2 must have a record before it counts. With fewer one must do: else one lost broker ends all writing.
constexpr int min_insync(std::int32_t replication_factor) { return replication_factor >= 3 ? 2 : 1; }

// A created topic is in some broker's metadata within milliseconds.
constexpr std::chrono::milliseconds appearance_poll{100};

result<void> expect_config(const std::string& topic, const client::config_list& configs, const char* key, std::string_view expected) {
  const client::config_entry* found = client::find(configs, key);
  if (found != nullptr && found->value == expected) return {};
  const std::string value = found != nullptr && found->value ? *found->value : "unset";
  return fail(errc::invalid, fmt::format("topic {} has {}={} and needs {}; run: kafka-configs.sh --alter --entity-type topics "
                                         "--entity-name {} --add-config {}={}",
                                         topic, key, value, expected, topic, key, expected));
}

// More in-sync replicas than exist, or than may be lost, would refuse every write.
result<void> check_min_insync(const std::string& topic, const client::config_list& configs, std::int32_t replication_factor) {
  const client::config_entry* found = client::find(configs, "min.insync.replicas");
  if (found == nullptr || !found->value) return {};
  const int value = std::atoi(found->value->c_str());
  const int wanted = min_insync(replication_factor);
  if (value > replication_factor) {
    return fail(errc::invalid, fmt::format("topic {} has min.insync.replicas={} and only {} replica(s), so nothing can be written; run: "
                                           "kafka-configs.sh --alter --entity-type topics --entity-name {} --add-config min.insync.replicas={}",
                                           topic, value, replication_factor, topic, wanted));
  }
  if (value < wanted) {
    log::warn("state_topic_min_insync_replicas_low", {{"topic", topic}, {"value", value}, {"advised", wanted}});
  }
  return {};
}

}  // namespace

std::int16_t wanted_replication_factor(const state_topic_settings& wanted, std::int32_t brokers) noexcept {
  if (wanted.replication_factor > 0) return wanted.replication_factor;
  return static_cast<std::int16_t>(std::clamp(brokers, 1, default_replication_factor));
}

client::topic_creation plan_state_topic(std::string name, const state_topic_settings& wanted, std::int32_t brokers) {
  client::topic_creation topic;
  topic.name = std::move(name);
  topic.partitions = wanted.partitions;
  topic.replication_factor = wanted_replication_factor(wanted, brokers);
  topic.config = {
      {"cleanup.policy", "compact"},
      {"compression.type", "producer"},
      {"retention.ms", "-1"},
      {"min.insync.replicas", std::to_string(min_insync(topic.replication_factor))},
  };
  return topic;
}

result<void> check_state_topic(const std::string& name, const state_topic_settings& wanted, std::int32_t brokers, const topic_shape& found,
                               const client::config_list& configs) {
  if (auto policy = expect_config(name, configs, "cleanup.policy", "compact"); !policy) return policy;
  if (found.partitions != wanted.partitions) {
    return fail(errc::invalid,
                fmt::format("topic {} has {} partitions and mirror.state.topic.num.partitions says {}; if it was created with {}, set "
                            "mirror.state.topic.num.partitions to that; if partitions were added to it later, its records are in the wrong places: "
                            "delete it while no daemon runs, and it is made anew",
                            name, found.partitions, wanted.partitions, found.partitions));
  }
  const std::int16_t replicas = wanted_replication_factor(wanted, brokers);
  if (found.replication_factor < replicas) {
    return fail(errc::invalid,
                fmt::format("topic {} has {} replica(s) on a cluster of {} broker(s) and needs {}; add replicas with "
                            "kafka-reassign-partitions.sh, or set mirror.state.topic.replication.factor to {} to go on with the risk",
                            name, found.replication_factor, brokers, replicas, found.replication_factor));
  }
  return check_min_insync(name, configs, found.replication_factor);
}

asio::awaitable<result<std::int32_t>> ensure_state_topic(client::admin& admin, shape_source shape, std::string name,
                                                        state_topic_settings wanted, client::steady_time until) {
  auto cluster = co_await shape(name, until);
  if (!cluster) co_return std::move(cluster).error().within("topic " + name);

  if (!cluster->topic) {
    client::topic_creation plan = plan_state_topic(name, wanted, cluster->brokers);
    const std::int16_t replicas = plan.replication_factor;
    auto created = co_await admin.create_topic(std::move(plan), until);
    if (!created && !is(created.error().broker_code, kafka_error::topic_already_exists)) co_return std::move(created).error();
    if (created) log::info("state_topic_created", {{"topic", name}, {"partitions", wanted.partitions}, {"replicas", replicas}});
    while (!cluster->topic) {
      if (std::chrono::steady_clock::now() >= until) co_return fail(errc::timed_out, "topic " + name + " was created and does not appear");
      const bool slept = co_await client::sleep_for(appearance_poll);
      if (!slept) co_return fail(errc::cancelled, "topic " + name);
      cluster = co_await shape(name, until);
      if (!cluster) co_return std::move(cluster).error().within("topic " + name);
    }
  }

  const auto configs = co_await admin.describe_topic_configs(name, until);
  if (!configs) co_return configs.error();
  if (auto checked = check_state_topic(name, wanted, cluster->brokers, *cluster->topic, *configs); !checked) co_return std::move(checked).error();
  co_return cluster->topic->partitions;
}

}  // namespace mirrord::mirror
