#include "mirror/kafka_source.hpp"

#include "mirror/partition_query.hpp"

namespace mirrord::mirror {
namespace {

using namespace std::chrono_literals;

// An election takes a second or two; what lasts longer is told to the partition, which shows it and backs off.
constexpr auto follow_leader_for = 5s;
constexpr auto pause_between_leaders = 100ms;

}  // namespace

kafka_source::kafka_source(client::cluster& cluster, lane_table<fetch_lane>& lanes, clock_port& clock, topic_partition tp, topic_id topic)
    : cluster_(cluster), lanes_(lanes), clock_(clock), tp_(std::move(tp)), topic_(topic) {}

asio::awaitable<result<source_chunk>> kafka_source::fetch(std::int64_t offset) {
  const auto until = clock_.now() + follow_leader_for;
  while (true) {
    auto chunk = co_await fetch_once(offset);
    if (chunk) co_return chunk;
    const error& e = chunk.error();
    const bool broker_is_gone = e.code == errc::connection_lost || e.code == errc::unreachable;
    const bool moves = broker_is_gone || (e.code == errc::broker && is_leader_error(e.broker_code));
    if (!moves || in_a_hurry_ || clock_.now() >= until) co_return chunk;
    co_await clock_.sleep(pause_between_leaders);
  }
}

asio::awaitable<result<source_chunk>> kafka_source::fetch_once(std::int64_t offset) {
  auto leader = co_await cluster_.leader_of(tp_);
  if (!leader) co_return std::move(leader.error());
  fetch_lane::ask wanted{tp_, topic_, {leader->epoch}, offset};
  auto answer = lanes_.lane_to(leader->broker, tp_).fetch(std::move(wanted));
  co_await answer->wait();
  auto& chunk = answer->value();
  if (!chunk) co_return note_leader_error(cluster_, tp_, leader->epoch, std::move(chunk.error()));
  co_return std::move(chunk);
}

asio::awaitable<result<source_bounds>> kafka_source::bounds() {
  auto leader = co_await cluster_.leader_of(tp_);
  if (!leader) co_return std::move(leader.error());
  auto start = co_await list_offset(cluster_, tp_, *leader, wire::earliest_timestamp);
  if (!start) co_return std::move(start.error());
  auto end = co_await list_offset(cluster_, tp_, *leader, wire::latest_timestamp);
  if (!end) co_return std::move(end.error());
  co_return source_bounds{*start, *end};
}

asio::awaitable<result<std::vector<source_producer>>> kafka_source::producers() {
  auto leader = co_await cluster_.leader_of(tp_);
  if (!leader) co_return std::move(leader.error());
  auto states = co_await describe_producers(cluster_, tp_, *leader);
  if (!states) co_return std::move(states.error());
  std::vector<source_producer> found;
  for (const wire::producer_state& state : *states) {
    source_producer producer{source_pid{state.producer_id}, static_cast<std::int16_t>(state.producer_epoch), std::nullopt};
    if (state.current_txn_start_offset >= 0) producer.open_since = state.current_txn_start_offset;
    found.push_back(producer);
  }
  co_return found;
}

}  // namespace mirrord::mirror
