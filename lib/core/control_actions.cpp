#include "core/control_actions.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace mirrord::core {
namespace {

using enum control_action;

constexpr std::array<std::pair<control_action, std::string_view>, std::size(all_control_actions)> words{{
    {start, "start"},
    {stop, "stop"},
    {pause, "pause"},
    {resume, "resume"},
    {recover, "recover"},
    {list, "list"},
    {describe, "describe"},
}};

constexpr control_decision want(desired_state wanted) { return {control_effect::want, wanted, {}}; }
constexpr control_decision try_again() { return {control_effect::recover, desired_state::mirroring, {}}; }
constexpr control_decision already(std::string_view what) { return {control_effect::nothing, desired_state::mirroring, what}; }
constexpr control_decision refuse(std::string_view why) { return {control_effect::refuse, desired_state::mirroring, why}; }

constexpr std::string_view failed_text = "is wanted mirrored already, but is FAILED: mend the cause, then --recover it";
constexpr std::string_view stopped_text = "is stopped: --start it, which mirrors it again if nothing was written to it since";

control_decision decide_start(const topic_situation& topic) {
  if (!topic.included) return refuse("is not one of the mirror's topics: change its topics.include or topics.exclude in the daemon's YAML file");
  switch (topic.desired) {
    case desired_state::mirroring: return topic.some_failed ? refuse(failed_text) : already("is mirrored already");
    case desired_state::paused: return refuse("is paused: --resume it");
    case desired_state::stopped: return want(desired_state::mirroring);  // its alignment decides
  }
  return {};
}

control_decision decide_stop(const topic_situation& topic) {
  if (topic.desired != desired_state::stopped) return want(desired_state::stopped);
  if (topic.all_stopped) return already("is stopped already");
  return topic.some_failed ? try_again() : already("is being stopped already");
}

control_decision decide_pause(const topic_situation& topic) {
  switch (topic.desired) {
    case desired_state::mirroring: return want(desired_state::paused);
    case desired_state::paused: return topic.some_failed ? try_again() : already("is paused already");
    case desired_state::stopped: return refuse(stopped_text);
  }
  return {};
}

control_decision decide_resume(const topic_situation& topic) {
  switch (topic.desired) {
    case desired_state::mirroring: return topic.some_failed ? refuse(failed_text) : already("is mirrored already");
    case desired_state::paused: return want(desired_state::mirroring);
    case desired_state::stopped: return refuse(stopped_text);
  }
  return {};
}

}  // namespace

std::string_view name(control_action action) noexcept {
  const auto found = std::find_if(words.begin(), words.end(), [&](const auto& row) { return row.first == action; });
  return found == words.end() ? std::string_view() : found->second;
}

std::optional<control_action> control_action_of(std::string_view word) noexcept {
  const auto found = std::find_if(words.begin(), words.end(), [&](const auto& row) { return row.second == word; });
  if (found == words.end()) return std::nullopt;
  return found->first;
}

bool is_change(control_action action) noexcept { return action != list && action != describe; }

std::optional<partition_state> aim_of(control_action action) noexcept {
  switch (action) {
    case start:
    case resume: return partition_state::mirroring;
    case stop: return partition_state::stopped;
    case pause: return partition_state::paused;
    case recover:
    case list:
    case describe: break;
  }
  return std::nullopt;
}

control_decision decide_control(control_action action, const topic_situation& topic) noexcept {
  switch (action) {
    case start: return decide_start(topic);
    case stop: return decide_stop(topic);
    case pause: return decide_pause(topic);
    case resume: return decide_resume(topic);
    case recover: return topic.some_failed ? try_again() : already("has nothing that is FAILED");
    case list:
    case describe: break;
  }
  return {};
}

}  // namespace mirrord::core
