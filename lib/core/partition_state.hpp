// The states of a mirrored partition, which may follow which, and what is to be done next.
//
//                      +--------------- start ---------------+
//                      v                                     |
//   UNKNOWN ---> PREPARING ---> MIRRORING ---> PAUSING ---> PAUSED      STOPPED
//                   |    ^          |   ^         |           |           ^
//                   |    |          |   +---------|-- resume -+           |
//                   +----|----------+-------------+-----------+-> STOPPING
//                        |                                          |
//   any ---> FAILED -----+  (back to what failed)                   +---> STOPPED
//
//   UNKNOWN    nothing is recorded yet
//   PREPARING  topic and position are being proved; left when the copy may go on
//   MIRRORING  the source's offsets are copied
//   PAUSING    what is under way is brought to rest
//   PAUSED     nothing is read or written
//   STOPPING   open transactions are aborted, then the reset marker is written
//   STOPPED    an ordinary topic again; the mirror never touches it until it is started anew
//   FAILED     with the state that failed; retried, or waiting for a person
//
// Names are those of KIP-1279 as first published; PREPARING is called LOG_ALIGNMENT in its later versions. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace mirrord::core {

// The numbers are recorded in `__mirror_state`. They are the KIP's newest; 1 and 2 stand there for states that need a
// broker's help and do not occur here.
enum class partition_state : std::int8_t {
  unknown = -1,
  preparing = 0,
  mirroring = 3,
  pausing = 4,
  paused = 5,
  stopping = 6,
  stopped = 7,
  failed = 8,
};

inline constexpr partition_state all_partition_states[] = {
    partition_state::unknown, partition_state::preparing, partition_state::mirroring, partition_state::pausing,
    partition_state::paused,  partition_state::stopping,  partition_state::stopped,   partition_state::failed,
};

[[nodiscard]] std::string_view name(partition_state state) noexcept;
[[nodiscard]] std::optional<partition_state> partition_state_of(std::string_view name) noexcept;
[[nodiscard]] std::optional<partition_state> partition_state_of(std::int8_t number) noexcept;

// Whether `to` may be recorded after `from`. Staying in a state is always right: its action is repeated.
[[nodiscard]] bool may_follow(partition_state from, partition_state to) noexcept;

// What a person wants of a topic; the value of `mirror.name` says it.
enum class desired_state : std::uint8_t { mirroring, paused, stopped };

struct mirror_name_value {
  std::string_view mirror;
  desired_state desired = desired_state::mirroring;
};

// "<mirror>", "<mirror>.paused", "<mirror>.stopped". The suffix ".removed" of older texts is read as ".stopped".
[[nodiscard]] mirror_name_value parse_mirror_name(std::string_view value) noexcept;
[[nodiscard]] std::string_view suffix_of(desired_state desired) noexcept;

// The state whose action is to be run next, given what is recorded and wanted. `failed_in` is the state that failed.
// A partition that is STOPPED stays so while it is wanted stopped; wanted again, it is prepared from the beginning.
[[nodiscard]] partition_state decide_next(partition_state recorded, partition_state failed_in, desired_state desired) noexcept;

}  // namespace mirrord::core
