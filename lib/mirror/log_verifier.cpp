#include "mirror/log_verifier.hpp"

#include "mirror/topic_settings.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace mirrord::mirror {
namespace {

constexpr std::size_t chunks_ahead = 1;  // of each side of a partition, besides the one that is read
constexpr std::string_view side_names[] = {"source", "destination"};
constexpr core::log_side sides[] = {core::log_side::source, core::log_side::destination};

std::string side_name(core::log_side side) { return std::string(side_names[static_cast<std::size_t>(side)]); }

error no_such_topic(const std::string& topic, const std::string& cluster) {
  return fail(errc::not_found, fmt::format("topic {} does not exist on the {}, or may not be described there", topic, cluster));
}

const client::topic_info* usable(const client::cluster& cluster, const std::string& topic) {
  const auto* info = cluster.metadata().find_topic(topic);
  return info != nullptr && info->error_code == 0 ? info : nullptr;
}

}  // namespace

log_verifier::log_verifier(asio::any_io_executor executor, const connection_settings& source, const connection_settings& destination, verify_options options)
    : executor_(std::move(executor)), options_(std::move(options)), pace_(options_.bytes_per_second) {
  clusters_.source = std::make_unique<client::cluster>(executor_, source);
  clusters_.destination = std::make_unique<client::cluster>(executor_, destination);
}

verify_progress log_verifier::progress() const {
  verify_progress now = progress_;
  now.bytes = pace_.bytes();
  for (const auto& item : works_) now.compared += item->compared;
  return now;
}

asio::awaitable<result<std::vector<verified_topic>>> log_verifier::run() {
  auto verified = co_await verify();
  co_await close();
  co_return verified;
}

asio::awaitable<void> log_verifier::close() {
  for (const auto side : sides) {
    if (admins_[side]) co_await admins_[side]->close();
    co_await clusters_[side]->close();
  }
}

asio::awaitable<result<std::vector<verified_topic>>> log_verifier::verify() {
  auto topics = co_await choose_topics();
  if (!topics) co_return std::move(topics.error());
  if (auto opened = open_admins(); !opened) co_return std::move(opened.error());
  for (verified_topic& topic : *topics) {
    auto ready = co_await prepare(topic);
    if (!ready) topic.failure = std::move(ready.error());
  }
  progress_.partitions = works_.size();
  co_await in_parallel(&log_verifier::read_bounds);
  for (const auto& item : works_) progress_.total += item->into->end - item->into->start;
  co_await in_parallel(&log_verifier::compare);
  co_return std::move(*topics);
}

asio::awaitable<result<std::vector<verified_topic>>> log_verifier::choose_topics() {
  auto filter = topic_filter::compile(options_.topics, options_.exclude);
  if (!filter) co_return std::move(filter.error());
  if (auto asked = co_await clusters_.destination->refresh_all(); !asked) co_return std::move(asked.error()).within("destination");
  std::vector<std::string> names;
  for (const auto& [name, info] : clusters_.destination->metadata().topics()) {
    if (info.error_code == 0 && filter->matches(name)) names.push_back(name);
  }
  std::vector<verified_topic> topics(names.size());
  for (std::size_t i = 0; i < names.size(); ++i) topics[i].name = names[i];
  for (const auto& name : filter->included_names()) {
    if (usable(*clusters_.destination, name) != nullptr || filter->decide(name) != topic_verdict::included) continue;
    verified_topic missing;
    missing.name = name;
    missing.failure = no_such_topic(name, "destination");
    topics.push_back(std::move(missing));
  }
  if (topics.empty()) co_return fail(errc::not_found, fmt::format("no topic on the destination matches {}", fmt::join(options_.topics, ", ")));
  if (auto asked = co_await clusters_.source->refresh(std::move(names)); !asked) co_return std::move(asked.error()).within("source");
  if (clusters_.source->metadata().cluster_id() == clusters_.destination->metadata().cluster_id()) {
    co_return fail(errc::invalid, "source and destination are the same cluster: check bootstrap.servers of the source config");
  }
  co_return topics;
}

result<void> log_verifier::open_admins() {
  for (const auto side : sides) {
    auto opened = client::admin::open(executor_, clusters_[side]->settings(), side_name(side));
    if (!opened) return std::move(opened.error());
    admins_[side] = std::move(*opened);
  }
  return {};
}

asio::awaitable<result<void>> log_verifier::prepare(verified_topic& topic) {
  if (topic.failure) co_return std::move(*topic.failure);
  const auto* on_source = usable(*clusters_.source, topic.name);
  if (on_source == nullptr) co_return no_such_topic(topic.name, "source");
  topic.source_partitions = static_cast<std::int32_t>(on_source->partitions.size());
  topic.destination_partitions = static_cast<std::int32_t>(usable(*clusters_.destination, topic.name)->partitions.size());
  auto policy = co_await read_policy(topic.name);
  if (!policy) co_return std::move(policy.error());
  topic.partitions.resize(static_cast<std::size_t>(std::min(topic.source_partitions, topic.destination_partitions)));
  for (std::size_t i = 0; i < topic.partitions.size(); ++i) {
    topic.partitions[i].tp = {topic.name, static_cast<std::int32_t>(i)};
    auto item = std::make_unique<work>();
    item->policy = *policy;
    item->into = &topic.partitions[i];
    works_.push_back(std::move(item));
  }
  co_return result<void>{};
}

asio::awaitable<result<log_verifier::topic_policy>> log_verifier::read_policy(std::string topic) {
  topic_policy policy;
  for (const auto side : sides) {
    const auto until = std::chrono::steady_clock::now() + clusters_[side]->settings().request_timeout;
    auto configs = co_await admins_[side]->describe_topic_configs(topic, until);
    if (!configs) co_return std::move(configs.error());
    if (value_of(*configs, "cleanup.policy").find("compact") != std::string::npos) policy.compacted = true;
    policy.tombstones_expire_before[side] = clock_.wall_ms() - number_of(*configs, "delete.retention.ms", 0);
  }
  co_return policy;
}

// As many coroutines as may work at once take one partition after the other, each with connections of its own.
asio::awaitable<void> log_verifier::in_parallel(asio::awaitable<void> (log_verifier::*act)(work&, std::int32_t)) {
  next_ = 0;
  client::task_group workers(executor_);
  for (std::size_t i = 0; i < std::min(options_.partitions_at_once, works_.size()); ++i) {
    workers.spawn(take_turns(act, static_cast<std::int32_t>(i)));
  }
  (void)co_await workers.join();
}

asio::awaitable<void> log_verifier::take_turns(asio::awaitable<void> (log_verifier::*act)(work&, std::int32_t), std::int32_t index) {
  while (next_ < works_.size()) {
    work& item = *works_[next_++];
    co_await (this->*act)(item, index);
  }
}

partition_reader log_verifier::reader(core::log_side side, const topic_partition& tp, std::int32_t connection_index) {
  return partition_reader({*clusters_[side], clock_, random_, pace_, patience_[side], connection_index, side_name(side),
                           [this](std::string trouble) { progress_.trouble = std::move(trouble); }},
                          tp);
}

asio::awaitable<void> log_verifier::read_bounds(work& item, std::int32_t connection_index) {
  verified_partition& into = *item.into;
  // The destination first: what it has by then, the source has.
  for (const auto side : {core::log_side::destination, core::log_side::source}) {
    auto reading = reader(side, into.tp, connection_index);
    auto bounds = co_await reading.bounds();
    if (!bounds) {
      into.failure = std::move(bounds.error());
      co_return;
    }
    item.bounds[side] = *bounds;
  }
  const auto& source = item.bounds.source;
  const auto& destination = item.bounds.destination;
  into.end = std::min(source.high_watermark, destination.high_watermark);
  into.start = std::min(std::max(source.start, destination.start), into.end);
  into.behind = std::max<std::int64_t>(source.high_watermark - destination.high_watermark, 0);
  into.start_behind = std::max<std::int64_t>(std::min(source.start, destination.high_watermark) - destination.start, 0);
}

asio::awaitable<void> log_verifier::compare(work& item, std::int32_t connection_index) {
  verified_partition& into = *item.into;
  if (!into.failure) {
    core::comparison_rules rules;
    rules.bounds = item.bounds;
    rules.compacted = item.policy.compacted;
    rules.tombstones_expire_before = item.policy.tombstones_expire_before;
    core::log_comparison comparison(std::move(rules));
    auto compared = co_await compare_logs(item, comparison, connection_index);
    if (compared) comparison.finish();
    else into.failure = std::move(compared.error());
    into.differences = comparison.differences();
    into.difference_count = comparison.difference_count();
    into.start = comparison.start();
    into.compared = comparison.position() - comparison.start();
  }
  ++progress_.partitions_done;
}

asio::awaitable<result<void>> log_verifier::compare_logs(work& item, core::log_comparison& comparison, std::int32_t connection_index) {
  using chunk_queue = bounded_queue<result<read_chunk>>;
  core::both_sides<std::unique_ptr<chunk_queue>> queues;
  core::both_sides<std::unique_ptr<partition_reader>> readers;
  client::task_group reading(executor_);
  for (const auto side : sides) {
    queues[side] = std::make_unique<chunk_queue>(executor_, chunks_ahead);
    readers[side] = std::make_unique<partition_reader>(reader(side, item.into->tp, connection_index));
    reading.spawn(readers[side]->read(comparison.start(), comparison.end(), *queues[side]));
  }
  const std::int64_t began = comparison.start();
  result<void> outcome;
  while (outcome && !comparison.done()) {
    // The side that is known less far holds the comparison up.
    const bool source_lags = comparison.known_to(core::log_side::source) <= comparison.known_to(core::log_side::destination);
    const auto side = source_lags ? core::log_side::source : core::log_side::destination;
    auto chunk = co_await queues[side]->pop();
    if (!chunk) {
      outcome = fail(errc::malformed, fmt::format("{}: the {} ended early", item.into->tp.text(), side_name(side)));
    } else if (!*chunk) {
      outcome = std::move(chunk->error());
    } else {
      const read_chunk& got = **chunk;
      if (got.batches.empty() && got.from > comparison.known_to(side)) comparison.skip_to(got.from);
      for (const auto& batch : got.batches) comparison.add(side, batch, got.owner);
      comparison.nothing_before(side, got.known_to);
      outcome = comparison.advance();
      item.compared = comparison.position() - began;
    }
  }
  for (const auto side : sides) {
    queues[side]->close();
    queues[side]->discard();
  }
  (void)co_await reading.join();
  co_return outcome;
}

}  // namespace mirrord::mirror
