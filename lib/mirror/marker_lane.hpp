// WriteTxnMarkers requests of many partitions to one destination broker, over one connection of their own.
//
// Partitions that write the same marker share its entry of the request; the n-th marker of a partition is in the n-th
// round of entries, so each partition's markers keep their order as long as they are of one producer id (which is all
// that destination_log::mark() promises about several). An answer names producer ids, not entries: that is why an
// error is exact only for one marker per producer id and partition.
#pragma once

#include "mirror/ports.hpp"
#include "mirror/request_lane.hpp"
#include "wire/transactions.hpp"

#include <chrono>
#include <deque>
#include <memory>
#include <vector>

namespace mirrord::mirror {

class marker_lane final : public request_lane {
 public:
  marker_lane(asio::any_io_executor executor, client::cluster& cluster, broker_id broker, int connection_index,
              std::chrono::milliseconds request_timeout, write_lease& lease);

  [[nodiscard]] std::shared_ptr<one_shot<result<void>>> mark(const topic_partition& to, std::vector<end_marker> markers);

 private:
  struct waiting {
    topic_partition to;
    std::vector<end_marker> markers;
    std::shared_ptr<one_shot<result<void>>> answer;
  };

  [[nodiscard]] bool has_work() const override { return !waiting_.empty(); }
  [[nodiscard]] asio::awaitable<void> send(std::shared_ptr<client::connection> connection) override;
  void fail_collected(const error& reason) override;

  asio::awaitable<void> await_and_complete(std::vector<waiting> items, client::pending_call<wire::write_txn_markers_response> call);

  std::chrono::milliseconds request_timeout_;
  std::deque<waiting> waiting_;
};

}  // namespace mirrord::mirror
