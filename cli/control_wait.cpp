#include "control_wait.hpp"

#include <fmt/format.h>

#include <set>

namespace mirrord::cli {

using core::partition_state;

state_epochs state_epochs_of(const mirror::state_view& view, const std::string& mirror) {
  state_epochs epochs;
  for (const auto& [key, value] : view.list<mirror::partition_state_key>(mirror)) epochs[key] = value.state_epoch;
  return epochs;
}

wait_progress progress_of(const mirror::state_view& view, const std::string& mirror, const std::vector<awaited_topic>& topics, partition_state aim,
                          const state_epochs& before) {
  std::set<topic_id> mirrored;
  for (const auto& [key, value] : view.list<mirror::mirror_topic_key>(mirror)) mirrored.insert(key.destination_topic);
  wait_progress progress;
  for (const awaited_topic& topic : topics) {
    if (topic.partitions == 0 || !mirrored.contains(topic.id)) {
      // What was never mirrored has nothing to pause or to stop.
      if (aim == partition_state::mirroring) ++progress.unready;
      continue;
    }
    if (aim == partition_state::stopped && view.find(mirror::source_config_key{mirror, topic.id})) ++progress.unready;
    for (std::int32_t index = 0; index < topic.partitions; ++index) {
      const mirror::partition_state_key key{{mirror, topic.id, index}};
      const auto recorded = view.find(key);
      ++progress.partitions;
      if (!recorded) continue;
      if (recorded->state == aim) ++progress.reached;
      const auto old = before.find(key);
      const bool is_new = old == before.end() || recorded->state_epoch > old->second;
      if (recorded->state != partition_state::failed || !is_new) continue;
      ++progress.failed;
      const std::string why = fmt::format("{}-{}: {}", topic.name, index, recorded->error_message);
      if (recorded->retry_attempt == -1) progress.lost.push_back(why);
      else if (progress.first_failure.empty()) progress.first_failure = why;
    }
  }
  return progress;
}

std::string progress_text(const wait_progress& progress, partition_state aim) {
  std::string text = fmt::format("{} of {} partitions {}", progress.reached, progress.partitions, core::name(aim));
  if (progress.failed > 0) text += fmt::format(", {} FAILED", progress.failed);
  if (progress.unready > 0 && aim == partition_state::mirroring) text += fmt::format(", {} topic(s) not prepared yet", progress.unready);
  if (progress.unready > 0 && aim == partition_state::stopped) text += fmt::format(", settings of {} topic(s) not put in place yet", progress.unready);
  return text;
}

}  // namespace mirrord::cli
