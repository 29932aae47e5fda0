// The lanes of one kind to all brokers of a cluster, made when they are first needed. A partition always uses the same
// lane to a broker, so that its requests keep their order.
#pragma once

#include "base/ids.hpp"
#include "mirror/async.hpp"

#include <functional>
#include <map>
#include <memory>
#include <utility>

namespace mirrord::mirror {

template <class Lane>
class lane_table {
 public:
  using factory = std::function<std::unique_ptr<Lane>(broker_id broker, int index)>;

  lane_table(int lanes_per_broker, factory make) : lanes_per_broker_(lanes_per_broker), make_(std::move(make)) {}

  [[nodiscard]] Lane& lane_to(broker_id broker, const topic_partition& tp) {
    const auto index = static_cast<int>(std::hash<topic_partition>{}(tp) % static_cast<std::size_t>(lanes_per_broker_));
    auto& lane = lanes_[{broker, index}];
    if (!lane) lane = make_(broker, index);
    return *lane;
  }

  // Afterwards no lane may be asked for.
  asio::awaitable<void> close() {
    for (auto& [key, lane] : lanes_) co_await lane->close();
  }

 private:
  int lanes_per_broker_;
  factory make_;
  std::map<std::pair<broker_id, int>, std::unique_ptr<Lane>> lanes_;
};

}  // namespace mirrord::mirror
