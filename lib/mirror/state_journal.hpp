// partition_journal over the records of `__mirror_state`.
#pragma once

#include "mirror/ports.hpp"
#include "mirror/state_records.hpp"
#include "mirror/state_store.hpp"

#include <string>

namespace mirrord::mirror {

class state_journal final : public partition_journal {
 public:
  // `instance` is who we are, for the hand-over's reader.
  state_journal(state_store& store, clock_port& clock, mirrored_partition id, std::string instance);

  [[nodiscard]] partition_standing standing() const override;
  asio::awaitable<result<void>> record_standing(partition_standing standing) override;

  [[nodiscard]] std::optional<mirror::stop_plan> stop_plan() const override;
  asio::awaitable<result<void>> record_stop_plan(mirror::stop_plan plan) override;
  asio::awaitable<result<void>> record_last_mirrored(std::int32_t source_epoch, std::int64_t end) override;

  [[nodiscard]] std::optional<std::int64_t> fill_plan() const override;
  asio::awaitable<result<void>> record_fill_plan(std::int64_t fill_to) override;
  asio::awaitable<result<void>> clear_fill_plan() override;

  [[nodiscard]] std::optional<std::int64_t> hand_over() const override;
  asio::awaitable<result<void>> record_hand_over(std::int64_t end) override;
  asio::awaitable<result<void>> clear_hand_over() override;

  [[nodiscard]] std::vector<remembered_open_slot> open_slots() const override;
  asio::awaitable<result<void>> record_open_slots(std::vector<remembered_open_slot> open) override;

 private:
  state_store& store_;
  clock_port& clock_;
  mirrored_partition id_;
  std::string instance_;
};

}  // namespace mirrord::mirror
