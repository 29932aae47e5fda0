// What a source cluster remembers of mirrors that have run towards it: the `__mirror_state` there, read once.
//
// A mirror that reads from our destination and writes to our source is the other direction of ours. While it copies a
// topic, copying it back would be a loop; once it is STOPPED, its last mirrored offset is the place up to which both logs
// are the same (KIP-1279: last mirror epochs).
#pragma once

#include "client/cluster.hpp"
#include "mirror/ports.hpp"
#include "mirror/state_view.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace mirrord::mirror {

class source_memory {
 public:
  // Remembers nothing: a source without the topic.
  source_memory() = default;
  // The topic is there and could not be read.
  [[nodiscard]] static source_memory unreadable(error failure);
  source_memory(state_view view, const std::string& destination_cluster_id);

  // Reads the topic from its beginning to the end that it has now.
  [[nodiscard]] static asio::awaitable<result<source_memory>> read(asio::any_io_executor executor, client::cluster& source,
                                                                  std::string destination_cluster_id);

  // The mirror there that still copies this topic from our destination; empty: none.
  [[nodiscard]] std::string copied_by(const std::string& topic, topic_id source_topic) const;

  struct mirrored_end {
    std::string mirror;
    std::int64_t offset = 0;  // end of what was mirrored from our destination
  };

  // The furthest of the mirrors there that have copied our topic and are STOPPED.
  [[nodiscard]] std::optional<mirrored_end> end_of(topic_id source_topic, topic_id destination_topic, std::int32_t partition) const;

  [[nodiscard]] const std::optional<error>& failure() const noexcept { return failure_; }

 private:
  std::optional<error> failure_;
  state_view view_;
  std::vector<std::string> mirrors_;  // those that read from our destination
};

}  // namespace mirrord::mirror
