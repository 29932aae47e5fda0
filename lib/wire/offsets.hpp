// Where a log starts and ends: OffsetForLeaderEpoch, ListOffsets, DeleteRecords.
//
// Only OffsetForLeaderEpoch with current_leader_epoch proves an end: followers refuse it, while they answer
// ListOffsets for the earliest offset with stale values. Sources: KIP-320, KIP-79, KIP-107.
#pragma once

#include "wire/api.hpp"
#include "wire/fields.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace mirrord::wire {

// 2: first version with current_leader_epoch (Kafka 2.1). 4: newest.
inline constexpr api_range offset_for_leader_epoch_api{api_key::offset_for_leader_epoch, 2, 4, 4};

struct offset_for_leader_epoch_response_partition {
  std::int16_t error_code = 0;
  std::int32_t partition = 0;
  std::int32_t leader_epoch = -1;  // the largest epoch in the log that is not above the one asked for; -1: none
  std::int64_t end_offset = -1;    // the first offset after that epoch; -1: none

  template <class Self, class Visitor>
  static void fields(Self& m, Visitor& v) {
    v.field("error_code", m.error_code);
    v.field("partition", m.partition);
    v.field("leader_epoch", m.leader_epoch);
    v.field("end_offset", m.end_offset);
  }
};

struct offset_for_leader_epoch_response_topic {
  std::string topic;
  std::vector<offset_for_leader_epoch_response_partition> partitions;

  template <class Self, class Visitor>
  static void fields(Self& m, Visitor& v) {
    v.field("topic", m.topic);
    v.field("partitions", m.partitions);
  }
};

struct offset_for_leader_epoch_response {
  static constexpr api_range api = offset_for_leader_epoch_api;

  std::int32_t throttle_time_ms = 0;
  std::vector<offset_for_leader_epoch_response_topic> topics;

  template <class Self, class Visitor>
  static void fields(Self& m, Visitor& v) {
    v.field("throttle_time_ms", m.throttle_time_ms);
    v.field("topics", m.topics);
  }
};

struct offset_for_leader_epoch_request_partition {
  std::int32_t partition = 0;
  std::int32_t current_leader_epoch = -1;  // -1: no check
  std::int32_t leader_epoch = 0;

  template <class Self, class Visitor>
  static void fields(Self& m, Visitor& v) {
    v.field("partition", m.partition);
    v.field("current_leader_epoch", m.current_leader_epoch);
    v.field("leader_epoch", m.leader_epoch);
  }
};

struct offset_for_leader_epoch_request_topic {
  std::string topic;
  std::vector<offset_for_leader_epoch_request_partition> partitions;

  template <class Self, class Visitor>
  static void fields(Self& m, Visitor& v) {
    v.field("topic", m.topic);
    v.field("partitions", m.partitions);
  }
};

struct offset_for_leader_epoch_request {
  using response = offset_for_leader_epoch_response;
  static constexpr api_range api = offset_for_leader_epoch_api;

  std::int32_t replica_id = -1;  // -1: a consumer
  std::vector<offset_for_leader_epoch_request_topic> topics;

  template <class Self, class Visitor>
  static void fields(Self& m, Visitor& v) {
    v.field("replica_id", m.replica_id, since(3));
    v.field("topics", m.topics);
  }
};

// 2: isolation level (Kafka 0.11). 8: newest whose additions (max timestamp, local log start) are of use here;
// later ones are about tiered storage, which mirror topics do not have.
inline constexpr api_range list_offsets_api{api_key::list_offsets, 2, 8, 6};

inline constexpr std::int64_t latest_timestamp = -1;    // high watermark, or LSO for read_committed
inline constexpr std::int64_t earliest_timestamp = -2;  // log start

struct list_offsets_response_partition {
  std::int32_t partition_index = 0;
  std::int16_t error_code = 0;
  std::int64_t timestamp = -1;
  std::int64_t offset = -1;
  std::int32_t leader_epoch = -1;

  template <class Self, class Visitor>
  static void fields(Self& m, Visitor& v) {
    v.field("partition_index", m.partition_index);
    v.field("error_code", m.error_code);
    v.field("timestamp", m.timestamp);
    v.field("offset", m.offset);
    v.field("leader_epoch", m.leader_epoch, since(4));
  }
};

struct list_offsets_response_topic {
  std::string name;
  std::vector<list_offsets_response_partition> partitions;

  template <class Self, class Visitor>
  static void fields(Self& m, Visitor& v) {
    v.field("name", m.name);
    v.field("partitions", m.partitions);
  }
};

struct list_offsets_response {
  static constexpr api_range api = list_offsets_api;

  std::int32_t throttle_time_ms = 0;
  std::vector<list_offsets_response_topic> topics;

  template <class Self, class Visitor>
  static void fields(Self& m, Visitor& v) {
    v.field("throttle_time_ms", m.throttle_time_ms);
    v.field("topics", m.topics);
  }
};

struct list_offsets_request_partition {
  std::int32_t partition_index = 0;
  std::int32_t current_leader_epoch = -1;  // -1: no check
  std::int64_t timestamp = latest_timestamp;

  template <class Self, class Visitor>
  static void fields(Self& m, Visitor& v) {
    v.field("partition_index", m.partition_index);
    v.field("current_leader_epoch", m.current_leader_epoch, since(4));
    v.field("timestamp", m.timestamp);
  }
};

struct list_offsets_request_topic {
  std::string name;
  std::vector<list_offsets_request_partition> partitions;

  template <class Self, class Visitor>
  static void fields(Self& m, Visitor& v) {
    v.field("name", m.name);
    v.field("partitions", m.partitions);
  }
};

struct list_offsets_request {
  using response = list_offsets_response;
  static constexpr api_range api = list_offsets_api;

  std::int32_t replica_id = -1;     // -1: a consumer; -2: a debugging one, for whom "latest" is the log end offset
  std::int8_t isolation_level = 0;  // 0: read_uncommitted, 1: read_committed
  std::vector<list_offsets_request_topic> topics;

  template <class Self, class Visitor>
  static void fields(Self& m, Visitor& v) {
    v.field("replica_id", m.replica_id);
    v.field("isolation_level", m.isolation_level);
    v.field("topics", m.topics);
  }
};

// 0: first. 2: newest, flexible.
inline constexpr api_range delete_records_api{api_key::delete_records, 0, 2, 2};

struct delete_records_response_partition {
  std::int32_t partition_index = 0;
  std::int64_t low_watermark = -1;
  std::int16_t error_code = 0;

  template <class Self, class Visitor>
  static void fields(Self& m, Visitor& v) {
    v.field("partition_index", m.partition_index);
    v.field("low_watermark", m.low_watermark);
    v.field("error_code", m.error_code);
  }
};

struct delete_records_response_topic {
  std::string name;
  std::vector<delete_records_response_partition> partitions;

  template <class Self, class Visitor>
  static void fields(Self& m, Visitor& v) {
    v.field("name", m.name);
    v.field("partitions", m.partitions);
  }
};

struct delete_records_response {
  static constexpr api_range api = delete_records_api;

  std::int32_t throttle_time_ms = 0;
  std::vector<delete_records_response_topic> topics;

  template <class Self, class Visitor>
  static void fields(Self& m, Visitor& v) {
    v.field("throttle_time_ms", m.throttle_time_ms);
    v.field("topics", m.topics);
  }
};

struct delete_records_request_partition {
  std::int32_t partition_index = 0;
  std::int64_t offset = 0;  // the new log start; -1 means the high watermark

  template <class Self, class Visitor>
  static void fields(Self& m, Visitor& v) {
    v.field("partition_index", m.partition_index);
    v.field("offset", m.offset);
  }
};

struct delete_records_request_topic {
  std::string name;
  std::vector<delete_records_request_partition> partitions;

  template <class Self, class Visitor>
  static void fields(Self& m, Visitor& v) {
    v.field("name", m.name);
    v.field("partitions", m.partitions);
  }
};

struct delete_records_request {
  using response = delete_records_response;
  static constexpr api_range api = delete_records_api;

  std::vector<delete_records_request_topic> topics;
  std::int32_t timeout_ms = 0;

  template <class Self, class Visitor>
  static void fields(Self& m, Visitor& v) {
    v.field("topics", m.topics);
    v.field("timeout_ms", m.timeout_ms);
  }
};

}  // namespace mirrord::wire
