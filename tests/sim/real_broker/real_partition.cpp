#include "tests/sim/real_broker/real_partition.hpp"

#include "base/broker_error.hpp"
#include "wire/offsets.hpp"
#include "wire/produce.hpp"
#include "wire/transactions.hpp"

namespace mirrord::sim {

namespace {

constexpr std::chrono::milliseconds timeout{20'000};

// The answer's only partition.
template <class Topics, class Partitions>
auto only(const Topics& topics, Partitions partitions) -> result<typename std::decay_t<decltype(topics.front().*partitions)>::value_type> {
  if (topics.size() != 1 || (topics.front().*partitions).size() != 1) return fail(errc::malformed, "the answer is not about one partition");
  return (topics.front().*partitions).front();
}

}  // namespace

asio::awaitable<result<operation_outcome>> real_partition::apply(const operation& what) {
  switch (what.what) {
    case operation::kind::produce: return produce(what);
    case operation::kind::mark: return mark(what);
    case operation::kind::trim: break;
  }
  return trim(what);
}

asio::awaitable<result<operation_outcome>> real_partition::produce(const operation& what) {
  wire::produce_request_partition partition;
  partition.index = id_.partition;
  partition.records.pieces = {what.batch};
  wire::produce_request request;
  if (what.transactional) request.transactional_id = "kafka-mirrord-simulation";
  request.acks = -1;
  request.timeout_ms = static_cast<std::int32_t>(timeout.count());
  request.topic_data.push_back({id_.topic, {std::move(partition)}});
  auto reply = co_await connection_->call(request, timeout);
  if (!reply) co_return std::move(reply.error());
  const auto answer = only(reply->body.responses, &wire::produce_response_topic::partition_responses);
  if (!answer) co_return answer.error();
  co_return operation_outcome{answer->error_code, answer->base_offset};
}

asio::awaitable<result<operation_outcome>> real_partition::mark(const operation& what) {
  wire::write_txn_markers_request request;
  for (const auto& marker : what.markers)
    request.markers.push_back({marker.pid.value, marker.epoch, marker.commit, {{id_.topic, {id_.partition}}}, marker.coordinator_epoch});
  auto reply = co_await connection_->call(request, timeout);
  if (!reply) co_return std::move(reply.error());
  operation_outcome outcome;
  for (const auto& marker : reply->body.markers) {
    const auto answer = only(marker.topics, &wire::write_txn_markers_response_topic::partitions);
    if (!answer) co_return answer.error();
    const bool is_new = outcome.code_of_producer.emplace(marker.producer_id, answer->error_code).second;
    if (!is_new) co_return fail(errc::malformed, "the answer names a producer id twice");
  }
  co_return outcome;
}

asio::awaitable<result<operation_outcome>> real_partition::trim(const operation& what) {
  wire::delete_records_request request;
  request.timeout_ms = static_cast<std::int32_t>(timeout.count());
  request.topics.push_back({id_.topic, {{id_.partition, what.offset}}});
  auto reply = co_await connection_->call(request, timeout);
  if (!reply) co_return std::move(reply.error());
  const auto answer = only(reply->body.topics, &wire::delete_records_response_topic::partitions);
  if (!answer) co_return answer.error();
  co_return operation_outcome{answer->error_code};
}

asio::awaitable<result<observation>> real_partition::observe() {
  wire::offset_for_leader_epoch_request end_request;
  end_request.topics.push_back({id_.topic, {{id_.partition, leader_epoch_, leader_epoch_}}});
  const auto offset_request = [&](std::int64_t timestamp, std::int8_t isolation_level) {
    wire::list_offsets_request request;
    request.isolation_level = isolation_level;
    request.topics.push_back({id_.topic, {{id_.partition, leader_epoch_, timestamp}}});
    return request;
  };
  wire::describe_producers_request producers_request;
  producers_request.topics.push_back({id_.topic, {id_.partition}});
  auto end_call = connection_->start_call(end_request, timeout);
  auto start_call = connection_->start_call(offset_request(wire::earliest_timestamp, 0), timeout);
  auto high_watermark_call = connection_->start_call(offset_request(wire::latest_timestamp, 0), timeout);
  auto last_stable_call = connection_->start_call(offset_request(wire::latest_timestamp, 1), timeout);
  auto producers_call = connection_->start_call(producers_request, timeout);

  observation seen;
  auto end = co_await end_call.wait();
  if (!end) co_return std::move(end.error());
  const auto end_answer = only(end->body.topics, &wire::offset_for_leader_epoch_response_topic::partitions);
  if (!end_answer) co_return end_answer.error();
  if (end_answer->error_code != 0) co_return broker_failure(end_answer->error_code, "log end");
  seen.end = end_answer->end_offset;
  const std::pair<client::pending_call<wire::list_offsets_response>*, std::int64_t*> offsets[] = {
      {&start_call, &seen.start}, {&high_watermark_call, &seen.high_watermark}, {&last_stable_call, &seen.last_stable}};
  for (const auto& [call, into] : offsets) {
    auto reply = co_await call->wait();
    if (!reply) co_return std::move(reply.error());
    const auto answer = only(reply->body.topics, &wire::list_offsets_response_topic::partitions);
    if (!answer) co_return answer.error();
    if (answer->error_code != 0) co_return broker_failure(answer->error_code, "offsets");
    *into = answer->offset;
  }
  auto producers = co_await producers_call.wait();
  if (!producers) co_return std::move(producers.error());
  const auto states = only(producers->body.topics, &wire::describe_producers_response_topic::partitions);
  if (!states) co_return states.error();
  if (states->error_code != 0) co_return broker_failure(states->error_code, "producers");
  for (const auto& state : states->active_producers) {
    // A marker has the broker's clock; records are older than the test.
    const auto time = state.last_timestamp >= now_ms_ ? history::marker_time : state.last_timestamp;
    seen.producers[state.producer_id] = {static_cast<std::int16_t>(state.producer_epoch), state.last_sequence, state.coordinator_epoch,
                                         state.current_txn_start_offset, time};
  }
  co_return seen;
}

}  // namespace mirrord::sim
