#include "mirror/state_journal.hpp"

#include <algorithm>

namespace mirrord::mirror {
namespace {

constexpr std::size_t error_message_bytes_max = 4096;

}  // namespace

state_journal::state_journal(state_store& store, clock_port& clock, mirrored_partition id, std::string instance)
    : store_(store), clock_(clock), id_(std::move(id)), instance_(std::move(instance)) {}

partition_standing state_journal::standing() const {
  const auto known = store_.view().find(partition_state_key{id_});
  if (!known) return {};
  return {known->state, known->previous_state, known->retry_attempt, known->error_message};
}

asio::awaitable<result<void>> state_journal::record_standing(partition_standing standing) {
  partition_state_key key{id_};
  const auto known = store_.view().find(key);
  // In one request's limits, whatever the broker had to say.
  standing.error_message.resize(std::min(standing.error_message.size(), error_message_bytes_max));
  partition_state_value value{standing.state, -1, known ? known->state_epoch + 1 : 0, std::move(standing.error_message),
                              static_cast<std::int16_t>(standing.retry_attempt), standing.failed_in};
  co_return co_await store_.write(std::move(key), std::move(value));
}

std::optional<stop_plan> state_journal::stop_plan() const {
  const auto known = store_.view().find(stop_plan_key{id_});
  if (!known) return std::nullopt;
  mirror::stop_plan plan{known->mirrored_end, {}, known->reset_epoch, known->end_offset};
  for (const std::int64_t pid : known->open_producers) plan.open.push_back(destination_pid{pid});
  return plan;
}

asio::awaitable<result<void>> state_journal::record_stop_plan(mirror::stop_plan plan) {
  stop_plan_key key{id_};
  stop_plan_value value{plan.mirrored_end, {}, plan.reset_epoch, plan.end_offset};
  for (const destination_pid pid : plan.open) value.open_producers.push_back(pid.value);
  co_return co_await store_.write(std::move(key), std::move(value));
}

asio::awaitable<result<void>> state_journal::record_last_mirrored(std::int32_t source_epoch, std::int64_t end) {
  last_mirror_epochs_key key{id_};
  const last_mirror_epochs_value value{source_epoch, end};
  co_return co_await store_.write(std::move(key), value);
}

std::optional<std::int64_t> state_journal::fill_plan() const {
  const auto plan = store_.view().find(fill_plan_key{id_});
  if (!plan) return std::nullopt;
  return plan->fill_to;
}

asio::awaitable<result<void>> state_journal::record_fill_plan(std::int64_t fill_to) {
  return store_.write(fill_plan_key{id_}, fill_plan_value{fill_to});
}

asio::awaitable<result<void>> state_journal::clear_fill_plan() { return store_.erase(fill_plan_key{id_}); }

std::optional<std::int64_t> state_journal::hand_over() const {
  const auto left = store_.view().find(hand_over_key{id_});
  if (!left) return std::nullopt;
  return left->end_offset;
}

asio::awaitable<result<void>> state_journal::record_open_slots(std::vector<remembered_open_slot> open) {
  const std::vector<remembered_open_slot> recorded = open_slots();
  for (const remembered_open_slot& known : recorded) {
    const bool still_open = std::any_of(open.begin(), open.end(), [&](const auto& o) { return o.slot == known.slot; });
    if (still_open) continue;
    open_slot_key key{id_, known.slot};
    auto erased = co_await store_.erase(std::move(key));
    if (!erased) co_return erased;
  }
  for (const remembered_open_slot& now : open) {
    if (std::find(recorded.begin(), recorded.end(), now) != recorded.end()) continue;
    open_slot_key key{id_, now.slot};
    open_slot_value value{now.producer, now.first_offset, now.epoch, now.seen_ms};
    auto written = co_await store_.write(std::move(key), value);
    if (!written) co_return written;
  }
  co_return result<void>{};
}

asio::awaitable<result<void>> state_journal::record_hand_over(std::int64_t end) {
  hand_over_value value{instance_, end, clock_.wall_ms()};
  hand_over_key key{id_};
  co_return co_await store_.write(std::move(key), std::move(value));
}

asio::awaitable<result<void>> state_journal::clear_hand_over() { return store_.erase(hand_over_key{id_}); }

std::vector<remembered_open_slot> state_journal::open_slots() const {
  std::vector<remembered_open_slot> found;
  for (const auto& [key, value] : store_.view().list<open_slot_key>(id_.mirror)) {
    if (key.of == id_) found.push_back({key.slot, value.producer, value.first_offset, value.epoch, value.seen_ms});
  }
  return found;
}

}  // namespace mirrord::mirror
