// One question about one partition to the broker that leads it, over that broker's control connection.
//
// Leader errors are passed on to the cluster's metadata, so that the next leader_of() asks again.
#pragma once

#include "base/broker_error.hpp"
#include "client/cluster.hpp"
#include "wire/offsets.hpp"
#include "wire/transactions.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace mirrord::mirror {

namespace asio = boost::asio;

// Whether the code says that another broker leads the partition, or this one under another epoch.
[[nodiscard]] bool is_leader_error(std::int16_t broker_code) noexcept;

// Tells the cluster about a leader error; gives the error back.
[[nodiscard]] error note_leader_error(client::cluster& cluster, const topic_partition& tp, std::int32_t epoch, error e);

// ListOffsets for latest_timestamp (the high watermark) or earliest_timestamp (the log start).
[[nodiscard]] asio::awaitable<result<std::int64_t>> list_offset(client::cluster& cluster, topic_partition tp, client::leader leader, std::int64_t timestamp);

// OffsetForLeaderEpoch of the leader's own epoch: the log end.
[[nodiscard]] asio::awaitable<result<std::int64_t>> log_end(client::cluster& cluster, topic_partition tp, client::leader leader);

[[nodiscard]] asio::awaitable<result<std::vector<wire::producer_state>>> describe_producers(client::cluster& cluster, topic_partition tp, client::leader leader);

struct fetched_partition {
  std::shared_ptr<const void> owner;   // keeps `records` alive
  std::span<const std::byte> records;  // from the batch that holds the offset on; that one is whole
  std::int64_t log_start = -1;         // -1: an old broker does not tell
  std::int64_t high_watermark = -1;
  std::int64_t last_stable = -1;
};

// Fetch of this partition alone, without waiting for data, over the connection of that index.
[[nodiscard]] asio::awaitable<result<fetched_partition>> fetch_partition(client::cluster& cluster, std::int32_t connection_index, topic_partition tp,
                                                                        client::leader leader, std::int64_t offset, std::int32_t bytes_max);

[[nodiscard]] asio::awaitable<result<void>> delete_records(client::cluster& cluster, topic_partition tp, client::leader leader, std::int64_t before);

}  // namespace mirrord::mirror
