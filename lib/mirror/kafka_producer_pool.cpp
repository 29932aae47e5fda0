#include "mirror/kafka_producer_pool.hpp"

#include "base/log.hpp"
#include "wire/transactions.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace mirrord::mirror {
namespace {

using namespace std::chrono_literals;

constexpr auto coordinator_pause = 200ms;  // a fresh cluster loads its coordinators for a moment

bool passes_soon(std::int16_t code) {
  const auto e = static_cast<kafka_error>(code);
  return e == kafka_error::coordinator_load_in_progress || e == kafka_error::coordinator_not_available ||
         e == kafka_error::not_coordinator || e == kafka_error::concurrent_transactions;
}

}  // namespace

kafka_producer_pool::kafka_producer_pool(asio::any_io_executor executor, client::cluster& destination, state_store& store,
                                         clock_port& clock, std::string mirror, std::chrono::milliseconds request_timeout)
    : destination_(destination), store_(store), clock_(clock), mirror_(std::move(mirror)), request_timeout_(request_timeout),
      allocated_(executor), raised_(executor) {
  if (const auto recorded = store_.view().find(producer_epoch_key{mirror_})) inherited_epoch_ = recorded->epoch;
  epoch_ = inherited_epoch_;
  for (const auto& [index, pid] : store_.view().producer_ids(mirror_)) {
    ids_.emplace(index, pid);
    indices_.emplace(pid, index);
  }
}

std::optional<slot_index> kafka_producer_pool::index_of(destination_pid pid) const {
  if (const auto found = indices_.find(pid); found != indices_.end()) return found->second;
  // Another daemon of this mirror may have claimed it since.
  for (const auto& [index, claimed] : store_.view().producer_ids(mirror_)) {
    if (claimed == pid) return index;
  }
  return std::nullopt;
}

asio::awaitable<result<void>> kafka_producer_pool::raise_above(std::int16_t seen) {
  while (raising_) (void)co_await raised_.wait();
  if (epoch_ > seen) co_return result<void>{};
  raising_ = true;
  producer_epoch_key key{mirror_};
  // Another daemon of this mirror may have gone higher since; its record must not be lowered.
  const auto recorded_now = store_.view().find(key);
  const auto wanted = static_cast<std::int16_t>(std::max(seen, recorded_now ? recorded_now->epoch : std::int16_t{-1}) + 1);
  const producer_epoch_value value{wanted};
  auto recorded = co_await store_.write(std::move(key), value);
  raising_ = false;
  raised_.notify();
  if (!recorded) co_return std::move(recorded.error()).within(fmt::format("record producer epoch {} of mirror {}", wanted, mirror_));
  epoch_ = wanted;
  co_return result<void>{};
}

asio::awaitable<result<destination_pid>> kafka_producer_pool::at(slot_index index) {
  while (true) {
    const auto known = ids_.find(index);
    if (known != ids_.end()) co_return known->second;
    if (!allocating_) break;
    (void)co_await allocated_.wait();
  }
  allocating_ = true;
  auto pid = co_await allocate(index);
  allocating_ = false;
  allocated_.notify();
  co_return pid;
}

asio::awaitable<result<destination_pid>> kafka_producer_pool::allocate(slot_index index) {
  auto candidate = co_await init_producer_id();
  if (!candidate) co_return candidate;
  auto claimed = co_await store_.claim_producer_id(mirror_, index, *candidate);
  if (!claimed) co_return std::move(claimed.error()).within(fmt::format("claim producer id {} of mirror {}", index, mirror_));
  ids_.emplace(index, *claimed);
  indices_.emplace(*claimed, index);
  log::debug("producer_id_claimed", {{"mirror", mirror_}, {"index", index}, {"producer_id", claimed->value}});
  co_return claimed;
}

asio::awaitable<result<destination_pid>> kafka_producer_pool::init_producer_id() {
  const auto until = clock_.now() + request_timeout_;
  wire::init_producer_id_request request;
  request.transaction_timeout_ms = static_cast<std::int32_t>(request_timeout_.count());
  while (true) {
    auto connection = co_await destination_.any_connection();
    if (!connection) co_return std::move(connection.error());
    auto reply = co_await (*connection)->call(request, request_timeout_);
    if (!reply) co_return std::move(reply.error()).within("allocate a producer id");
    if (reply->body.error_code == 0) co_return destination_pid{reply->body.producer_id};
    if (!passes_soon(reply->body.error_code) || clock_.now() >= until) {
      co_return broker_failure(reply->body.error_code, "allocate a producer id");
    }
    co_await clock_.sleep(coordinator_pause);
  }
}

}  // namespace mirrord::mirror
