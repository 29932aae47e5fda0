#include "tests/sim/simulated_state.hpp"

#include <algorithm>

namespace mirrord::sim {

using std::chrono::microseconds;
using std::chrono::milliseconds;

asio::awaitable<result<void>> state_writer::write(std::string what, std::function<void()> reach) {
  if (process_.gone()) co_return fail(errc::connection_lost, what + ": cut off");
  co_await process_.sleep(microseconds(random_.between(100, 3'000)));
  if (process_.gone() && random_.chance(0.5)) co_return fail(errc::connection_lost, what + ": cut off");
  if (random_.chance(state_.fault_probability)) co_return broker_failure(19, what);
  const bool answer_lost = random_.chance(state_.fault_probability);
  reach();
  state_.on_write();
  co_await process_.sleep(answer_lost ? milliseconds(500) : microseconds(random_.between(100, 3'000)));
  if (process_.gone() || answer_lost) co_return fail(errc::timed_out, what + ": no acknowledgement");
  co_return result<void>{};
}

asio::awaitable<result<destination_pid>> simulated_pool::at(mirror::slot_index index) {
  if (const auto known = state_.pool.find(index); known != state_.pool.end()) co_return known->second;
  std::function<void()> allocate = [this, index] {
    if (!state_.pool.contains(index)) state_.pool.emplace(index, destination_pid{state_.next_pid++});
  };
  auto written = co_await writer_.write("record a producer id", std::move(allocate));
  if (!written) co_return std::move(written.error());
  co_return state_.pool.at(index);
}

asio::awaitable<result<void>> simulated_pool::raise_above(std::int16_t seen) {
  if (epoch_ > seen) co_return result<void>{};
  const auto wanted = static_cast<std::int16_t>(seen + 1);
  std::function<void()> record = [this, wanted] { state_.producer_epoch = wanted; };
  auto written = co_await writer_.write("record the producer epoch", std::move(record));
  if (written) epoch_ = std::max(epoch_, wanted);
  co_return written;
}

std::optional<mirror::slot_index> simulated_pool::index_of(destination_pid pid) const {
  for (const auto& [index, known] : state_.pool)
    if (known == pid) return index;
  return std::nullopt;
}

asio::awaitable<result<void>> simulated_journal::record_standing(mirror::partition_standing standing) {
  std::function<void()> reach = [this, standing = std::move(standing)] { state_.partition.standing = standing; };
  co_return co_await writer_.write("record the state", std::move(reach));
}

asio::awaitable<result<void>> simulated_journal::record_stop_plan(mirror::stop_plan plan) {
  std::function<void()> reach = [this, plan = std::move(plan)] { state_.partition.stop_plan = plan; };
  co_return co_await writer_.write("record the stop plan", std::move(reach));
}

asio::awaitable<result<void>> simulated_journal::record_last_mirrored(std::int32_t, std::int64_t end) {
  std::function<void()> reach = [this, end] { state_.partition.last_mirrored_end = end; };
  co_return co_await writer_.write("record up to where it was mirrored", std::move(reach));
}

asio::awaitable<result<void>> simulated_journal::record_fill_plan(std::int64_t fill_to) {
  std::function<void()> reach = [this, fill_to] { state_.partition.fill_plan = fill_to; };
  co_return co_await writer_.write("record the fill plan", std::move(reach));
}

asio::awaitable<result<void>> simulated_journal::clear_fill_plan() {
  std::function<void()> reach = [this] {
    before_clear_fill_();
    state_.partition.fill_plan.reset();
  };
  co_return co_await writer_.write("clear the fill plan", std::move(reach));
}

asio::awaitable<result<void>> simulated_journal::record_hand_over(std::int64_t end) {
  std::function<void()> reach = [this, end] {
    before_hand_over_(end);
    state_.partition.hand_over = end;
  };
  co_return co_await writer_.write("record the hand-over", std::move(reach));
}

asio::awaitable<result<void>> simulated_journal::record_open_slots(std::vector<mirror::remembered_open_slot> open) {
  std::function<void()> reach = [this, open = std::move(open)] { state_.partition.open_slots = open; };
  co_return co_await writer_.write("record the open slots", std::move(reach));
}

asio::awaitable<result<void>> simulated_journal::clear_hand_over() {
  std::function<void()> reach = [this] { state_.partition.hand_over.reset(); };
  co_return co_await writer_.write("clear the hand-over", std::move(reach));
}

}  // namespace mirrord::sim
