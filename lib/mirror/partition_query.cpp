#include "mirror/partition_query.hpp"

#include "wire/fetch.hpp"

#include <fmt/format.h>

namespace mirrord::mirror {
namespace {

template <class Request>
asio::awaitable<result<client::reply<typename Request::response>>> ask(client::cluster& cluster, broker_id broker, Request request) {
  auto connection = co_await cluster.connection_to(broker, client::control_lane);
  if (!connection) co_return std::move(connection.error());
  co_return co_await (*connection)->call(request, cluster.settings().request_timeout);
}

error no_answer(std::string_view what, const topic_partition& tp) {
  return fail(errc::malformed, fmt::format("{} of {}: the answer does not mention it", what, tp.text()));
}

}  // namespace

bool is_leader_error(std::int16_t broker_code) noexcept {
  const auto code = static_cast<kafka_error>(broker_code);
  return code == kafka_error::not_leader_or_follower || code == kafka_error::fenced_leader_epoch ||
         code == kafka_error::unknown_leader_epoch || code == kafka_error::leader_not_available ||
         code == kafka_error::unknown_topic_or_partition || code == kafka_error::unknown_topic_id ||
         code == kafka_error::inconsistent_topic_id || code == kafka_error::replica_not_available;
}

error note_leader_error(client::cluster& cluster, const topic_partition& tp, std::int32_t epoch, error e) {
  const bool broker_is_gone = e.code == errc::unreachable || e.code == errc::connection_lost || e.code == errc::timed_out;
  if (broker_is_gone || (e.code == errc::broker && is_leader_error(e.broker_code))) cluster.leader_moved(tp, epoch);
  return e;
}

asio::awaitable<result<std::int64_t>> list_offset(client::cluster& cluster, topic_partition tp, client::leader leader, std::int64_t timestamp) {
  wire::list_offsets_request_partition partition;
  partition.partition_index = tp.partition;
  partition.current_leader_epoch = leader.epoch;
  partition.timestamp = timestamp;
  wire::list_offsets_request request;
  request.topics.push_back({tp.topic, {partition}});
  auto reply = co_await ask(cluster, leader.broker, std::move(request));
  if (!reply) co_return note_leader_error(cluster, tp, leader.epoch, std::move(reply.error()).within(fmt::format("offsets of {}", tp.text())));
  const auto& topics = reply->body.topics;
  if (topics.size() != 1 || topics[0].partitions.size() != 1) co_return no_answer("offsets", tp);
  const auto& answer = topics[0].partitions[0];
  if (answer.error_code != 0) {
    co_return note_leader_error(cluster, tp, leader.epoch, broker_failure(answer.error_code, fmt::format("offsets of {}", tp.text())));
  }
  co_return answer.offset;
}

asio::awaitable<result<std::int64_t>> log_end(client::cluster& cluster, topic_partition tp, client::leader leader) {
  wire::offset_for_leader_epoch_request_partition partition;
  partition.partition = tp.partition;
  partition.current_leader_epoch = leader.epoch;
  partition.leader_epoch = leader.epoch;
  wire::offset_for_leader_epoch_request request;
  request.topics.push_back({tp.topic, {partition}});
  auto reply = co_await ask(cluster, leader.broker, std::move(request));
  if (!reply) co_return note_leader_error(cluster, tp, leader.epoch, std::move(reply.error()).within(fmt::format("log end of {}", tp.text())));
  const auto& topics = reply->body.topics;
  if (topics.size() != 1 || topics[0].partitions.size() != 1) co_return no_answer("log end", tp);
  const auto& answer = topics[0].partitions[0];
  if (answer.error_code != 0) {
    co_return note_leader_error(cluster, tp, leader.epoch, broker_failure(answer.error_code, fmt::format("log end of {}", tp.text())));
  }
  co_return answer.end_offset;
}

asio::awaitable<result<std::vector<wire::producer_state>>> describe_producers(client::cluster& cluster, topic_partition tp, client::leader leader) {
  wire::describe_producers_request request;
  request.topics.push_back({tp.topic, {tp.partition}});
  auto reply = co_await ask(cluster, leader.broker, std::move(request));
  if (!reply) co_return note_leader_error(cluster, tp, leader.epoch, std::move(reply.error()).within(fmt::format("producers of {}", tp.text())));
  auto& topics = reply->body.topics;
  if (topics.size() != 1 || topics[0].partitions.size() != 1) co_return no_answer("producers", tp);
  auto& answer = topics[0].partitions[0];
  if (answer.error_code != 0) {
    co_return note_leader_error(cluster, tp, leader.epoch, broker_failure(answer.error_code, fmt::format("producers of {}", tp.text()), answer.error_message.value_or("")));
  }
  co_return std::move(answer.active_producers);
}

asio::awaitable<result<fetched_partition>> fetch_partition(client::cluster& cluster, std::int32_t connection_index, topic_partition tp,
                                                          client::leader leader, std::int64_t offset, std::int32_t bytes_max) {
  const std::string what = fmt::format("fetch {} at offset {}", tp.text(), offset);
  auto connection = co_await cluster.connection_to(leader.broker, connection_index);
  if (!connection) co_return note_leader_error(cluster, tp, leader.epoch, std::move(connection.error()));
  const auto* topic = cluster.metadata().find_topic(tp.topic);
  wire::fetch_request_partition partition;
  partition.partition = tp.partition;
  partition.current_leader_epoch = leader.epoch;
  partition.fetch_offset = offset;
  partition.partition_max_bytes = bytes_max;
  wire::fetch_request_topic wanted;
  wanted.topic = tp.topic;
  if (topic != nullptr) wanted.topic_id = topic->id;
  wanted.partitions.push_back(partition);
  wire::fetch_request request;
  request.max_bytes = bytes_max;
  request.topics.push_back(std::move(wanted));

  auto reply = co_await (*connection)->call(request, cluster.settings().request_timeout);
  if (!reply) co_return note_leader_error(cluster, tp, leader.epoch, std::move(reply.error()).within(what));
  const auto& body = reply->body;
  if (body.error_code != 0) co_return note_leader_error(cluster, tp, leader.epoch, broker_failure(body.error_code, what));
  if (body.responses.size() != 1 || body.responses[0].partitions.size() != 1) co_return no_answer("fetch", tp);
  const auto& found = body.responses[0].partitions[0];
  if (found.error_code != 0) co_return note_leader_error(cluster, tp, leader.epoch, broker_failure(found.error_code, what));
  co_return fetched_partition{reply->frame, found.records, found.log_start_offset, found.high_watermark, found.last_stable_offset};
}

asio::awaitable<result<void>> delete_records(client::cluster& cluster, topic_partition tp, client::leader leader, std::int64_t before) {
  wire::delete_records_request request;
  request.timeout_ms = static_cast<std::int32_t>(cluster.settings().request_timeout.count());
  request.topics.push_back({tp.topic, {{tp.partition, before}}});
  auto reply = co_await ask(cluster, leader.broker, std::move(request));
  const std::string what = fmt::format("delete records of {} before offset {}", tp.text(), before);
  if (!reply) co_return note_leader_error(cluster, tp, leader.epoch, std::move(reply.error()).within(what));
  const auto& topics = reply->body.topics;
  if (topics.size() != 1 || topics[0].partitions.size() != 1) co_return no_answer("deletion of records", tp);
  if (const auto code = topics[0].partitions[0].error_code; code != 0) {
    co_return note_leader_error(cluster, tp, leader.epoch, broker_failure(code, what));
  }
  co_return result<void>{};
}

}  // namespace mirrord::mirror
