// Compares topics of two clusters offset by offset: which topics, where both logs begin and end, then partition by
// partition, several at once.
//
// Owned by the command that asks. Reads only: Fetch, ListOffsets, Metadata and DescribeConfigs. Both sides are compared
// up to where the shorter one ended when the comparison began, so that a mirror at work can be compared, too.
#pragma once

#include "client/admin.hpp"
#include "core/log_comparison.hpp"
#include "mirror/partition_reader.hpp"
#include "mirror/system_ports.hpp"
#include "settings/connection_settings.hpp"
#include "settings/topic_filter.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace mirrord::mirror {

struct verify_options {
  std::vector<std::string> topics;       // names or patterns, of topics on the destination
  std::vector<std::string> exclude;
  std::int64_t bytes_per_second = 0;     // over both clusters; 0: no limit
  std::size_t partitions_at_once = 8;
};

struct verified_partition {
  topic_partition tp;
  std::int64_t start = 0;
  std::int64_t end = 0;
  std::int64_t compared = 0;       // offsets
  std::int64_t behind = 0;         // offsets that the source has beyond the destination's end
  std::int64_t start_behind = 0;   // offsets that the source has lost and the destination has not yet
  std::uint64_t difference_count = 0;
  std::vector<core::difference> differences;  // the first ones
  std::optional<error> failure;               // it could not be compared to the end
};

struct verified_topic {
  std::string name;
  std::optional<error> failure;  // it could not be compared at all
  std::int32_t source_partitions = 0;
  std::int32_t destination_partitions = 0;
  std::vector<verified_partition> partitions;
};

struct verify_progress {
  std::int64_t compared = 0;  // offsets
  std::int64_t total = 0;     // 0: not known yet
  std::int64_t bytes = 0;     // read, over both clusters
  std::size_t partitions_done = 0;
  std::size_t partitions = 0;
  std::string trouble;        // what is waited out at the moment
};

class log_verifier {
 public:
  log_verifier(asio::any_io_executor executor, const connection_settings& source, const connection_settings& destination, verify_options options);

  // Once. An error means that nothing could be compared: a cluster out of reach, no topic that matches.
  [[nodiscard]] asio::awaitable<result<std::vector<verified_topic>>> run();

  [[nodiscard]] verify_progress progress() const;

 private:
  struct topic_policy {
    bool compacted = false;
    core::both_sides<std::int64_t> tombstones_expire_before;
  };
  struct work {
    topic_policy policy;
    verified_partition* into = nullptr;
    core::both_sides<core::log_bounds> bounds;
    std::int64_t compared = 0;
  };

  [[nodiscard]] asio::awaitable<result<std::vector<verified_topic>>> verify();
  [[nodiscard]] result<void> open_admins();
  [[nodiscard]] asio::awaitable<result<std::vector<verified_topic>>> choose_topics();
  [[nodiscard]] asio::awaitable<result<void>> prepare(verified_topic& topic);
  [[nodiscard]] asio::awaitable<result<topic_policy>> read_policy(std::string topic);
  asio::awaitable<void> in_parallel(asio::awaitable<void> (log_verifier::*act)(work&, std::int32_t));
  asio::awaitable<void> take_turns(asio::awaitable<void> (log_verifier::*act)(work&, std::int32_t), std::int32_t index);
  asio::awaitable<void> read_bounds(work& item, std::int32_t connection_index);
  asio::awaitable<void> compare(work& item, std::int32_t connection_index);
  [[nodiscard]] asio::awaitable<result<void>> compare_logs(work& item, core::log_comparison& comparison, std::int32_t connection_index);
  [[nodiscard]] partition_reader reader(core::log_side side, const topic_partition& tp, std::int32_t connection_index);
  asio::awaitable<void> close();

  asio::any_io_executor executor_;
  verify_options options_;
  core::both_sides<std::unique_ptr<client::cluster>> clusters_;
  core::both_sides<std::unique_ptr<client::admin>> admins_;
  system_clock clock_;
  system_random random_;
  read_pace pace_;
  core::both_sides<read_patience> patience_;
  std::vector<std::unique_ptr<work>> works_;
  std::size_t next_ = 0;  // of works_: not taken by a worker yet
  verify_progress progress_;
};

}  // namespace mirrord::mirror
