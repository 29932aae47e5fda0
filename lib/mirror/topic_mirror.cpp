#include "mirror/topic_mirror.hpp"

#include "base/log.hpp"
#include "mirror/kafka_source.hpp"
#include "mirror/state_journal.hpp"
#include "mirror/topic_settings.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace mirrord::mirror {
namespace {

using namespace std::chrono_literals;
using core::partition_state;

constexpr auto end_check_interval = 20ms;

}  // namespace

struct topic_mirror::running_partition {
  running_partition(const mirror_parts& parts, const topic_partition& tp, topic_id source_topic, mirrored_partition id, partition_options options)
      : source(parts.source, parts.fetch_lanes, parts.context.clock, tp, source_topic),
        destination(parts.context.executor, parts.context.destination, parts.lanes, parts.context.lease, tp, id.destination_topic),
        journal(parts.context.state, parts.context.clock, std::move(id), parts.context.instance),
        mirror(parts.context.executor, tp, {source, destination, parts.pool, journal, parts.context.clock, parts.context.random, parts.context.lease},
               std::move(options)) {}

  void want(core::desired_state desired) {
    source.hurry(desired != core::desired_state::mirroring);
    mirror.want(desired);
  }

  void end() {
    source.hurry(true);
    mirror.end();
  }

  kafka_source source;
  kafka_destination destination;
  state_journal journal;
  partition_mirror mirror;
  bool runs = false;
};

topic_mirror::topic_mirror(mirror_parts parts, std::string name) : parts_(parts), name_(std::move(name)) {}

topic_mirror::~topic_mirror() = default;

void topic_mirror::take_up(topic_id destination_topic, topic_id source_topic, std::int32_t partitions) {
  if (!partitions_.empty() && destination_topic_ != destination_topic) return;  // those of the old topic have to end first
  open_partitions(destination_topic, source_topic, partitions);
  run_partitions();
}

asio::awaitable<void> topic_mirror::run(prepared_topic prepared) {
  if (destination_topic_ != prepared.destination_topic) co_await retire_partitions();
  last_error_.reset();
  gave_up_ = false;
  prepared_ = std::move(prepared);
  ready_ = true;
  open_partitions(prepared_.destination_topic, prepared_.source_topic, prepared_.partitions);
  const partition_options allowed = options();
  for (const auto& partition : partitions_) partition->mirror.allow_mirroring(allowed);
  run_partitions();
  log::info("topic_mirroring", {{"mirror", parts_.mirror}, {"topic", name_}, {"partitions", partitions_.size()}});
}

// The destination topic was deleted and made anew: what is recorded and running belongs to the old one. Requests go by the
// topic's name, so nothing new may begin before the old has ended.
asio::awaitable<void> topic_mirror::retire_partitions() {
  std::vector<std::unique_ptr<running_partition>> retired;
  retired.swap(partitions_);
  for (const auto& partition : retired) partition->end();
  const auto still_runs = [](const auto& partition) { return partition->runs; };
  while (std::any_of(retired.begin(), retired.end(), still_runs)) co_await parts_.context.clock.sleep(end_check_interval);
}

asio::awaitable<void> topic_mirror::run_to_end(running_partition& partition) {
  co_await partition.mirror.run();
  partition.runs = false;
}

void topic_mirror::open_partitions(topic_id destination_topic, topic_id source_topic, std::int32_t count) {
  destination_topic_ = destination_topic;
  for (auto index = static_cast<std::int32_t>(partitions_.size()); index < count; ++index) {
    mirrored_partition id{parts_.mirror, destination_topic, index};
    partitions_.push_back(std::make_unique<running_partition>(parts_, topic_partition{name_, index}, source_topic, std::move(id), options()));
    partitions_.back()->want(desired_);
  }
}

// What is STOPPED and is to stay so needs nobody.
void topic_mirror::run_partitions() {
  for (const auto& partition : partitions_) {
    if (partition->runs || (desired_ == core::desired_state::stopped && partition->mirror.view().state == partition_state::stopped)) continue;
    partition->runs = true;
    parts_.tasks.spawn(run_to_end(*partition));
  }
}

partition_options topic_mirror::options() const {
  const settings& configured = parts_.context.configuration;
  partition_options options;
  options.hole_fill_max = configured.hole_fill_max;
  options.audit_interval = configured.metadata_refresh_interval;
  options.late_request_time = configured.destination.request_timeout * 3 / 2;  // as long as a request may be under way
  options.advice = parts_.context.advice;
  if (!ready_) return options;
  options.batch_bytes_max = static_cast<std::size_t>(prepared_.batch_bytes_max);
  options.fresh = prepared_.fresh;
  options.marker_retention = prepared_.marker_retention;
  return options;
}

void topic_mirror::want(core::desired_state desired) {
  if (desired == desired_) return;
  desired_ = desired;
  ++wishes_;
  if (desired != core::desired_state::mirroring) {
    ready_ = false;  // prepared anew before it goes on
    last_error_.reset();
  }
  settings_refused_ = false;
  log::info("topic_wanted", {{"mirror", parts_.mirror}, {"topic", name_}, {"mirror.name", parts_.mirror + std::string(core::suffix_of(desired))}});
  for (const auto& partition : partitions_) partition->want(desired);
  run_partitions();
}

bool topic_mirror::recover() {
  bool any = false;
  for (const auto& partition : partitions_) {
    if (partition->mirror.view().state != partition_state::failed) continue;
    any = true;
    partition->mirror.recover();
  }
  if (any || last_error_) ready_ = false;
  last_error_.reset();
  return any;
}

void topic_mirror::end() {
  for (const auto& partition : partitions_) partition->end();
}

void topic_mirror::note_failure(error reason) {
  if (!last_error_ || last_error_->message() != reason.message()) {
    log::error("topic_failed", {{"mirror", parts_.mirror}, {"topic", name_}, {"error", core::explain(reason, parts_.context.advice)}});
  }
  if (!ready_) {
    for (const auto& partition : partitions_) partition->mirror.not_ready(reason);
  }
  last_error_ = std::move(reason);
}

// A topic that came back under its name is another topic: its records must not follow the old ones. One answer without it
// can be that of a broker that lags.
void topic_mirror::compare_with_source(const client::topic_info* source_topic) {
  if (!ready_ || gave_up_) return;
  const bool is_there = source_topic && source_topic->error_code == 0;
  refreshes_without_source_ = is_there ? 0 : refreshes_without_source_ + 1;
  if (!is_there && refreshes_without_source_ < 2) return;
  if (!is_there) {
    note_failure(fail(errc::not_found, fmt::format("source topic {} is deleted, or may not be read any more", name_)));
  } else if (!prepared_.source_topic.is_zero() && source_topic->id != prepared_.source_topic) {
    note_failure(fail(errc::diverged, fmt::format("source topic {} was deleted and created again: it was {}, now it is {}", name_,
                                                  prepared_.source_topic.text(), source_topic->id.text())));
  } else {
    return;
  }
  gave_up_ = true;
  for (const auto& partition : partitions_) partition->mirror.give_up(*last_error_);
}

void topic_mirror::compare_with_destination(const client::topic_info* destination_topic) {
  if (partitions_.empty() || !destination_topic || destination_topic->error_code != 0) return;
  if (destination_topic->id != destination_topic_) ready_ = false;
}

bool topic_mirror::may_restore_cleanup_policy() const {
  const std::string& wanted = prepared_.source_cleanup_policy;
  return ready_ && prepared_.cleanup_policy != wanted && wanted.find("compact") != std::string::npos &&
         std::all_of(partitions_.begin(), partitions_.end(), [](const auto& p) { return p->mirror.view().caught_up_once; });
}

bool topic_mirror::may_restore_settings() const {
  return desired_ == core::desired_state::stopped && !partitions_.empty() &&
         std::all_of(partitions_.begin(), partitions_.end(), [](const auto& p) { return p->mirror.view().state == partition_state::stopped; }) &&
         parts_.context.state.view().find(source_config_key{parts_.mirror, destination_topic_}).has_value();
}

bool topic_mirror::needs_tending(bool again) const {
  return ((again || !policy_refused_) && may_restore_cleanup_policy()) || ((again || !settings_refused_) && may_restore_settings());
}

asio::awaitable<void> topic_mirror::tend() {
  if (may_restore_cleanup_policy()) co_await restore_cleanup_policy();
  if (may_restore_settings()) co_await restore_settings();
}

asio::awaitable<void> topic_mirror::restore_cleanup_policy() {
  const std::string wanted = prepared_.source_cleanup_policy;
  topic_configs policy{{"cleanup.policy", wanted}};
  auto set = co_await alter_topic(parts_.context.destination, name_, std::move(policy));
  policy_refused_ = !set;
  if (set) {
    prepared_.cleanup_policy = wanted;
    log::info("cleanup_policy_restored", {{"mirror", parts_.mirror}, {"topic", name_}, {"cleanup.policy", wanted}});
  } else {
    log::warn("cleanup_policy_not_restored", {{"mirror", parts_.mirror}, {"topic", name_}, {"error", core::explain(set.error(), parts_.context.advice)}});
  }
}

asio::awaitable<void> topic_mirror::restore_settings() {
  source_config_key key{parts_.mirror, destination_topic_};
  const auto recorded = parts_.context.state.view().find(key);
  auto restored = co_await restore_topic_settings(parts_.context.destination, parts_.context.destination_admin, name_, *recorded);
  if (restored && desired_ == core::desired_state::stopped) restored = co_await parts_.context.state.erase(std::move(key));
  settings_refused_ = !restored;
  if (restored) {
    log::info("topic_stopped", {{"mirror", parts_.mirror}, {"topic", name_}, {"partitions", partitions_.size()}});
  } else {
    log::warn("topic_settings_not_restored", {{"mirror", parts_.mirror}, {"topic", name_}, {"error", core::explain(restored.error(), parts_.context.advice)}});
  }
}

topic_view topic_mirror::view() const {
  topic_view shown;
  shown.topic = name_;
  shown.desired = desired_;
  shown.last_error = last_error_;
  for (const auto& partition : partitions_) shown.partitions.emplace(partition->mirror.id().partition, partition->mirror.view());
  return shown;
}

}  // namespace mirrord::mirror
