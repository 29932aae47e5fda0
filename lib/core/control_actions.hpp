// What an operator can ask of a mirror, and what follows for one topic: one decision table.
//
// Gentler than KIP-1279, which refuses a whole request where one topic is in another state than it expects: each topic is
// decided for itself, what is so already is a success, and a stop is taken in every state. A refusal says what to do
// instead. Pure; who carries it out is mirror/control_desk.
#pragma once

#include "core/partition_state.hpp"

#include <cstdint>
#include <optional>
#include <string_view>

namespace mirrord::core {

enum class control_action : std::uint8_t { start, stop, pause, resume, recover, list, describe };

inline constexpr control_action all_control_actions[] = {
    control_action::start,   control_action::stop, control_action::pause,    control_action::resume,
    control_action::recover, control_action::list, control_action::describe,
};

// A flag of request records: say what would be done, and do nothing.
inline constexpr std::string_view dry_run_flag = "dry-run";

// The word of the command line and of request records.
[[nodiscard]] std::string_view name(control_action action) noexcept;
[[nodiscard]] std::optional<control_action> control_action_of(std::string_view word) noexcept;

// Whether the action changes anything; list and describe do not.
[[nodiscard]] bool is_change(control_action action) noexcept;

// What a change leads to for whoever waits: the state that all partitions come to. None for recover, which goes back to
// whatever failed.
[[nodiscard]] std::optional<partition_state> aim_of(control_action action) noexcept;

struct topic_situation {
  desired_state desired = desired_state::mirroring;
  bool all_stopped = false;  // it has partitions, and all of them are STOPPED
  bool some_failed = false;  // a partition, or the topic as a whole
  bool included = true;      // by topics.include and topics.exclude of the mirror; of interest for start only
};

enum class control_effect : std::uint8_t {
  want,     // record `wanted`
  recover,  // try again what is FAILED
  nothing,  // it is so already
  refuse,
};

struct control_decision {
  control_effect effect = control_effect::nothing;
  desired_state wanted = desired_state::mirroring;  // where the effect is `want`
  std::string_view text;                            // what is so already, or why not and what to do
  friend bool operator==(const control_decision&, const control_decision&) = default;
};

[[nodiscard]] control_decision decide_control(control_action action, const topic_situation& topic) noexcept;

}  // namespace mirrord::core
