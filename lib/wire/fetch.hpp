// Fetch: record batches as the source stores them. `records` is a view into the answer's frame.
//
// We always read as a consumer: fields that only followers and controllers send (replica state, directory id, high
// watermark, snapshots) have no place here. Sessions: KIP-227; epochs: KIP-320, KIP-595; topic ids: KIP-516.
#pragma once

#include "base/ids.hpp"
#include "wire/api.hpp"
#include "wire/fields.hpp"
#include "wire/leader_hints.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace mirrord::wire {

// 4: first version that hands out record batches as stored (record format v2). 17: newest that adds anything for a
// consumer-shaped reader; 18 tells the leader a follower's high watermark. Kafka 2.1 ends at 10.
inline constexpr api_range fetch_api{api_key::fetch, 4, 17, 12};

// Below this version topics go by name, from it on by id; the other field is not on the wire.
inline constexpr std::int16_t fetch_by_topic_id_since = 13;

struct epoch_end_offset {
  std::int32_t epoch = -1;
  std::int64_t end_offset = -1;

  template <class Self, class Visitor>
  static void fields(Self& m, Visitor& v) {
    v.field("epoch", m.epoch);
    v.field("end_offset", m.end_offset);
  }
};

struct aborted_transaction {
  std::int64_t producer_id = 0;
  std::int64_t first_offset = 0;

  template <class Self, class Visitor>
  static void fields(Self& m, Visitor& v) {
    v.field("producer_id", m.producer_id);
    v.field("first_offset", m.first_offset);
  }
};

struct fetch_response_partition {
  std::int32_t partition_index = 0;
  std::int16_t error_code = 0;
  std::int64_t high_watermark = -1;
  std::int64_t last_stable_offset = -1;
  std::int64_t log_start_offset = -1;  // -1: not known (before version 5, and with some errors)
  std::optional<epoch_end_offset> diverging_epoch;  // set: what we last fetched is not in the leader's log
  std::optional<leader_id_and_epoch> current_leader;
  std::optional<std::vector<aborted_transaction>> aborted_transactions;  // only for read_committed
  std::int32_t preferred_read_replica = -1;
  std::span<const std::byte> records;  // may end within a batch; a view without an address is null on the wire

  template <class Self, class Visitor>
  static void fields(Self& m, Visitor& v) {
    v.field("partition_index", m.partition_index);
    v.field("error_code", m.error_code);
    v.field("high_watermark", m.high_watermark);
    v.field("last_stable_offset", m.last_stable_offset);
    v.field("log_start_offset", m.log_start_offset, since(5));
    v.field("aborted_transactions", m.aborted_transactions);
    v.field("preferred_read_replica", m.preferred_read_replica, since(11));
    v.field("records", m.records);
    v.tagged(0, "diverging_epoch", m.diverging_epoch, since(12));
    v.tagged(1, "current_leader", m.current_leader, since(12));
  }
};

struct fetch_response_topic {
  std::string topic;  // before version 13
  mirrord::topic_id topic_id;  // from version 13
  std::vector<fetch_response_partition> partitions;

  template <class Self, class Visitor>
  static void fields(Self& m, Visitor& v) {
    v.field("topic", m.topic, until(12));
    v.field("topic_id", m.topic_id, since(13));
    v.field("partitions", m.partitions);
  }
};

struct fetch_response {
  static constexpr api_range api = fetch_api;

  std::int32_t throttle_time_ms = 0;
  std::int16_t error_code = 0;
  std::int32_t session_id = 0;  // 0: the broker keeps no session
  std::vector<fetch_response_topic> responses;
  std::vector<node_endpoint> node_endpoints;

  template <class Self, class Visitor>
  static void fields(Self& m, Visitor& v) {
    v.field("throttle_time_ms", m.throttle_time_ms);
    v.field("error_code", m.error_code, since(7));
    v.field("session_id", m.session_id, since(7));
    v.field("responses", m.responses);
    v.tagged(0, "node_endpoints", m.node_endpoints, since(16));
  }
};

struct fetch_request_partition {
  std::int32_t partition = 0;
  std::int32_t current_leader_epoch = -1;  // -1: no check
  std::int64_t fetch_offset = 0;
  std::int32_t last_fetched_epoch = -1;  // -1: no check; else the broker answers with diverging_epoch where it differs
  std::int64_t log_start_offset = -1;    // of followers only
  std::int32_t partition_max_bytes = 0;

  template <class Self, class Visitor>
  static void fields(Self& m, Visitor& v) {
    v.field("partition", m.partition);
    v.field("current_leader_epoch", m.current_leader_epoch, since(9));
    v.field("fetch_offset", m.fetch_offset);
    v.field("last_fetched_epoch", m.last_fetched_epoch, since(12));
    v.field("log_start_offset", m.log_start_offset, since(5));
    v.field("partition_max_bytes", m.partition_max_bytes);
  }
};

struct fetch_request_topic {
  std::string topic;  // before version 13
  mirrord::topic_id topic_id;  // from version 13
  std::vector<fetch_request_partition> partitions;

  template <class Self, class Visitor>
  static void fields(Self& m, Visitor& v) {
    v.field("topic", m.topic, until(12));
    v.field("topic_id", m.topic_id, since(13));
    v.field("partitions", m.partitions);
  }
};

struct fetch_request_forgotten_topic {
  std::string topic;  // before version 13
  mirrord::topic_id topic_id;  // from version 13
  std::vector<std::int32_t> partitions;

  template <class Self, class Visitor>
  static void fields(Self& m, Visitor& v) {
    v.field("topic", m.topic, until(12));
    v.field("topic_id", m.topic_id, since(13));
    v.field("partitions", m.partitions);
  }
};

struct fetch_request {
  using response = fetch_response;
  static constexpr api_range api = fetch_api;

  std::int32_t replica_id = -1;  // -1: a consumer
  std::int32_t max_wait_ms = 0;
  std::int32_t min_bytes = 0;
  std::int32_t max_bytes = INT32_MAX;
  std::int8_t isolation_level = 0;  // 0: read_uncommitted, 1: read_committed
  std::int32_t session_id = 0;
  std::int32_t session_epoch = -1;  // -1: no session, 0: begin one, n > 0: the n-th request of it
  std::vector<fetch_request_topic> topics;
  std::vector<fetch_request_forgotten_topic> forgotten_topics_data;
  std::string rack_id;

  template <class Self, class Visitor>
  static void fields(Self& m, Visitor& v) {
    v.field("replica_id", m.replica_id, until(14));
    v.field("max_wait_ms", m.max_wait_ms);
    v.field("min_bytes", m.min_bytes);
    v.field("max_bytes", m.max_bytes);
    v.field("isolation_level", m.isolation_level);
    v.field("session_id", m.session_id, since(7));
    v.field("session_epoch", m.session_epoch, since(7));
    v.field("topics", m.topics);
    v.field("forgotten_topics_data", m.forgotten_topics_data, since(7));
    v.field("rack_id", m.rack_id, since(11));
  }
};

}  // namespace mirrord::wire
