// Makes a destination topic ready to be mirrored into: creates it, or accepts one that is recorded as this mirror's, or
// one that is empty, or one that is a prefix of the source's (alignment). Anything else is refused and left untouched, and so
// is a topic that the source's cluster copies from here. Idempotent: called again after growth or a restart.
#pragma once

#include "client/admin.hpp"
#include "client/cluster.hpp"
#include "mirror/destination_check.hpp"
#include "mirror/ports.hpp"
#include "mirror/source_memory.hpp"
#include "mirror/state_store.hpp"

#include <chrono>
#include <cstdint>
#include <string>

namespace mirrord::mirror {

struct preparation_context {
  client::cluster& source;
  client::admin& source_admin;
  client::cluster& destination;
  client::admin& destination_admin;
  state_store& state;
  clock_port& clock;
  random_port& random;
  const source_memory& memory;
  std::string mirror;
  std::int16_t replication_factor = -1;  // of created topics; -1: the broker's default
  destination_traits traits;
};

struct prepared_topic {
  topic_id source_topic;       // zero where the source has none
  topic_id destination_topic;
  std::int32_t partitions = 0;
  bool fresh = false;              // created by this call: nobody can have read it
  std::int64_t batch_bytes_max = 0;
  std::string source_cleanup_policy;
  std::chrono::milliseconds marker_retention{0};  // how long the source keeps a marker whose data it has removed
  std::string cleanup_policy;      // of the destination topic as it is now
};

// `topic` must be in the source's metadata. Errors name the topic and what to do.
[[nodiscard]] asio::awaitable<result<prepared_topic>> prepare_topic(preparation_context context, std::string topic);

}  // namespace mirrord::mirror
