// One partition of a real broker: asks it what a history asks the simulated one.
//
// One connection, one operation at a time. Errors of the way there are errors of the test.
#pragma once

#include "client/cluster.hpp"
#include "tests/sim/real_broker/history.hpp"

#include <memory>

namespace mirrord::sim {

namespace asio = boost::asio;

class real_partition {
 public:
  real_partition(std::shared_ptr<client::connection> connection, topic_partition id, std::int32_t leader_epoch, std::int64_t now_ms)
      : connection_(std::move(connection)), id_(std::move(id)), leader_epoch_(leader_epoch), now_ms_(now_ms) {}

  [[nodiscard]] asio::awaitable<result<operation_outcome>> apply(const operation& what);

  // Asks for all of it at once.
  [[nodiscard]] asio::awaitable<result<observation>> observe();

 private:
  [[nodiscard]] asio::awaitable<result<operation_outcome>> produce(const operation& what);
  [[nodiscard]] asio::awaitable<result<operation_outcome>> mark(const operation& what);
  [[nodiscard]] asio::awaitable<result<operation_outcome>> trim(const operation& what);

  std::shared_ptr<client::connection> connection_;
  topic_partition id_;
  std::int32_t leader_epoch_;
  std::int64_t now_ms_;
};

}  // namespace mirrord::sim
