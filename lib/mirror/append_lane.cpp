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
constexpr int passed_over_max = 8;                          // requests that may go before the oldest waiting append
constexpr std::size_t request_bytes_max = 8 * 1024 * 1024;  // well below socket.request.max.bytes (100 MiB)

// Everything that a request borrows: the patched headers and the owners of the batches' bytes.
struct request_bytes {
  std::vector<std::array<std::byte, wire::batch_header_bytes>> headers;
  std::vector<std::shared_ptr<const void>> owners;
};

}  // namespace

append_lane::append_lane(asio::any_io_executor executor, client::cluster& cluster, broker_id broker, int connection_index,
                         std::string transactional_id, std::chrono::milliseconds request_timeout, write_lease& lease)
    : request_lane(std::move(executor), cluster, broker, connection_index, requests_under_way_max, &lease),
      transactional_id_(std::move(transactional_id)), request_timeout_(request_timeout) {
  start();
}

std::shared_ptr<one_shot<result<append_answer>>> append_lane::append(const topic_partition& to, std::int32_t leader_epoch, batch_append write) {
  auto answer = std::make_shared<one_shot<result<append_answer>>>(executor());
  note_collected();
  waiting_.push_back({to, leader_epoch, std::move(write), answer});
  wake();
  return answer;
}

// A broker reads no further request of a connection while an answer is due, and an acks=all answer takes as long as the
// replication. Transactional appends are small and share a request only with those of the same producer: sent one request at
// a time, those that wait meanwhile grow into fewer and larger ones.
bool append_lane::has_room(std::size_t under_way) const {
  const batch_append& oldest = waiting_.front().write;
  const bool gathers = oldest.batch.header.is_transactional() && oldest.confirmation == acks::all;
  return under_way < (gathers ? 1 : requests_under_way_max);
}

// The oldest waiting append decides over the kind of acks; of the producers that wait, the one with the most appends goes
// first, unless the oldest has been passed over for a while. Only the first append of a partition counts: the others cannot
// go now, and a producer that has nothing but such would make an empty request.
append_lane::request_kind append_lane::choose_kind() const {
  request_kind kind{waiting_.front().write.confirmation, std::nullopt};
  std::map<std::pair<destination_pid, std::int16_t>, std::size_t> counts;
  std::set<topic_partition> passed;
  std::size_t most = 0;
  const bool is_oldest_late = passed_over_ >= passed_over_max;
  for (const waiting& item : waiting_) {
    if (!passed.insert(item.to).second) continue;
    if (!item.write.batch.header.is_transactional() || item.write.confirmation != kind.confirmation) continue;
    const std::pair producer{item.write.pid, item.write.epoch};
    const std::size_t count = ++counts[producer];
    if (count > most) {
      most = count;
      kind.transactional = producer;
    }
    if (is_oldest_late) break;
  }
  return kind;
}

std::vector<append_lane::waiting> append_lane::take_one_request() {
  std::vector<waiting> taken;
  std::deque<waiting> left;
  std::set<topic_partition> passed;  // partitions that are in the request, or whose turn is not yet
  const request_kind kind = choose_kind();
  std::size_t bytes = 0;
  bool is_oldest_taken = false;
  for (waiting& item : waiting_) {
    const bool is_transactional = item.write.batch.header.is_transactional();
    const bool is_of_kind = item.write.confirmation == kind.confirmation &&
                            (!is_transactional || kind.transactional == std::pair{item.write.pid, item.write.epoch});
    const bool has_room = taken.empty() || bytes + item.write.batch.bytes.size() <= request_bytes_max;
    const bool first_of_partition = passed.insert(item.to).second;
    if (!first_of_partition || !is_of_kind || !has_room) {
      left.push_back(std::move(item));
      continue;
    }
    if (&item == &waiting_.front()) is_oldest_taken = true;
    bytes += item.write.batch.bytes.size();
    taken.push_back(std::move(item));
  }
  passed_over_ = is_oldest_taken ? 0 : passed_over_ + 1;
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
