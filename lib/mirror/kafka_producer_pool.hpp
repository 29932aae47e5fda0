// producer_pool over InitProducerId of the destination and the claims in `__mirror_state`. One per mirror.
#pragma once

#include "client/cluster.hpp"
#include "mirror/ports.hpp"
#include "mirror/state_store.hpp"

#include <map>
#include <string>

namespace mirrord::mirror {

class kafka_producer_pool final : public producer_pool {
 public:
  // Knows from the start what the state topic holds.
  kafka_producer_pool(asio::any_io_executor executor, client::cluster& destination, state_store& store, clock_port& clock,
                      std::string mirror, std::chrono::milliseconds request_timeout);

  asio::awaitable<result<destination_pid>> at(slot_index index) override;
  [[nodiscard]] std::optional<slot_index> index_of(destination_pid pid) const override;
  [[nodiscard]] std::int16_t epoch() const override { return epoch_; }
  [[nodiscard]] std::int16_t inherited_epoch() const override { return inherited_epoch_; }
  asio::awaitable<result<void>> raise_above(std::int16_t seen) override;

 private:
  asio::awaitable<result<destination_pid>> allocate(slot_index index);
  asio::awaitable<result<destination_pid>> init_producer_id();

  client::cluster& destination_;
  state_store& store_;
  clock_port& clock_;
  std::string mirror_;
  std::chrono::milliseconds request_timeout_;
  std::map<slot_index, destination_pid> ids_;
  std::map<destination_pid, slot_index> indices_;
  std::int16_t inherited_epoch_ = 0;
  std::int16_t epoch_ = 0;
  bool allocating_ = false;  // one at a time: several partitions may need the same new slot, or a higher epoch
  bool raising_ = false;
  notifier allocated_;
  notifier raised_;
};

}  // namespace mirrord::mirror
