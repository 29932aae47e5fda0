#include "status_view.hpp"

#include <algorithm>

namespace mirrord {
namespace {

std::optional<std::int64_t> known(std::int64_t offset) { return offset < 0 ? std::nullopt : std::optional(offset); }

std::optional<observe::status_error> shown(const std::optional<error>& e, const core::advice_names& advice) {
  if (!e) return std::nullopt;
  return describe_error(*e, advice);
}

observe::partition_status describe_partition(std::int32_t index, const mirror::partition_view& view, const core::advice_names& advice) {
  observe::partition_status status;
  status.partition = index;
  status.state = core::name(view.state);
  status.source_start = known(view.source_start);
  status.source_end = known(view.source_end);
  status.destination_start = known(view.destination_start);
  status.destination_end = known(view.destination_end);
  status.records = view.records;
  status.bytes = view.bytes;
  status.batches_forwarded = view.batches_forwarded;
  status.batches_reencoded = view.batches_reencoded;
  status.filler = view.filler;
  status.retry_attempt = view.retry_attempt;
  status.last_error = shown(view.last_error, advice);
  return status;
}

// The state of a whole: FAILED where a part is, what all parts are where they agree.
template <class Parts>
std::string state_of(const Parts& parts, bool failed) {
  using core::partition_state;
  const auto state_name = [](partition_state state) { return std::string(core::name(state)); };
  const bool same = !parts.empty() && std::all_of(parts.begin(), parts.end(), [&](const auto& part) { return part.state == parts.front().state; });
  for (const auto& part : parts) failed = failed || part.state == state_name(partition_state::failed);
  if (failed) return state_name(partition_state::failed);
  return same ? parts.front().state : state_name(partition_state::preparing);
}

}  // namespace

observe::status_error describe_error(const error& e, const core::advice_names& advice) {
  return {std::string(name(e.code)), core::explain(e, advice)};
}

observe::mirror_status describe_mirror(const mirror::mirror_view& view, const core::advice_names& advice) {
  observe::mirror_status status;
  status.name = view.name;
  status.source_cluster_id = view.source_cluster_id;
  status.last_error = shown(view.last_error, advice);
  for (const mirror::topic_view& topic : view.topics) {
    observe::topic_status topic_status;
    topic_status.topic = topic.topic;
    topic_status.mirror_name = view.name + std::string(core::suffix_of(topic.desired));
    topic_status.last_error = shown(topic.last_error, advice);
    for (const auto& [index, partition] : topic.partitions) topic_status.partitions.push_back(describe_partition(index, partition, advice));
    topic_status.state = state_of(topic_status.partitions, topic.last_error.has_value());
    status.topics.push_back(std::move(topic_status));
  }
  status.state = state_of(status.topics, view.last_error.has_value());
  return status;
}

}  // namespace mirrord
