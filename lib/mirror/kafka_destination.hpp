// destination_log over a real cluster: one partition, written through the append and marker lanes of the mirror.
#pragma once

#include "client/cluster.hpp"
#include "mirror/append_lane.hpp"
#include "mirror/lane_table.hpp"
#include "mirror/marker_lane.hpp"
#include "mirror/ports.hpp"

namespace mirrord::mirror {

struct destination_lanes {
  lane_table<append_lane> appends;
  lane_table<marker_lane> markers;
};

class kafka_destination final : public destination_log {
 public:
  kafka_destination(asio::any_io_executor executor, client::cluster& cluster, destination_lanes& lanes, write_lease& lease, topic_partition tp,
                    topic_id topic);

  asio::awaitable<result<destination_epoch>> lead() override;
  asio::awaitable<result<std::int64_t>> end_offset(destination_epoch epoch) override;
  asio::awaitable<result<std::vector<destination_producer>>> producers(destination_epoch epoch) override;
  asio::awaitable<result<destination_bounds>> bounds(destination_epoch epoch) override;
  asio::awaitable<result<stored_batches>> read(destination_epoch epoch, std::int64_t offset) override;
  std::shared_ptr<one_shot<result<append_answer>>> append(destination_epoch epoch, batch_append write) override;
  asio::awaitable<result<void>> mark(destination_epoch epoch, std::vector<end_marker> markers) override;
  asio::awaitable<result<void>> trim(destination_epoch epoch, std::int64_t offset) override;

 private:
  [[nodiscard]] bool is_same_topic() const;
  // The leader under `epoch`; errc::fenced when the cluster has told of a later one, or this process has a new term.
  [[nodiscard]] result<client::leader> leader_under(destination_epoch epoch) const;

  asio::any_io_executor executor_;
  client::cluster& cluster_;
  destination_lanes& lanes_;
  write_lease& lease_;
  topic_partition tp_;
  topic_id topic_;  // a name can come back as another topic
  client::leader leader_;
  std::uint64_t term_ = 0;  // of the write lease, at lead()
};

}  // namespace mirrord::mirror
