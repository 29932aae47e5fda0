#include "mirror/topic_preparation.hpp"

#include "base/log.hpp"
#include "mirror/alignment.hpp"
#include "mirror/topic_settings.hpp"
#include "wire/fetch.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <vector>

namespace mirrord::mirror {
namespace {

using namespace std::chrono_literals;

constexpr std::chrono::milliseconds marker_retention_max = 24h * 3650;  // so that sums with times of day stay in range
constexpr std::int16_t fetch_version_of_delete_horizons = 13;
constexpr auto cleaner_pause = 10s;  // log.cleaner.backoff.ms is 15 s
constexpr auto pause_between_looks = 100ms;

client::steady_time deadline_of(const client::cluster& cluster) { return std::chrono::steady_clock::now() + cluster.settings().request_timeout; }

// The configs of a topic that the metadata shows. Brokers hear of a new topic at different moments, and any may be asked.
asio::awaitable<result<client::config_list>> read_configs(client::admin& admin, const client::cluster& cluster, clock_port& clock, std::string topic) {
  const auto until = deadline_of(cluster);
  while (true) {
    auto configs = co_await admin.describe_topic_configs(topic, until);
    const bool unheard_of = !configs && is(configs.error().broker_code, kafka_error::unknown_topic_or_partition);
    if (!unheard_of || std::chrono::steady_clock::now() >= until) co_return configs;
    co_await clock.sleep(pause_between_looks);
  }
}

// The topic once the cluster's metadata shows this many partitions, all with a leader.
asio::awaitable<result<void>> wait_for_leaders(client::cluster& cluster, clock_port& clock, std::string topic, std::int32_t partitions) {
  const auto until = clock.now() + cluster.settings().request_timeout;
  while (true) {
    std::vector<std::string> named{topic};
    if (auto refreshed = co_await cluster.refresh(std::move(named)); !refreshed) co_return refreshed;
    const auto* info = cluster.metadata().find_topic(topic);
    if (info && info->error_code == 0 && static_cast<std::int32_t>(info->partitions.size()) >= partitions &&
        std::all_of(info->partitions.begin(), info->partitions.end(), [](const auto& p) { return p.leader_id >= 0; })) {
      co_return result<void>{};
    }
    if (clock.now() >= until) co_return fail(errc::timed_out, fmt::format("destination topic {}: not all of its partitions get a leader", topic));
    co_await clock.sleep(pause_between_looks);
  }
}

class preparation {
 public:
  preparation(preparation_context context, std::string topic) : context_(std::move(context)), topic_(std::move(topic)) {}

  asio::awaitable<result<prepared_topic>> run() {
    const auto* source = context_.source.metadata().find_topic(topic_);
    if (!source || source->error_code != 0) co_return fail(errc::not_found, fmt::format("source topic {} does not exist or may not be read", topic_));
    prepared_.source_topic = source->id;
    prepared_.partitions = static_cast<std::int32_t>(source->partitions.size());

    auto source_configs = co_await read_configs(context_.source_admin, context_.source, context_.clock, topic_);
    if (!source_configs) co_return std::move(source_configs.error());
    prepared_.source_cleanup_policy = value_of(*source_configs, "cleanup.policy");
    prepared_.marker_retention = co_await marker_retention(number_of(*source_configs, "delete.retention.ms", 0));
    wanted_ = settings_while_mirrored(*source_configs, context_.traits.split_timestamp_bounds);

    if (const std::string other = context_.memory.copied_by(topic_, prepared_.source_topic); !other.empty()) {
      co_return fail(errc::fenced, fmt::format("Detected mirror loop for mirror {}: the source's mirror {} copies topic {} from this cluster; stop it there first",
                                                context_.mirror, other, topic_));
    }

    std::vector<std::string> named{topic_};
    if (auto looked = co_await context_.destination.refresh(std::move(named)); !looked) co_return std::move(looked.error());
    const auto* existing = context_.destination.metadata().find_topic(topic_);
    const bool exists = existing && existing->error_code == 0;
    result<void> ready;
    own_ = own_settings(*source_configs);
    if (exists) ready = co_await accept();
    else ready = co_await create();
    if (!ready) co_return std::move(ready.error());
    if (auto read = co_await read_settings(); !read) co_return std::move(read.error());
    co_return prepared_;
  }

 private:
  // Before KIP-534 (Kafka 3.1, whose Fetch has version 13) the cleaner went by the age of segments, not by the time at
  // which it had removed a transaction's data: there a marker is sure only until the next pass.
  asio::awaitable<std::chrono::milliseconds> marker_retention(std::int64_t delete_retention_ms) {
    const std::chrono::milliseconds wanted(std::clamp<std::int64_t>(delete_retention_ms, 0, marker_retention_max.count()));
    auto connection = co_await context_.source.any_connection();
    const auto version = connection ? (*connection)->version_for<wire::fetch_request>() : result<std::int16_t>(std::move(connection.error()));
    const bool knows_horizons = version && *version >= fetch_version_of_delete_horizons;
    co_return knows_horizons ? wanted : std::min<std::chrono::milliseconds>(wanted, cleaner_pause);
  }

  asio::awaitable<result<void>> create() {
    client::topic_creation creation{topic_, prepared_.partitions, context_.replication_factor, wanted_};
    // Without `compact` until the history is copied: a compacted topic refuses records without a key, and DeleteRecords.
    creation.config["cleanup.policy"] = "delete";
    auto created = co_await context_.destination_admin.create_topic(std::move(creation), deadline_of(context_.destination));
    if (!created && is(created.error().broker_code, kafka_error::topic_already_exists)) {
      // The request of a daemon that died a moment ago came through after we had looked.
      if (auto led = co_await wait_for_leaders(context_.destination, context_.clock, topic_, 1); !led) co_return led;
      co_return co_await accept();
    }
    if (!created) co_return std::move(created.error());
    prepared_.fresh = true;
    log::info("topic_created", {{"mirror", context_.mirror}, {"topic", topic_}, {"partitions", prepared_.partitions}});
    if (auto led = co_await wait_for_leaders(context_.destination, context_.clock, topic_, prepared_.partitions); !led) co_return led;
    if (auto recorded = co_await record_own_settings(); !recorded) co_return recorded;
    co_return co_await record();
  }

  asio::awaitable<result<void>> accept() {
    const client::topic_info& existing = *context_.destination.metadata().find_topic(topic_);
    const auto partitions = static_cast<std::int32_t>(existing.partitions.size());
    const auto known = context_.state.view().find(mirror_topic_key{context_.mirror, existing.id});
    if (known && !known->source_topic.is_zero() && known->source_topic != prepared_.source_topic) {
      co_return fail(errc::diverged, fmt::format("source topic {} was deleted and created again: it was {}, now it is {}", topic_,
                                                 known->source_topic.text(), prepared_.source_topic.text()));
    }
    if (partitions > prepared_.partitions) {
      co_return fail(errc::diverged, fmt::format("destination topic {} has {} partitions, the source's has {}", topic_, partitions, prepared_.partitions));
    }
    if (auto aligned = co_await align_partitions(existing.id, partitions, known.has_value()); !aligned) co_return aligned;
    if (partitions < prepared_.partitions) {
      auto grown = co_await context_.destination_admin.create_partitions(topic_, prepared_.partitions, deadline_of(context_.destination));
      if (!grown) co_return std::move(grown.error());
      log::info("topic_grown", {{"mirror", context_.mirror}, {"topic", topic_}, {"from", partitions}, {"to", prepared_.partitions}});
    }
    if (auto led = co_await wait_for_leaders(context_.destination, context_.clock, topic_, prepared_.partitions); !led) co_return led;
    if (!known) wanted_["cleanup.policy"] = "delete";
    if (auto recorded = co_await record_own_settings(); !recorded) co_return recorded;
    if (auto altered = co_await alter_differences(); !altered) co_return altered;
    if (known) co_return result<void>{};
    co_return co_await record();
  }

  // Of a topic that this mirror does not know, and of partitions that it has stopped: they may have been written to since.
  // All are looked at before anything is recorded. The hand-over keeps what comes after from being taken for mirrored.
  asio::awaitable<result<void>> align_partitions(topic_id destination_topic, std::int32_t partitions, bool known) {
    std::map<std::int32_t, std::int64_t> aligned;
    for (std::int32_t index = 0; index < partitions; ++index) {
      const mirrored_partition of{context_.mirror, destination_topic, index};
      const auto standing = context_.state.view().find(partition_state_key{of}).value_or(partition_state_value{});
      const auto state = standing.state == core::partition_state::failed ? standing.previous_state : standing.state;
      if (state == core::partition_state::stopping) {
        co_return fail(errc::fenced, fmt::format("{}-{} is being stopped; the topic is mirrored again when that is done", topic_, index));
      }
      const bool was_stopped = state == core::partition_state::stopped || context_.state.view().find(stop_plan_key{of}).has_value();
      if (known && !was_stopped) continue;
      alignment_context alignment{context_.source, context_.destination, context_.clock, context_.random, context_.memory};
      topic_partition tp{topic_, index};
      auto end = co_await align(alignment, std::move(tp), prepared_.source_topic, destination_topic);
      if (!end) co_return std::move(end.error());
      aligned.emplace(index, *end);
    }
    for (const auto& [index, end] : aligned) {
      const mirrored_partition of{context_.mirror, destination_topic, index};
      stop_plan_key plan{of};
      const bool has_plan = context_.state.view().find(plan).has_value();
      if (end == 0 && !has_plan) continue;
      log::info("partition_aligned", {{"mirror", context_.mirror}, {"partition", fmt::format("{}-{}", topic_, index)}, {"end", end}});
      hand_over_key key{of};
      hand_over_value value{"alignment", end, context_.clock.wall_ms()};
      if (auto recorded = co_await context_.state.write(std::move(key), std::move(value)); !recorded) co_return recorded;
      if (!has_plan) continue;
      if (auto erased = co_await context_.state.erase(std::move(plan)); !erased) co_return erased;
    }
    co_return result<void>{};
  }

  asio::awaitable<result<void>> alter_differences() {
    auto present = co_await read_configs(context_.destination_admin, context_.destination, context_.clock, topic_);
    if (!present) co_return std::move(present.error());
    // A larger limit than wanted does no harm and may have been needed.
    if (number_of(*present, "max.message.bytes", 0) >= std::stoll(wanted_.at("max.message.bytes"))) wanted_.erase("max.message.bytes");
    std::erase_if(wanted_, [&](const auto& setting) { return value_of(*present, setting.first) == setting.second; });
    if (wanted_.empty()) co_return result<void>{};
    co_return co_await alter_topic(context_.destination, topic_, wanted_);
  }

  asio::awaitable<result<void>> record() {
    const topic_id destination_topic = context_.destination.metadata().find_topic(topic_)->id;
    mirror_topic_value value{topic_, prepared_.source_topic, context_.source.metadata().cluster_id()};
    mirror_topic_key key{context_.mirror, destination_topic};
    co_return co_await context_.state.write(std::move(key), std::move(value));
  }

  // So that they can be put in place when the topic is stopped, also with the source dead.
  asio::awaitable<result<void>> record_own_settings() {
    source_config_key key{context_.mirror, context_.destination.metadata().find_topic(topic_)->id};
    if (context_.state.view().find(key) == own_) co_return result<void>{};
    source_config_value own = own_;
    co_return co_await context_.state.write(std::move(key), std::move(own));
  }

  asio::awaitable<result<void>> read_settings() {
    prepared_.destination_topic = context_.destination.metadata().find_topic(topic_)->id;
    auto present = co_await read_configs(context_.destination_admin, context_.destination, context_.clock, topic_);
    if (!present) co_return std::move(present.error());
    prepared_.batch_bytes_max = number_of(*present, "max.message.bytes", broker_default_max_message_bytes);
    prepared_.cleanup_policy = value_of(*present, "cleanup.policy");
    co_return result<void>{};
  }

  preparation_context context_;
  std::string topic_;
  topic_configs wanted_;
  source_config_value own_;  // the source topic's
  prepared_topic prepared_;
};

}  // namespace

asio::awaitable<result<prepared_topic>> prepare_topic(preparation_context context, std::string topic) {
  preparation steps(std::move(context), std::move(topic));
  co_return co_await steps.run();
}

}  // namespace mirrord::mirror
