// What outlives a daemon in `__mirror_state`: producer ids of the pool and one partition's journal; and the two ports
// over it that one daemon has.
//
// A write takes effect when it reaches the broker and is acknowledged later; a daemon that is cut off (severed) in
// between may or may not have written. Faults: lost acknowledgements and refused writes.
#pragma once

#include "mirror/ports.hpp"
#include "tests/sim/sim_clock.hpp"
#include "tests/sim/sim_process.hpp"
#include "tests/sim/sim_random.hpp"
#include "tests/sim/sim_trace.hpp"

#include <functional>
#include <map>
#include <optional>
#include <vector>

namespace mirrord::sim {

struct state_record {
  mirror::partition_standing standing;
  std::optional<mirror::stop_plan> stop_plan;
  std::int64_t last_mirrored_end = -1;
  std::optional<std::int64_t> fill_plan;
  std::optional<std::int64_t> hand_over;
  std::vector<mirror::remembered_open_slot> open_slots;
};

struct simulated_state {
  std::map<mirror::slot_index, destination_pid> pool;
  std::int16_t producer_epoch = 0;
  std::int64_t next_pid = 5'000'000;  // far from any source producer id
  state_record partition;
  double fault_probability = 0;
  std::function<void()> on_write = [] {};  // after each that arrives
};

// Calls `reach` when the write arrives, and answers. A write that is on its way when the process dies arrives or not.
class state_writer {
 public:
  state_writer(sim_process& process, sim_random random, simulated_state& state) : process_(process), random_(random), state_(state) {}

  asio::awaitable<result<void>> write(std::string what, std::function<void()> reach);

 private:
  sim_process& process_;
  sim_random random_;
  simulated_state& state_;
};

class simulated_pool final : public mirror::producer_pool {
 public:
  simulated_pool(simulated_state& state, state_writer writer) : state_(state), writer_(std::move(writer)), inherited_epoch_(state.producer_epoch), epoch_(state.producer_epoch) {}

  asio::awaitable<result<destination_pid>> at(mirror::slot_index index) override;
  [[nodiscard]] std::optional<mirror::slot_index> index_of(destination_pid pid) const override;
  [[nodiscard]] std::int16_t epoch() const override { return epoch_; }
  [[nodiscard]] std::int16_t inherited_epoch() const override { return inherited_epoch_; }
  asio::awaitable<result<void>> raise_above(std::int16_t seen) override;

 private:
  simulated_state& state_;
  state_writer writer_;
  std::int16_t inherited_epoch_;
  std::int16_t epoch_;
};

class simulated_journal final : public mirror::partition_journal {
 public:
  // `before_hand_over` is asked when a hand-over reaches the state topic: is nothing of this daemon under way?
  simulated_journal(simulated_state& state, state_writer writer, std::function<void(std::int64_t)> before_hand_over,
                    std::function<void()> before_clear_fill)
      : state_(state), writer_(std::move(writer)), before_hand_over_(std::move(before_hand_over)),
        before_clear_fill_(std::move(before_clear_fill)) {}

  [[nodiscard]] mirror::partition_standing standing() const override { return state_.partition.standing; }
  asio::awaitable<result<void>> record_standing(mirror::partition_standing standing) override;
  [[nodiscard]] std::optional<mirror::stop_plan> stop_plan() const override { return state_.partition.stop_plan; }
  asio::awaitable<result<void>> record_stop_plan(mirror::stop_plan plan) override;
  asio::awaitable<result<void>> record_last_mirrored(std::int32_t source_epoch, std::int64_t end) override;
  [[nodiscard]] std::optional<std::int64_t> fill_plan() const override { return state_.partition.fill_plan; }
  asio::awaitable<result<void>> record_fill_plan(std::int64_t fill_to) override;
  asio::awaitable<result<void>> clear_fill_plan() override;
  [[nodiscard]] std::optional<std::int64_t> hand_over() const override { return state_.partition.hand_over; }
  asio::awaitable<result<void>> record_hand_over(std::int64_t end) override;
  asio::awaitable<result<void>> clear_hand_over() override;
  [[nodiscard]] std::vector<mirror::remembered_open_slot> open_slots() const override { return state_.partition.open_slots; }
  asio::awaitable<result<void>> record_open_slots(std::vector<mirror::remembered_open_slot> open) override;

 private:
  simulated_state& state_;
  state_writer writer_;
  std::function<void(std::int64_t)> before_hand_over_;
  std::function<void()> before_clear_fill_;
};

}  // namespace mirrord::sim
