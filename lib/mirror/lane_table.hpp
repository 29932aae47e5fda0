// The lanes of one kind to all brokers of a cluster, made when they are first needed. Who uses the same key always gets the
// same lane to a broker, on which requests keep their order.
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

  [[nodiscard]] Lane& lane_to(broker_id broker, const topic_partition& tp) { return lane_to(broker, std::hash<topic_partition>{}(tp)); }

  [[nodiscard]] Lane& lane_to(broker_id broker, std::size_t key) {
    const auto index = static_cast<int>(key % static_cast<std::size_t>(lanes_per_broker_));
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
