#include "mirror/kafka_destination.hpp"

#include "mirror/partition_query.hpp"

#include <fmt/format.h>

namespace mirrord::mirror {

kafka_destination::kafka_destination(asio::any_io_executor executor, client::cluster& cluster, destination_lanes& lanes, write_lease& lease,
                                     topic_partition tp, topic_id topic)
    : executor_(std::move(executor)), cluster_(cluster), lanes_(lanes), lease_(lease), tp_(std::move(tp)), topic_(topic) {}

bool kafka_destination::is_same_topic() const {
  const auto* info = cluster_.metadata().find_topic(tp_.topic);
  return !info || info->error_code != 0 || info->id == topic_;
}

asio::awaitable<result<destination_epoch>> kafka_destination::lead() {
  term_ = lease_.term();
  auto leader = co_await cluster_.leader_of(tp_);
  if (!leader) co_return std::move(leader.error());
  if (!is_same_topic()) co_return fail(errc::fenced, fmt::format("destination topic {} was deleted and created anew", tp_.topic));
  leader_ = *leader;
  co_return destination_epoch{leader->epoch};
}

result<client::leader> kafka_destination::leader_under(destination_epoch epoch) const {
  if (lease_.term() != term_) return fail(errc::fenced, fmt::format("{}: this process was stopped for a while", tp_.text()));
  if (!is_same_topic()) return fail(errc::fenced, fmt::format("destination topic {} was deleted and created anew", tp_.topic));
  const auto known = cluster_.metadata().find_leader(tp_);
  if (epoch.value != leader_.epoch || (known && known->epoch > epoch.value)) {
    return fail(errc::fenced, fmt::format("{} has a leader with a later epoch than {}", tp_.text(), epoch.value));
  }
  return leader_;
}

asio::awaitable<result<std::int64_t>> kafka_destination::end_offset(destination_epoch epoch) {
  auto leader = leader_under(epoch);
  if (!leader) co_return std::move(leader.error());
  co_return co_await log_end(cluster_, tp_, *leader);
}

asio::awaitable<result<std::vector<destination_producer>>> kafka_destination::producers(destination_epoch epoch) {
  auto leader = leader_under(epoch);
  if (!leader) co_return std::move(leader.error());
  auto states = co_await describe_producers(cluster_, tp_, *leader);
  if (!states) co_return std::move(states.error());
  std::vector<destination_producer> found;
  for (const wire::producer_state& state : *states) {
    destination_producer producer;
    producer.pid = destination_pid{state.producer_id};
    producer.epoch = static_cast<std::int16_t>(state.producer_epoch);
    producer.last_sequence = state.last_sequence;
    producer.coordinator_epoch = state.coordinator_epoch;
    if (state.current_txn_start_offset >= 0) producer.open_since = state.current_txn_start_offset;
    found.push_back(producer);
  }
  co_return found;
}

asio::awaitable<result<destination_bounds>> kafka_destination::bounds(destination_epoch epoch) {
  auto leader = leader_under(epoch);
  if (!leader) co_return std::move(leader.error());
  auto start = co_await list_offset(cluster_, tp_, *leader, wire::earliest_timestamp);
  if (!start) co_return std::move(start.error());
  auto end = co_await list_offset(cluster_, tp_, *leader, wire::latest_timestamp);
  if (!end) co_return std::move(end.error());
  co_return destination_bounds{*start, *end};
}

asio::awaitable<result<stored_batches>> kafka_destination::read(destination_epoch epoch, std::int64_t offset) {
  auto leader = leader_under(epoch);
  if (!leader) co_return std::move(leader.error());
  auto fetched = co_await fetch_partition(cluster_, client::control_lane, tp_, *leader, offset, 1);  // one batch, however long
  if (!fetched) co_return std::move(fetched.error());
  co_return stored_batches{std::move(fetched->owner), fetched->records};
}

std::shared_ptr<one_shot<result<append_answer>>> kafka_destination::append(destination_epoch epoch, batch_append write) {
  auto leader = leader_under(epoch);
  if (leader) {
    // A request holds transactional batches of one producer only. So they are collected by producer: all partitions that
    // are at the same slot meet on one lane. A partition's order is kept, since it comes to rest before each change of producer.
    const bool is_transactional = write.batch.header.is_transactional();
    const std::size_t key = is_transactional ? std::hash<destination_pid>{}(write.pid) : std::hash<topic_partition>{}(tp_);
    return lanes_.appends.lane_to(leader->broker, key).append(tp_, leader->epoch, std::move(write));
  }
  auto refused = std::make_shared<one_shot<result<append_answer>>>(executor_);
  refused->fulfil(std::move(leader.error()));
  return refused;
}

asio::awaitable<result<void>> kafka_destination::mark(destination_epoch epoch, std::vector<end_marker> markers) {
  auto leader = leader_under(epoch);
  if (!leader) co_return std::move(leader.error());
  auto answer = lanes_.markers.lane_to(leader->broker, tp_).mark(tp_, std::move(markers));
  co_await answer->wait();
  auto& outcome = answer->value();
  if (!outcome) co_return note_leader_error(cluster_, tp_, leader->epoch, std::move(outcome.error()));
  co_return result<void>{};
}

asio::awaitable<result<void>> kafka_destination::trim(destination_epoch epoch, std::int64_t offset) {
  auto leader = leader_under(epoch);
  if (!leader) co_return std::move(leader.error());
  co_return co_await delete_records(cluster_, tp_, *leader, offset);
}

}  // namespace mirrord::mirror
