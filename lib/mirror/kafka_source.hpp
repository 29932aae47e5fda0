// source_log over a real cluster: one partition, read through the fetch lanes of the mirror's source.
//
// Moves of the leader are followed inside, for a bounded time; everything else is the caller's business.
#pragma once

#include "client/cluster.hpp"
#include "mirror/fetch_lane.hpp"
#include "mirror/lane_table.hpp"
#include "mirror/ports.hpp"

namespace mirrord::mirror {

class kafka_source final : public source_log {
 public:
  kafka_source(client::cluster& cluster, lane_table<fetch_lane>& lanes, clock_port& clock, topic_partition tp, topic_id topic);

  asio::awaitable<result<source_chunk>> fetch(std::int64_t offset) override;
  asio::awaitable<result<source_bounds>> bounds() override;
  asio::awaitable<result<std::vector<source_producer>>> producers() override;

  // Somebody waits for fetch() to end: it does not follow an election any more.
  void hurry(bool wanted) { in_a_hurry_ = wanted; }

 private:
  asio::awaitable<result<source_chunk>> fetch_once(std::int64_t offset);

  client::cluster& cluster_;
  lane_table<fetch_lane>& lanes_;
  clock_port& clock_;
  topic_partition tp_;
  topic_id topic_;
  bool in_a_hurry_ = false;
};

}  // namespace mirrord::mirror
