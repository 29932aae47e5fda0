// Produce: appends one record batch per partition. Record bytes are borrowed from the caller, never copied.
//
// Requests with acks=0 get no answer at all. Errors per partition: KIP-467; leader hints: KIP-951.
#pragma once

#include "wire/api.hpp"
#include "wire/fields.hpp"
#include "wire/leader_hints.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace mirrord::wire {

// 7: first version in which brokers take zstd batches. 11: last one that leaves transactions alone; with 12 a broker
// asks the transaction coordinator to add the partition to the transaction (KIP-890), which mirrored ones do not have.
inline constexpr api_range produce_api{api_key::produce, 7, 11, 9};

struct batch_index_and_error_message {
  std::int32_t batch_index = 0;
  std::optional<std::string> batch_index_error_message;

  template <class Self, class Visitor>
  static void fields(Self& m, Visitor& v) {
    v.field("batch_index", m.batch_index);
    v.field("batch_index_error_message", m.batch_index_error_message);
  }
};

struct produce_response_partition {
  std::int32_t index = 0;
  std::int16_t error_code = 0;
  std::int64_t base_offset = -1;
  std::int64_t log_append_time_ms = -1;
  std::int64_t log_start_offset = -1;
  std::vector<batch_index_and_error_message> record_errors;
  std::optional<std::string> error_message;
  std::optional<leader_id_and_epoch> current_leader;

  template <class Self, class Visitor>
  static void fields(Self& m, Visitor& v) {
    v.field("index", m.index);
    v.field("error_code", m.error_code);
    v.field("base_offset", m.base_offset);
    v.field("log_append_time_ms", m.log_append_time_ms);
    v.field("log_start_offset", m.log_start_offset);
    v.field("record_errors", m.record_errors, since(8));
    v.field("error_message", m.error_message, since(8));
    v.tagged(0, "current_leader", m.current_leader, since(10));
  }
};

struct produce_response_topic {
  std::string name;
  std::vector<produce_response_partition> partition_responses;

  template <class Self, class Visitor>
  static void fields(Self& m, Visitor& v) {
    v.field("name", m.name);
    v.field("partition_responses", m.partition_responses);
  }
};

struct produce_response {
  static constexpr api_range api = produce_api;

  std::vector<produce_response_topic> responses;
  std::int32_t throttle_time_ms = 0;
  std::vector<node_endpoint> node_endpoints;

  template <class Self, class Visitor>
  static void fields(Self& m, Visitor& v) {
    v.field("responses", m.responses);
    v.field("throttle_time_ms", m.throttle_time_ms);
    v.tagged(0, "node_endpoints", m.node_endpoints, since(10));
  }
};

struct produce_request_partition {
  std::int32_t index = 0;
  record_data records;

  template <class Self, class Visitor>
  static void fields(Self& m, Visitor& v) {
    v.field("index", m.index);
    v.field("records", m.records);
  }
};

struct produce_request_topic {
  std::string name;
  std::vector<produce_request_partition> partition_data;

  template <class Self, class Visitor>
  static void fields(Self& m, Visitor& v) {
    v.field("name", m.name);
    v.field("partition_data", m.partition_data);
  }
};

struct produce_request {
  using response = produce_response;
  static constexpr api_range api = produce_api;

  std::optional<std::string> transactional_id;
  std::int16_t acks = -1;  // -1: all in-sync replicas, 1: the leader, 0: no answer
  std::int32_t timeout_ms = 0;
  std::vector<produce_request_topic> topic_data;

  template <class Self, class Visitor>
  static void fields(Self& m, Visitor& v) {
    v.field("transactional_id", m.transactional_id);
    v.field("acks", m.acks);
    v.field("timeout_ms", m.timeout_ms);
    v.field("topic_data", m.topic_data);
  }
};

}  // namespace mirrord::wire
