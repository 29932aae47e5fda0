// How far topics are on their way to the state that was asked for, from the records of __mirror_state. Pure.
#pragma once

#include "core/partition_state.hpp"
#include "mirror/state_view.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace mirrord::cli {

// A topic of the destination that has to come to a state.
struct awaited_topic {
  std::string name;
  topic_id id;
  std::int32_t partitions = 0;  // 0: it does not exist
};

struct wait_progress {
  int partitions = 0;
  int reached = 0;
  int failed = 0;
  int unready = 0;                 // topics that are not there yet, or whose own settings are not put in place yet
  std::vector<std::string> lost;   // "topic-3: why": FAILED until a person acts
  std::string first_failure;       // of one that is tried again
  [[nodiscard]] bool is_done() const noexcept { return reached == partitions && unready == 0; }
  friend bool operator==(const wait_progress&, const wait_progress&) = default;
};

using state_epochs = std::map<mirror::partition_state_key, std::int32_t>;

// The newest record of each partition, to tell a failure of before from a new one.
[[nodiscard]] state_epochs state_epochs_of(const mirror::state_view& view, const std::string& mirror);

[[nodiscard]] wait_progress progress_of(const mirror::state_view& view, const std::string& mirror, const std::vector<awaited_topic>& topics,
                                        core::partition_state aim, const state_epochs& before);

// "37 of 150 partitions STOPPED, 1 FAILED"
[[nodiscard]] std::string progress_text(const wait_progress& progress, core::partition_state aim);

}  // namespace mirrord::cli
