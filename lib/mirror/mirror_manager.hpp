// One mirror: keeps what runs equal to what is wanted. Every refresh it looks at the source's topics, prepares those
// that pass the filter and are not mirrored yet, and runs a partition_mirror for each of their partitions.
//
// Topics that are recorded from an earlier run are taken up before the source has answered, so that they can be paused and
// stopped while it is down. Owned by the daemon's app, which owns the destination side that all mirrors share. One failing
// topic never stops another. Stop order: run() ends the partitions (each hands over), then the lanes, then the source's
// connections.
#pragma once

#include "client/backoff.hpp"
#include "mirror/daemon_context.hpp"
#include "mirror/destination_check.hpp"
#include "mirror/kafka_producer_pool.hpp"
#include "mirror/topic_mirror.hpp"
#include "settings/topic_filter.hpp"

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace mirrord::mirror {

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

  // Until end(); everything of this mirror has ended when it returns.
  asio::awaitable<void> run();

  void end();

  // Ends every connection of the source side at once: for an end that takes too long.
  asio::awaitable<void> abandon();

  // Cuts the connections to the source, which are made anew when they are needed.
  void drop_connections();

  [[nodiscard]] const std::string& name() const noexcept { return settings_.name; }
  [[nodiscard]] mirror_view view() const;

  // What is wanted of a topic: as recorded, or else to be mirrored.
  [[nodiscard]] core::desired_state desired_of(const std::string& topic) const;

  // Whether topics.include and topics.exclude make the topic one of this mirror's.
  [[nodiscard]] topic_verdict verdict_on(const std::string& topic) const { return filter_.decide(topic); }

  // Records the wish, and acts on it at once. `changed_by` is for people who look at the record.
  asio::awaitable<result<void>> set_desired(std::string topic, core::desired_state desired, std::string changed_by);

  // Whether some partition of the topic was FAILED and is tried again now.
  bool recover(const std::string& topic);

  // A wish of this mirror was recorded by another daemon.
  void follow_desired(const std::string& topic);

 private:
  mirror_manager(daemon_context context, mirror_settings settings, topic_filter filter, std::unique_ptr<client::admin> source_admin, int number);

  asio::awaitable<void> take_up_known_topics();
  asio::awaitable<result<void>> refresh();
  asio::awaitable<result<void>> check_clusters();
  asio::awaitable<void> read_source_memory();
  asio::awaitable<void> prepare_and_run(std::string topic);
  void note_missing_topics();
  asio::awaitable<void> wait_for_next_refresh(bool failed);
  asio::awaitable<void> tend_topics(bool again);
  [[nodiscard]] topic_mirror& topic_at(const std::string& name);

  daemon_context context_;
  mirror_settings settings_;
  topic_filter filter_;
  std::unique_ptr<client::admin> source_admin_;
  client::cluster source_;
  lane_table<fetch_lane> fetch_lanes_;
  destination_lanes destination_lanes_;
  kafka_producer_pool pool_;
  std::map<std::string, std::unique_ptr<topic_mirror>> topics_;
  source_memory memory_;
  std::set<std::string> missing_topics_;  // named in topics.include, but not on the source
  std::optional<destination_traits> traits_;
  std::optional<error> last_error_;
  client::backoff refresh_backoff_;
  bool refresh_asked_ = false;
  bool ending_ = false;
  client::task_group partitions_;  // last: its tasks use all of the above
};

}  // namespace mirrord::mirror
