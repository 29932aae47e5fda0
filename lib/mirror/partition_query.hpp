// One question about one partition to the broker that leads it, over that broker's control connection.
//
// Leader errors are passed on to the cluster's metadata, so that the next leader_of() asks again.
#pragma once

#include "base/broker_error.hpp"
#include "client/cluster.hpp"
#include "wire/offsets.hpp"
#include "wire/transactions.hpp"

#include <cstdint>
#include <string>

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

[[nodiscard]] asio::awaitable<result<void>> delete_records(client::cluster& cluster, topic_partition tp, client::leader leader, std::int64_t before);

}  // namespace mirrord::mirror
