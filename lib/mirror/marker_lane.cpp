#include "mirror/marker_lane.hpp"

#include <fmt/format.h>

#include <map>
#include <tuple>

namespace mirrord::mirror {
namespace {

constexpr std::size_t requests_under_way_max = 2;   // one at the broker, one behind it; more would only spread the markers
constexpr std::size_t markers_per_request_max = 10'000;

}  // namespace

marker_lane::marker_lane(asio::any_io_executor executor, client::cluster& cluster, broker_id broker, int connection_index,
                         std::chrono::milliseconds request_timeout, write_lease& lease)
    : request_lane(std::move(executor), cluster, broker, connection_index, requests_under_way_max, &lease), request_timeout_(request_timeout) {
  start();
}

std::shared_ptr<one_shot<result<void>>> marker_lane::mark(const topic_partition& to, std::vector<end_marker> markers) {
  auto answer = std::make_shared<one_shot<result<void>>>(executor());
  note_collected();
  waiting_.push_back({to, std::move(markers), answer});
  wake();
  return answer;
}

void marker_lane::fail_collected(const error& reason) {
  for (waiting& item : waiting_) item.answer->fulfil(error(reason).within(fmt::format("mark {}", item.to.text())));
  waiting_.clear();
}

asio::awaitable<void> marker_lane::send(std::shared_ptr<client::connection> connection) {
  std::vector<waiting> items;
  std::size_t markers = 0;
  while (!waiting_.empty() && (items.empty() || markers + waiting_.front().markers.size() <= markers_per_request_max)) {
    markers += waiting_.front().markers.size();
    items.push_back(std::move(waiting_.front()));
    waiting_.pop_front();
  }

  // (position in its partition's list, producer, epoch, outcome, coordinator epoch) -> topic -> partitions
  using entry_key = std::tuple<std::size_t, std::int64_t, std::int16_t, bool, std::int32_t>;
  std::map<entry_key, std::map<std::string, std::vector<std::int32_t>>> entries;
  for (const waiting& item : items) {
    for (std::size_t n = 0; n < item.markers.size(); ++n) {
      const end_marker& marker = item.markers[n];
      entries[{n, marker.pid.value, marker.epoch, marker.commit, marker.coordinator_epoch}][item.to.topic].push_back(item.to.partition);
    }
  }
  wire::write_txn_markers_request request;
  request.markers.reserve(entries.size());
  for (auto& [key, topics] : entries) {
    wire::write_txn_markers_request_marker entry;
    std::tie(std::ignore, entry.producer_id, entry.producer_epoch, entry.transaction_result, entry.coordinator_epoch) = key;
    for (auto& [topic, partitions] : topics) entry.topics.push_back({topic, std::move(partitions)});
    request.markers.push_back(std::move(entry));
  }
  auto call = connection->start_call(request, request_timeout_ + request_timeout_ / 2);
  return await_and_complete(std::move(items), std::move(call));
}

asio::awaitable<void> marker_lane::await_and_complete(std::vector<waiting> items, client::pending_call<wire::write_txn_markers_response> call) {
  auto reply = co_await call.wait();
  if (!reply) {
    for (waiting& item : items) item.answer->fulfil(error(reply.error()).within(fmt::format("mark {}", item.to.text())));
    co_return;
  }
  std::map<std::pair<std::int64_t, topic_partition>, std::int16_t> codes;
  for (const auto& marker : reply->body.markers) {
    for (const auto& topic : marker.topics) {
      for (const auto& partition : topic.partitions) {
        std::int16_t& code = codes[{marker.producer_id, {topic.name, partition.partition_index}}];
        if (code == 0) code = partition.error_code;
      }
    }
  }
  for (waiting& item : items) {
    result<void> outcome;
    for (const end_marker& marker : item.markers) {
      const auto code = codes.find({marker.pid.value, item.to});
      if (code == codes.end()) {
        outcome = fail(errc::malformed, fmt::format("mark {}: the answer does not mention it", item.to.text()));
      } else if (code->second != 0) {
        outcome = broker_failure(code->second, fmt::format("mark {}", item.to.text()));
      }
      if (!outcome) break;
    }
    item.answer->fulfil(std::move(outcome));
  }
}

}  // namespace mirrord::mirror
