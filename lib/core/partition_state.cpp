#include "core/partition_state.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace mirrord::core {
namespace {

using enum partition_state;

struct transition {
  partition_state from;
  partition_state to;
};

// FAILED may follow every state and, on a retry or a recovery, go back to any of those with an action. It is not
// listed. PAUSED and STOPPED may be followed by PREPARING: the position is proved again before anything is written.
constexpr std::array transitions{
    transition{unknown, preparing},
    transition{unknown, pausing},   // paused before it was ever looked at
    transition{unknown, stopping},
    transition{preparing, mirroring},
    transition{preparing, pausing},
    transition{preparing, stopping},
    transition{mirroring, preparing},
    transition{mirroring, pausing},
    transition{mirroring, stopping},
    transition{pausing, paused},
    transition{pausing, mirroring},  // resumed before it came to rest
    transition{pausing, stopping},
    transition{paused, preparing},
    transition{paused, mirroring},
    transition{paused, stopping},
    transition{stopping, stopped},
    transition{stopped, preparing},
};

constexpr std::array<std::pair<partition_state, std::string_view>, std::size(all_partition_states)> names{{
    {unknown, "UNKNOWN"},
    {preparing, "PREPARING"},
    {mirroring, "MIRRORING"},
    {pausing, "PAUSING"},
    {paused, "PAUSED"},
    {stopping, "STOPPING"},
    {stopped, "STOPPED"},
    {failed, "FAILED"},
}};

constexpr std::string_view paused_suffix = ".paused";
constexpr std::string_view stopped_suffix = ".stopped";
constexpr std::string_view removed_suffix = ".removed";

}  // namespace

std::string_view name(partition_state state) noexcept {
  const auto found = std::find_if(names.begin(), names.end(), [&](const auto& row) { return row.first == state; });
  return found == names.end() ? "UNKNOWN" : found->second;
}

std::optional<partition_state> partition_state_of(std::string_view text) noexcept {
  const auto found = std::find_if(names.begin(), names.end(), [&](const auto& row) { return row.second == text; });
  if (found == names.end()) return std::nullopt;
  return found->first;
}

std::optional<partition_state> partition_state_of(std::int8_t number) noexcept {
  const auto found = std::find_if(names.begin(), names.end(), [&](const auto& row) { return static_cast<std::int8_t>(row.first) == number; });
  if (found == names.end()) return std::nullopt;
  return found->first;
}

bool may_follow(partition_state from, partition_state to) noexcept {
  if (from == to || to == failed) return true;
  if (to == unknown) return false;
  if (from == failed) return true;
  return std::any_of(transitions.begin(), transitions.end(), [&](const transition& t) { return t.from == from && t.to == to; });
}

mirror_name_value parse_mirror_name(std::string_view value) noexcept {
  const auto strip = [&](std::string_view suffix) {
    if (!value.ends_with(suffix)) return false;
    value.remove_suffix(suffix.size());
    return true;
  };
  if (strip(paused_suffix)) return {value, desired_state::paused};
  if (strip(stopped_suffix) || strip(removed_suffix)) return {value, desired_state::stopped};
  return {value, desired_state::mirroring};
}

std::string_view suffix_of(desired_state desired) noexcept {
  switch (desired) {
    case desired_state::mirroring: return "";
    case desired_state::paused: return paused_suffix;
    case desired_state::stopped: return stopped_suffix;
  }
  return "";
}

partition_state decide_next(partition_state recorded, partition_state failed_in, desired_state desired) noexcept {
  const partition_state now = recorded == failed ? failed_in : recorded;
  switch (desired) {
    case desired_state::stopped: return now == stopped ? stopped : stopping;
    case desired_state::paused:
      // Once begun, a stop is brought to its end: transactions may be aborted already.
      if (now == stopping) return stopping;
      return now == paused || now == stopped ? now : pausing;
    case desired_state::mirroring:
      if (now == stopping) return stopping;
      return now == mirroring || now == paused || now == pausing ? mirroring : preparing;
  }
  return now;
}

}  // namespace mirrord::core
