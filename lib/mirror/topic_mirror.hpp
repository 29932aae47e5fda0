// One topic of a mirror: its partitions, and the settings that it has while it is mirrored and afterwards.
//
// Owned by mirror_manager. The partitions' coroutines run in the manager's task group, which is joined before this is
// destroyed.
#pragma once

#include "mirror/daemon_context.hpp"
#include "mirror/kafka_destination.hpp"
#include "mirror/kafka_producer_pool.hpp"
#include "mirror/partition_mirror.hpp"
#include "mirror/topic_preparation.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace mirrord::mirror {

struct topic_view {
  std::string topic;
  core::desired_state desired = core::desired_state::mirroring;
  std::optional<error> last_error;  // why it is not (wholly) mirrored
  std::map<std::int32_t, partition_view> partitions;
};

// What the topics of a mirror share; outlives them.
struct mirror_parts {
  daemon_context& context;
  const std::string& mirror;
  client::cluster& source;
  lane_table<fetch_lane>& fetch_lanes;
  destination_lanes& lanes;
  kafka_producer_pool& pool;
  client::task_group& tasks;
};

class topic_mirror {
 public:
  topic_mirror(mirror_parts parts, std::string name);
  ~topic_mirror();
  topic_mirror(const topic_mirror&) = delete;
  topic_mirror& operator=(const topic_mirror&) = delete;

  // As recorded by an earlier run: enough to pause and to stop it. Its partitions wait for run().
  void take_up(topic_id destination_topic, topic_id source_topic, std::int32_t partitions);

  // The topic is ready: all of its partitions are mirrored. Those of a destination topic that is no more have ended before.
  asio::awaitable<void> run(prepared_topic prepared);

  void want(core::desired_state desired);
  bool recover();
  void end();

  // It could not be prepared; told once for each new text.
  void note_failure(error reason);

  // Fails the partitions for good where the source's topic is gone, in two refreshes, or another one.
  void compare_with_source(const client::topic_info* source_topic);
  // A destination topic that was made anew is prepared anew.
  void compare_with_destination(const client::topic_info* destination_topic);

  // How often what is wanted has changed.
  [[nodiscard]] std::uint64_t wishes() const noexcept { return wishes_; }

  // What waits for its partitions: the cleanup policy once the history is copied, the source's own settings once all are
  // STOPPED. Tried again after a failure when `again` is set.
  [[nodiscard]] bool needs_tending(bool again) const;
  asio::awaitable<void> tend();

  [[nodiscard]] bool is_ready_for(std::size_t partitions) const { return ready_ && partitions_.size() >= partitions; }
  [[nodiscard]] topic_view view() const;

 private:
  struct running_partition;

  void open_partitions(topic_id destination_topic, topic_id source_topic, std::int32_t count);
  asio::awaitable<void> retire_partitions();
  void run_partitions();
  static asio::awaitable<void> run_to_end(running_partition& partition);
  [[nodiscard]] partition_options options() const;
  [[nodiscard]] bool may_restore_cleanup_policy() const;
  [[nodiscard]] bool may_restore_settings() const;
  asio::awaitable<void> restore_cleanup_policy();
  asio::awaitable<void> restore_settings();

  mirror_parts parts_;
  std::string name_;
  topic_id destination_topic_;
  prepared_topic prepared_;
  core::desired_state desired_ = core::desired_state::mirroring;
  std::optional<error> last_error_;
  std::uint64_t wishes_ = 0;
  int refreshes_without_source_ = 0;
  bool gave_up_ = false;  // the source's topic is gone or another one
  bool ready_ = false;
  bool policy_refused_ = false;
  bool settings_refused_ = false;
  std::vector<std::unique_ptr<running_partition>> partitions_;  // by partition number
};

}  // namespace mirrord::mirror
