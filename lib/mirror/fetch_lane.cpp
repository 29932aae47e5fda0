#include "mirror/fetch_lane.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

namespace mirrord::mirror {
namespace {

using namespace std::chrono_literals;

constexpr auto busy_wait_max = 20ms;    // how long a busy partition's next ask may be held up by the others' waiting
constexpr auto busy_for_at_most = 1s;   // then it is taken for stopped, not busy

}  // namespace

asio::awaitable<void> fetch_budget::wait_for_room() {
  while (held_ >= bytes_max_) (void)co_await freed_.wait();
}

std::shared_ptr<const void> fetch_budget::hold(std::shared_ptr<fetch_budget> budget, client::frame_bytes frame) {
  budget->held_ += frame->size();
  const void* address = frame->data();
  return {address, [budget = std::move(budget), frame = std::move(frame)](const void*) {
            budget->held_ -= frame->size();
            budget->freed_.notify();
          }};
}

fetch_lane::fetch_lane(asio::any_io_executor executor, client::cluster& cluster, broker_id broker, int connection_index,
                       const fetch_settings& settings, std::chrono::milliseconds request_timeout, std::shared_ptr<fetch_budget> budget)
    : request_lane(std::move(executor), cluster, broker, connection_index, 1), settings_(settings),
      request_timeout_(request_timeout), budget_(std::move(budget)) {
  start();
}

std::shared_ptr<one_shot<result<source_chunk>>> fetch_lane::fetch(ask wanted) {
  auto answer = std::make_shared<one_shot<result<source_chunk>>>(executor());
  served_[wanted.from].busy_since = {};
  waiting_.push_back({std::move(wanted), answer});
  wake();
  return answer;
}

void fetch_lane::fail_collected(const error& reason) {
  for (waiting& item : waiting_) item.answer->fulfil(error(reason).within(fmt::format("fetch {}", item.wanted.from.text())));
  waiting_.clear();
}

bool fetch_lane::anyone_busy() {
  const auto now = std::chrono::steady_clock::now();
  return std::any_of(served_.begin(), served_.end(), [&](const auto& entry) {
    return entry.second.busy_since != std::chrono::steady_clock::time_point{} && now - entry.second.busy_since < busy_for_at_most;
  });
}

asio::awaitable<void> fetch_lane::send(std::shared_ptr<client::connection> connection) {
  std::stable_sort(waiting_.begin(), waiting_.end(), [&](const waiting& a, const waiting& b) {
    return served_[a.wanted.from].last_data < served_[b.wanted.from].last_data;
  });
  return fetch_and_complete(std::move(connection), std::exchange(waiting_, {}));
}

asio::awaitable<void> fetch_lane::fetch_and_complete(std::shared_ptr<client::connection> connection, std::vector<waiting> items) {
  co_await budget_->wait_for_room();
  wire::fetch_request request;
  const auto wait = anyone_busy() ? std::min(settings_.wait_max, std::chrono::milliseconds(busy_wait_max)) : settings_.wait_max;
  request.max_wait_ms = static_cast<std::int32_t>(wait.count());
  request.min_bytes = settings_.min_bytes;
  request.max_bytes = settings_.response_max_bytes;
  std::unordered_map<std::string, std::size_t> topic_at;
  for (const waiting& item : items) {
    const auto [at, is_new] = topic_at.try_emplace(item.wanted.from.topic, request.topics.size());
    if (is_new) request.topics.push_back({item.wanted.from.topic, item.wanted.topic, {}});
    wire::fetch_request_partition partition;
    partition.partition = item.wanted.from.partition;
    partition.current_leader_epoch = item.wanted.leader_epoch.value;
    partition.fetch_offset = item.wanted.offset;
    partition.partition_max_bytes = settings_.max_bytes;
    request.topics[at->second].partitions.push_back(partition);
  }
  auto reply = co_await connection->call(request, request_timeout_ + settings_.wait_max);
  error failure;
  if (!reply) {
    failure = std::move(reply.error());
  } else if (reply->body.error_code != 0) {
    failure = broker_failure(reply->body.error_code, connection->name());
  } else {
    hand_out(std::move(items), reply->body, reply->frame);
    co_return;
  }
  for (waiting& item : items) item.answer->fulfil(error(failure).within(fmt::format("fetch {}", item.wanted.from.text())));
}

void fetch_lane::hand_out(std::vector<waiting> items, const wire::fetch_response& response, const client::frame_bytes& frame) {
  std::map<std::pair<topic_id, std::int32_t>, const wire::fetch_response_partition*> by_id;
  std::map<topic_partition, const wire::fetch_response_partition*> by_name;
  for (const auto& topic : response.responses) {
    for (const auto& partition : topic.partitions) {
      if (topic.topic.empty()) by_id[{topic.topic_id, partition.partition_index}] = &partition;
      else by_name[{topic.topic, partition.partition_index}] = &partition;
    }
  }
  const auto held = fetch_budget::hold(budget_, frame);
  ++answers_with_data_;
  for (waiting& item : items) {
    const wire::fetch_response_partition* found = nullptr;
    if (const auto named = by_name.find(item.wanted.from); named != by_name.end()) found = named->second;
    else if (const auto known = by_id.find({item.wanted.topic, item.wanted.from.partition}); known != by_id.end()) found = known->second;

    if (!found) {
      item.answer->fulfil(fail(errc::malformed, fmt::format("fetch {}: the answer does not mention it", item.wanted.from.text())));
      continue;
    }
    if (found->error_code != 0) {
      item.answer->fulfil(broker_failure(found->error_code, fmt::format("fetch {} at offset {}", item.wanted.from.text(), item.wanted.offset)));
      continue;
    }
    source_chunk chunk;
    chunk.bounds = {found->log_start_offset, found->high_watermark};
    if (!found->records.empty()) {
      chunk.owner = held;
      chunk.records = found->records;
      served& state = served_[item.wanted.from];
      state.last_data = answers_with_data_;
      state.busy_since = std::chrono::steady_clock::now();
    }
    item.answer->fulfil(std::move(chunk));
  }
}

}  // namespace mirrord::mirror
