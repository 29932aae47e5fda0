// Producer ids, the producers that a partition knows, and transaction markers.
//
// A marker's answer carries no offset, and with several markers of one producer id and partition in a request its
// error is not exact. Only the leader's DescribeProducers counts. Sources: KIP-98, KIP-664, KIP-1228.
#pragma once

#include "wire/api.hpp"
#include "wire/fields.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace mirrord::wire {

// 0: first. 4: newest that a client of any age may send; 5 and 6 are about transactions of version 2 and two-phase commit.
inline constexpr api_range init_producer_id_api{api_key::init_producer_id, 0, 4, 2};

struct init_producer_id_response {
  static constexpr api_range api = init_producer_id_api;

  std::int32_t throttle_time_ms = 0;
  std::int16_t error_code = 0;
  std::int64_t producer_id = -1;
  std::int16_t producer_epoch = -1;

  template <class Self, class Visitor>
  static void fields(Self& m, Visitor& v) {
    v.field("throttle_time_ms", m.throttle_time_ms);
    v.field("error_code", m.error_code);
    v.field("producer_id", m.producer_id);
    v.field("producer_epoch", m.producer_epoch);
  }
};

struct init_producer_id_request {
  using response = init_producer_id_response;
  static constexpr api_range api = init_producer_id_api;

  std::optional<std::string> transactional_id;  // nullopt: any broker answers, with an id of its own block
  std::int32_t transaction_timeout_ms = 0;
  std::int64_t producer_id = -1;  // -1: a new one
  std::int16_t producer_epoch = -1;

  template <class Self, class Visitor>
  static void fields(Self& m, Visitor& v) {
    v.field("transactional_id", m.transactional_id);
    v.field("transaction_timeout_ms", m.transaction_timeout_ms);
    v.field("producer_id", m.producer_id, since(3));
    v.field("producer_epoch", m.producer_epoch, since(3));
  }
};

// The only version (Kafka 2.8).
inline constexpr api_range describe_producers_api{api_key::describe_producers, 0, 0, 0};

struct producer_state {
  std::int64_t producer_id = 0;
  std::int32_t producer_epoch = 0;  // Kafka sends 32 bits here, 16 everywhere else
  std::int32_t last_sequence = -1;
  std::int64_t last_timestamp = -1;
  std::int32_t coordinator_epoch = 0;
  std::int64_t current_txn_start_offset = -1;  // -1: no open transaction

  template <class Self, class Visitor>
  static void fields(Self& m, Visitor& v) {
    v.field("producer_id", m.producer_id);
    v.field("producer_epoch", m.producer_epoch);
    v.field("last_sequence", m.last_sequence);
    v.field("last_timestamp", m.last_timestamp);
    v.field("coordinator_epoch", m.coordinator_epoch);
    v.field("current_txn_start_offset", m.current_txn_start_offset);
  }
};

struct describe_producers_response_partition {
  std::int32_t partition_index = 0;
  std::int16_t error_code = 0;
  std::optional<std::string> error_message;
  std::vector<producer_state> active_producers;

  template <class Self, class Visitor>
  static void fields(Self& m, Visitor& v) {
    v.field("partition_index", m.partition_index);
    v.field("error_code", m.error_code);
    v.field("error_message", m.error_message);
    v.field("active_producers", m.active_producers);
  }
};

struct describe_producers_response_topic {
  std::string name;
  std::vector<describe_producers_response_partition> partitions;

  template <class Self, class Visitor>
  static void fields(Self& m, Visitor& v) {
    v.field("name", m.name);
    v.field("partitions", m.partitions);
  }
};

struct describe_producers_response {
  static constexpr api_range api = describe_producers_api;

  std::int32_t throttle_time_ms = 0;
  std::vector<describe_producers_response_topic> topics;

  template <class Self, class Visitor>
  static void fields(Self& m, Visitor& v) {
    v.field("throttle_time_ms", m.throttle_time_ms);
    v.field("topics", m.topics);
  }
};

struct describe_producers_request_topic {
  std::string name;
  std::vector<std::int32_t> partition_indexes;

  template <class Self, class Visitor>
  static void fields(Self& m, Visitor& v) {
    v.field("name", m.name);
    v.field("partition_indexes", m.partition_indexes);
  }
};

struct describe_producers_request {
  using response = describe_producers_response;
  static constexpr api_range api = describe_producers_api;

  std::vector<describe_producers_request_topic> topics;

  template <class Self, class Visitor>
  static void fields(Self& m, Visitor& v) {
    v.field("topics", m.topics);
  }
};

// 1: what every destination speaks (2.8 and later; 0 is gone since 4.0). 2: adds transaction_version, newest (4.4).
inline constexpr api_range write_txn_markers_api{api_key::write_txn_markers, 1, 2, 1};

struct write_txn_markers_response_partition {
  std::int32_t partition_index = 0;
  std::int16_t error_code = 0;

  template <class Self, class Visitor>
  static void fields(Self& m, Visitor& v) {
    v.field("partition_index", m.partition_index);
    v.field("error_code", m.error_code);
  }
};

struct write_txn_markers_response_topic {
  std::string name;
  std::vector<write_txn_markers_response_partition> partitions;

  template <class Self, class Visitor>
  static void fields(Self& m, Visitor& v) {
    v.field("name", m.name);
    v.field("partitions", m.partitions);
  }
};

struct write_txn_markers_response_marker {
  std::int64_t producer_id = 0;
  std::vector<write_txn_markers_response_topic> topics;

  template <class Self, class Visitor>
  static void fields(Self& m, Visitor& v) {
    v.field("producer_id", m.producer_id);
    v.field("topics", m.topics);
  }
};

struct write_txn_markers_response {
  static constexpr api_range api = write_txn_markers_api;

  std::vector<write_txn_markers_response_marker> markers;

  template <class Self, class Visitor>
  static void fields(Self& m, Visitor& v) {
    v.field("markers", m.markers);
  }
};

struct write_txn_markers_request_topic {
  std::string name;
  std::vector<std::int32_t> partition_indexes;

  template <class Self, class Visitor>
  static void fields(Self& m, Visitor& v) {
    v.field("name", m.name);
    v.field("partition_indexes", m.partition_indexes);
  }
};

struct write_txn_markers_request_marker {
  std::int64_t producer_id = 0;
  std::int16_t producer_epoch = 0;
  bool transaction_result = false;  // false: ABORT, true: COMMIT
  std::vector<write_txn_markers_request_topic> topics;
  std::int32_t coordinator_epoch = 0;
  std::int8_t transaction_version = 0;  // 0: an equal epoch is accepted; 2 would ask for a higher one

  template <class Self, class Visitor>
  static void fields(Self& m, Visitor& v) {
    v.field("producer_id", m.producer_id);
    v.field("producer_epoch", m.producer_epoch);
    v.field("transaction_result", m.transaction_result);
    v.field("topics", m.topics);
    v.field("coordinator_epoch", m.coordinator_epoch);
    v.field("transaction_version", m.transaction_version, since(2));
  }
};

struct write_txn_markers_request {
  using response = write_txn_markers_response;
  static constexpr api_range api = write_txn_markers_api;

  std::vector<write_txn_markers_request_marker> markers;

  template <class Self, class Visitor>
  static void fields(Self& m, Visitor& v) {
    v.field("markers", m.markers);
  }
};

}  // namespace mirrord::wire
