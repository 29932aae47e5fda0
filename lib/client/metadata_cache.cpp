#include "client/metadata_cache.hpp"

#include "base/broker_error.hpp"

#include <limits>
#include <set>

namespace mirrord::client {

namespace {

// On clusters without topic ids a topic that was deleted and created anew starts again at a low epoch under the same
// name, which looks like an old answer. Nobody stays behind for this many answers in a row.
constexpr std::uint8_t older_answers_max = 3;

result<void> check(const wire::metadata_response& answer) {
  for (const auto& b : answer.brokers) {
    if (b.port >= 1 && b.port <= std::numeric_limits<std::uint16_t>::max()) continue;
    return fail(errc::malformed, "metadata: broker " + std::to_string(b.node_id) + " has port " + std::to_string(b.port));
  }
  for (const auto& t : answer.topics) {
    std::vector<bool> seen(t.partitions.size());
    for (const auto& p : t.partitions) {
      const auto index = static_cast<std::size_t>(p.partition_index);
      if (p.partition_index < 0 || index >= seen.size() || seen[index]) {
        return fail(errc::malformed, "metadata: topic " + t.name + " has " + std::to_string(seen.size()) + " partitions and one of number " +
                                         std::to_string(p.partition_index));
      }
      seen[index] = true;
    }
  }
  return {};
}

void merge(partition_info& known, const wire::metadata_response_partition& said, bool has_topic_id) {
  const bool older = said.leader_epoch < known.leader_epoch;
  if (older && (has_topic_id || ++known.older_answers < older_answers_max)) return;
  known = partition_info{said.error_code, said.leader_id, said.leader_epoch, said.replica_nodes, said.isr_nodes, false, 0};
}

void merge(topic_info& known, const wire::metadata_response_topic& said) {
  if (said.error_code != 0) {
    known.error_code = said.error_code;
    // Without ids a topic that is gone takes its epochs with it; with ids a broker that lags may not know it yet.
    if (known.id.is_zero() && is(said.error_code, kafka_error::unknown_topic_or_partition)) known.partitions.clear();
    return;
  }
  if (said.topic_id != known.id) known = topic_info{};
  known.error_code = 0;
  known.id = said.topic_id;
  known.is_internal = said.is_internal;
  // Partitions are never taken away from a topic, so fewer of them are an older answer.
  if (said.partitions.size() > known.partitions.size()) known.partitions.resize(said.partitions.size());
  for (const auto& p : said.partitions) merge(known.partitions[static_cast<std::size_t>(p.partition_index)], p, !said.topic_id.is_zero());
}

}  // namespace

result<void> metadata_cache::apply(const wire::metadata_response& answer, bool all_topics) {
  if (auto sound = check(answer); !sound) return sound;
  if (answer.cluster_id && !answer.cluster_id->empty()) {
    if (!cluster_id_.empty() && *answer.cluster_id != cluster_id_) {
      return fail(errc::invalid, "metadata: this is cluster " + *answer.cluster_id + ", it was " + cluster_id_ +
                                     " before: the address now leads to another cluster");
    }
    cluster_id_ = *answer.cluster_id;
  }
  brokers_.clear();
  for (const auto& b : answer.brokers) brokers_[broker_id{b.node_id}] = broker_info{{b.host, static_cast<std::uint16_t>(b.port)}, b.rack};
  controller_ = answer.controller_id < 0 ? std::nullopt : std::optional(broker_id{answer.controller_id});

  std::set<std::string> seen;
  for (const auto& t : answer.topics) {
    if (t.name.empty()) continue;
    seen.insert(t.name);
    merge(topics_[t.name], t);
  }
  if (!all_topics) return {};
  // The first time a topic is missing it is only marked, so that one broker that lags does not cost us its epochs.
  std::erase_if(topics_, [&](const auto& entry) {
    return !seen.contains(entry.first) && is(entry.second.error_code, kafka_error::unknown_topic_or_partition);
  });
  for (auto& [name, topic] : topics_) {
    if (!seen.contains(name)) topic.error_code = code_of(kafka_error::unknown_topic_or_partition);
  }
  return {};
}

const topic_info* metadata_cache::find_topic(const std::string& name) const {
  const auto found = topics_.find(name);
  return found == topics_.end() ? nullptr : &found->second;
}

const partition_info* metadata_cache::find_partition(const topic_partition& tp) const {
  const topic_info* topic = find_topic(tp.topic);
  if (!topic || topic->error_code != 0 || tp.partition < 0 || static_cast<std::size_t>(tp.partition) >= topic->partitions.size()) return nullptr;
  return &topic->partitions[static_cast<std::size_t>(tp.partition)];
}

result<leader> metadata_cache::find_leader(const topic_partition& tp) const {
  const topic_info* topic = find_topic(tp.topic);
  if (topic && topic->error_code != 0 && !is(topic->error_code, kafka_error::unknown_topic_or_partition)) {
    return broker_failure(topic->error_code, "leader of " + tp.text());
  }
  const partition_info* partition = find_partition(tp);
  if (!partition) {
    error missing = fail(errc::not_found, "leader of " + tp.text() + ": the cluster does not know this partition");
    missing.broker_code = code_of(kafka_error::unknown_topic_or_partition);
    return missing;
  }
  if (partition->leader_id < 0) {
    const auto code = partition->error_code != 0 ? partition->error_code : code_of(kafka_error::leader_not_available);
    return broker_failure(code, "leader of " + tp.text());
  }
  return leader{broker_id{partition->leader_id}, partition->leader_epoch};
}

void metadata_cache::leader_moved(const topic_partition& tp, std::int32_t epoch) {
  const auto topic = topics_.find(tp.topic);
  if (topic == topics_.end() || tp.partition < 0 || static_cast<std::size_t>(tp.partition) >= topic->second.partitions.size()) return;
  partition_info& partition = topic->second.partitions[static_cast<std::size_t>(tp.partition)];
  if (partition.leader_epoch <= epoch) partition.moved = true;
}

bool metadata_cache::is_fresh(const topic_partition& tp) const {
  const partition_info* partition = find_partition(tp);
  return partition && partition->leader_id >= 0 && !partition->moved;
}

}  // namespace mirrord::client
