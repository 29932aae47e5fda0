#include "status_view.hpp"

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
  status.state = mirror::name(view.phase);
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

// The state of a whole: failed where a part is, mirroring where all parts are.
template <class Parts>
std::string state_of(const Parts& parts, bool failed) {
  const auto state_name = [](mirror::partition_phase phase) { return std::string(mirror::name(phase)); };
  bool all_mirroring = !parts.empty();
  for (const auto& part : parts) {
    failed = failed || part.state == state_name(mirror::partition_phase::failed);
    all_mirroring = all_mirroring && part.state == state_name(mirror::partition_phase::mirroring);
  }
  if (failed) return state_name(mirror::partition_phase::failed);
  return state_name(all_mirroring ? mirror::partition_phase::mirroring : mirror::partition_phase::preparing);
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
    topic_status.last_error = shown(topic.last_error, advice);
    for (const auto& [index, partition] : topic.partitions) topic_status.partitions.push_back(describe_partition(index, partition, advice));
    topic_status.state = state_of(topic_status.partitions, topic.last_error.has_value());
    status.topics.push_back(std::move(topic_status));
  }
  status.state = state_of(status.topics, view.last_error.has_value());
  return status;
}

}  // namespace mirrord
