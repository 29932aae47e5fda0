// Produce requests of many partitions to one destination broker, over one connection.
//
// What the broker demands, and what follows:
// - one batch per partition and request, so a partition's batches leave in their order, one per request;
// - transactional batches of one (producer id, epoch) only in a request, else error 49 for all of it; plain batches may
//   ride along. The (producer id, epoch) of most partitions goes first, but none waits for long.
// - acks hold for the whole request; a request waits for the slowest of its partitions, so the two kinds do not mix.
// When an append fails, all later ones of that partition that are still waiting here fail with it and are never sent.
#pragma once

#include "mirror/ports.hpp"
#include "mirror/request_lane.hpp"
#include "wire/produce.hpp"

#include <chrono>
#include <deque>
#include <memory>
#include <string>
#include <vector>

namespace mirrord::mirror {

class append_lane final : public request_lane {
 public:
  append_lane(asio::any_io_executor executor, client::cluster& cluster, broker_id broker, int connection_index,
              std::string transactional_id, std::chrono::milliseconds request_timeout, write_lease& lease);

  // `leader_epoch` is the one that the append was planned under.
  [[nodiscard]] std::shared_ptr<one_shot<result<append_answer>>> append(const topic_partition& to, std::int32_t leader_epoch, batch_append write);

 private:
  struct waiting {
    topic_partition to;
    std::int32_t leader_epoch;
    batch_append write;
    std::shared_ptr<one_shot<result<append_answer>>> answer;
  };

  [[nodiscard]] bool has_work() const override { return !waiting_.empty(); }
  [[nodiscard]] bool has_room(std::size_t under_way) const override;
  [[nodiscard]] asio::awaitable<void> send(std::shared_ptr<client::connection> connection) override;
  void fail_collected(const error& reason) override;

  struct request_kind {
    acks confirmation;
    std::optional<std::pair<destination_pid, std::int16_t>> transactional;  // whose transactional batches it takes
  };

  [[nodiscard]] request_kind choose_kind() const;
  [[nodiscard]] std::vector<waiting> take_one_request();
  asio::awaitable<void> await_and_complete(std::vector<waiting> items, client::pending_call<wire::produce_response> call);
  void complete(waiting& item, result<append_answer> outcome);

  std::string transactional_id_;
  std::chrono::milliseconds request_timeout_;
  std::deque<waiting> waiting_;
  int passed_over_ = 0;  // requests that went without the oldest waiting append
};

}  // namespace mirrord::mirror
