#include "mirror/append_lane.hpp"

#include "mirror/partition_query.hpp"

#include <fmt/format.h>

#include <array>
#include <map>
#include <set>
#include <unordered_map>

namespace mirrord::mirror {
namespace {

constexpr std::size_t requests_under_way_max = 5;          // as many as a broker tells repetitions of, per producer
constexpr std::size_t request_bytes_max = 8 * 1024 * 1024;  // well below socket.request.max.bytes (100 MiB)

// Everything that a request borrows: the patched headers and the owners of the batches' bytes.
struct request_bytes {
  std::vector<std::array<std::byte, wire::batch_header_bytes>> headers;
  std::vector<std::shared_ptr<const void>> owners;
};

}  // namespace

append_lane::append_lane(asio::any_io_executor executor, client::cluster& cluster, broker_id broker, int connection_index,
                         std::string transactional_id, std::chrono::milliseconds request_timeout)
    : request_lane(std::move(executor), cluster, broker, connection_index, requests_under_way_max),
      transactional_id_(std::move(transactional_id)), request_timeout_(request_timeout) {
  start();
}

std::shared_ptr<one_shot<result<append_answer>>> append_lane::append(const topic_partition& to, std::int32_t leader_epoch, batch_append write) {
  auto answer = std::make_shared<one_shot<result<append_answer>>>(executor());
  waiting_.push_back({to, leader_epoch, std::move(write), answer});
  wake();
  return answer;
}

std::vector<append_lane::waiting> append_lane::take_one_request() {
  std::vector<waiting> taken;
  std::deque<waiting> left;
  std::set<topic_partition> passed;  // partitions that are in the request, or whose turn is not yet
  std::optional<std::pair<destination_pid, std::int16_t>> transactional;
  const acks confirmation = waiting_.front().write.confirmation;
  std::size_t bytes = 0;
  for (waiting& item : waiting_) {
    const std::pair producer{item.write.pid, item.write.epoch};
    const bool is_transactional = item.write.batch.header.is_transactional();
    const bool fits = item.write.confirmation == confirmation && bytes + item.write.batch.bytes.size() <= request_bytes_max &&
                      (!is_transactional || !transactional || *transactional == producer);
    const bool first_of_partition = passed.insert(item.to).second;
    if (!first_of_partition || (!fits && !taken.empty())) {
      left.push_back(std::move(item));
      continue;
    }
    if (is_transactional) transactional = producer;
    bytes += item.write.batch.bytes.size();
    taken.push_back(std::move(item));
  }
  waiting_ = std::move(left);
  return taken;
}

void append_lane::complete(waiting& item, result<append_answer> outcome) {
  if (!outcome) {
    for (auto at = waiting_.begin(); at != waiting_.end();) {
      if (at->to != item.to) {
        ++at;
        continue;
      }
      at->answer->fulfil(fail(errc::fenced, fmt::format("append to {}: an earlier append failed", item.to.text())));
      at = waiting_.erase(at);
    }
    outcome = note_leader_error(cluster(), item.to, item.leader_epoch, std::move(outcome.error()));
  }
  item.answer->fulfil(std::move(outcome));
}

void append_lane::fail_collected(const error& reason) {
  for (waiting& item : waiting_) {
    error told = error(reason).within(fmt::format("append to {}", item.to.text()));
    item.answer->fulfil(note_leader_error(cluster(), item.to, item.leader_epoch, std::move(told)));
  }
  waiting_.clear();
}

asio::awaitable<void> append_lane::send(std::shared_ptr<client::connection> connection) {
  std::vector<waiting> items = take_one_request();
  auto bytes = std::make_shared<request_bytes>();
  bytes->headers.reserve(items.size());  // the request keeps views into it
  wire::produce_request request;
  request.acks = static_cast<std::int16_t>(items.front().write.confirmation);
  request.timeout_ms = static_cast<std::int32_t>(request_timeout_.count());
  std::unordered_map<std::string, std::size_t> topic_at;
  for (const waiting& item : items) {
    const batch_append& write = item.write;
    if (write.batch.header.is_transactional()) request.transactional_id = transactional_id_;
    bytes->headers.push_back(wire::patched_header(write.batch, {write.pid.value, write.epoch, write.sequence}));
    bytes->owners.push_back(write.owner);
    const auto [at, is_new] = topic_at.try_emplace(item.to.topic, request.topic_data.size());
    if (is_new) request.topic_data.push_back({item.to.topic, {}});
    wire::produce_request_partition partition;
    partition.index = item.to.partition;
    partition.records.pieces = {bytes->headers.back(), write.batch.bytes.subspan(wire::batch_header_bytes)};
    request.topic_data[at->second].partition_data.push_back(std::move(partition));
  }
  // The broker itself gives up after timeout_ms; its answer must have time to arrive.
  auto call = connection->start_call(request, request_timeout_ + request_timeout_ / 2, bytes);
  return await_and_complete(std::move(items), std::move(call));
}

asio::awaitable<void> append_lane::await_and_complete(std::vector<waiting> items, client::pending_call<wire::produce_response> call) {
  auto reply = co_await call.wait();
  if (!reply) {
    for (waiting& item : items) complete(item, error(reply.error()).within(fmt::format("append to {}", item.to.text())));
    co_return;
  }
  std::map<topic_partition, const wire::produce_response_partition*> answers;
  for (const auto& topic : reply->body.responses) {
    for (const auto& partition : topic.partition_responses) answers[{topic.name, partition.index}] = &partition;
  }
  for (waiting& item : items) {
    const auto found = answers.find(item.to);
    if (found == answers.end()) {
      complete(item, fail(errc::malformed, fmt::format("append to {}: the answer does not mention it", item.to.text())));
    } else if (found->second->error_code != 0) {
      complete(item, broker_failure(found->second->error_code, fmt::format("append to {}", item.to.text()),
                                    found->second->error_message.value_or("")));
    } else {
      complete(item, append_answer{found->second->base_offset});
    }
  }
}

}  // namespace mirrord::mirror
