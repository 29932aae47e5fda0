// One mirror: keeps what runs equal to what is wanted. Every refresh it looks at the source's topics, prepares those
// that pass the filter and are not mirrored yet, and runs a partition_mirror for each of their partitions.
//
// Owned by the daemon's app, which owns the destination side that all mirrors share. One failing topic never stops
// another. Stop order: run() ends the partitions (each hands over), then the lanes, then the source's connections.
#pragma once

#include "client/admin.hpp"
#include "client/backoff.hpp"
#include "client/cluster.hpp"
#include "core/error_table.hpp"
#include "mirror/destination_check.hpp"
#include "mirror/fetch_lane.hpp"
#include "mirror/kafka_destination.hpp"
#include "mirror/kafka_producer_pool.hpp"
#include "mirror/partition_mirror.hpp"
#include "mirror/state_store.hpp"
#include "settings/settings.hpp"
#include "settings/topic_filter.hpp"

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace mirrord::mirror {

// What all mirrors of the daemon share; outlives them.
struct daemon_context {
  asio::any_io_executor executor;
  const settings& configuration;
  client::cluster& destination;
  client::admin& destination_admin;
  state_store& state;
  clock_port& clock;
  random_port& random;
  write_lease& lease;
  std::shared_ptr<fetch_budget> budget;
  std::string instance;
  core::advice_names advice;
};

struct topic_view {
  std::string topic;
  std::optional<error> last_error;  // why it is not (wholly) mirrored
  std::map<std::int32_t, partition_view> partitions;
};

struct mirror_view {
  std::string name;
  std::string source_cluster_id;    // empty: not heard yet
  std::optional<error> last_error;  // of the last refresh
  std::vector<topic_view> topics;
};

class mirror_manager {
 public:
  // `number` tells this daemon's mirrors apart where they share brokers.
  [[nodiscard]] static result<std::unique_ptr<mirror_manager>> open(daemon_context context, mirror_settings settings, int number);
  ~mirror_manager();
  mirror_manager(const mirror_manager&) = delete;
  mirror_manager& operator=(const mirror_manager&) = delete;

  // Until stop(); everything of this mirror has ended when it returns.
  asio::awaitable<void> run();

  void stop();

  // Ends every connection of the source side at once: for a stop that takes too long.
  asio::awaitable<void> abandon();

  // Cuts the connections to the source, which are made anew when they are needed.
  void drop_connections();

  [[nodiscard]] mirror_view view() const;

 private:
  struct running_partition;
  struct mirrored_topic;

  mirror_manager(daemon_context context, mirror_settings settings, topic_filter filter, std::unique_ptr<client::admin> source_admin, int number);

  asio::awaitable<result<void>> refresh();
  asio::awaitable<result<void>> check_clusters();
  asio::awaitable<void> prepare_and_run(std::string topic);
  asio::awaitable<void> restore_cleanup_policy(mirrored_topic& topic);
  void compare_with_source(mirrored_topic& topic);
  void note_missing_topics();
  void run_partitions(mirrored_topic& topic, bool fresh, std::int64_t batch_bytes_max);
  asio::awaitable<void> wait_for_next_refresh(bool failed);

  daemon_context context_;
  mirror_settings settings_;
  topic_filter filter_;
  std::unique_ptr<client::admin> source_admin_;
  client::cluster source_;
  lane_table<fetch_lane> fetch_lanes_;
  destination_lanes destination_lanes_;
  kafka_producer_pool pool_;
  std::map<std::string, std::unique_ptr<mirrored_topic>> topics_;
  std::set<std::string> missing_topics_;  // named in topics.include, but not on the source
  std::optional<destination_traits> traits_;
  std::optional<error> last_error_;
  client::backoff refresh_backoff_;
  std::uint64_t refreshes_ = 0;
  bool stopping_ = false;
  client::task_group partitions_;  // last: its tasks use all of the above
};

}  // namespace mirrord::mirror
