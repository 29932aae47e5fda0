// Metadata (brokers, topics, partition leaders) and DescribeCluster (cluster id, what we may do on the cluster).
//
// Every Metadata request forbids auto-creation: asking about a deleted topic would bring it back empty, on the source
// as well as on the destination.
#pragma once

#include "base/ids.hpp"
#include "wire/api.hpp"
#include "wire/fields.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace mirrord::wire {

// 4: first version that can forbid auto-creation. 13: top-level error code, newest known (4.4).
inline constexpr api_range metadata_api{api_key::metadata, 4, 13, 9};

// Authorized operations are bit fields, bit n set for AclOperation n; this value stands for "not asked or not known".
inline constexpr std::int32_t operations_unknown = INT32_MIN;

struct metadata_response_broker {
  std::int32_t node_id = 0;
  std::string host;
  std::int32_t port = 0;
  std::optional<std::string> rack;

  template <class Self, class Visitor>
  static void fields(Self& m, Visitor& v) {
    v.field("node_id", m.node_id);
    v.field("host", m.host);
    v.field("port", m.port);
    v.field("rack", m.rack);
  }
};

struct metadata_response_partition {
  std::int16_t error_code = 0;
  std::int32_t partition_index = 0;
  std::int32_t leader_id = -1;     // -1: none at the moment
  std::int32_t leader_epoch = -1;  // -1: the version does not tell (before 7)
  std::vector<std::int32_t> replica_nodes;
  std::vector<std::int32_t> isr_nodes;
  std::vector<std::int32_t> offline_replicas;

  template <class Self, class Visitor>
  static void fields(Self& m, Visitor& v) {
    v.field("error_code", m.error_code);
    v.field("partition_index", m.partition_index);
    v.field("leader_id", m.leader_id);
    v.field("leader_epoch", m.leader_epoch, since(7));
    v.field("replica_nodes", m.replica_nodes);
    v.field("isr_nodes", m.isr_nodes);
    v.field("offline_replicas", m.offline_replicas, since(5));
  }
};

struct metadata_response_topic {
  std::int16_t error_code = 0;
  std::string name;   // empty for an unknown topic that was asked for by id
  mirrord::topic_id topic_id;  // zero before version 10, from brokers without topic ids, and for an unknown name
  bool is_internal = false;
  std::vector<metadata_response_partition> partitions;
  std::int32_t topic_authorized_operations = operations_unknown;

  template <class Self, class Visitor>
  static void fields(Self& m, Visitor& v) {
    v.field("error_code", m.error_code);
    v.field("name", m.name, always.empty_is_null_since(12));
    v.field("topic_id", m.topic_id, since(10));
    v.field("is_internal", m.is_internal);
    v.field("partitions", m.partitions);
    v.field("topic_authorized_operations", m.topic_authorized_operations, since(8));
  }
};

struct metadata_response {
  static constexpr api_range api = metadata_api;

  std::int32_t throttle_time_ms = 0;
  std::vector<metadata_response_broker> brokers;
  std::optional<std::string> cluster_id;
  std::int32_t controller_id = -1;
  std::vector<metadata_response_topic> topics;
  std::int32_t cluster_authorized_operations = operations_unknown;  // versions 8..10; later DescribeCluster tells it
  std::int16_t error_code = 0;

  template <class Self, class Visitor>
  static void fields(Self& m, Visitor& v) {
    v.field("throttle_time_ms", m.throttle_time_ms);
    v.field("brokers", m.brokers);
    v.field("cluster_id", m.cluster_id);
    v.field("controller_id", m.controller_id);
    v.field("topics", m.topics);
    v.field("cluster_authorized_operations", m.cluster_authorized_operations, between(8, 10));
    v.field("error_code", m.error_code, since(13));
  }
};

struct metadata_request_topic {
  mirrord::topic_id topic_id;  // brokers look topics up by it from version 12 on; then the name must be empty
  std::string name;

  template <class Self, class Visitor>
  static void fields(Self& m, Visitor& v) {
    v.field("topic_id", m.topic_id, since(10));
    v.field("name", m.name, always.empty_is_null_since(10));
  }
};

struct metadata_request {
  using response = metadata_response;
  static constexpr api_range api = metadata_api;

  std::optional<std::vector<metadata_request_topic>> topics;  // nullopt: all topics; empty: none, brokers only
  bool allow_auto_topic_creation = false;
  bool include_cluster_authorized_operations = false;
  bool include_topic_authorized_operations = false;

  template <class Self, class Visitor>
  static void fields(Self& m, Visitor& v) {
    v.field("topics", m.topics);
    v.field("allow_auto_topic_creation", m.allow_auto_topic_creation);
    v.field("include_cluster_authorized_operations", m.include_cluster_authorized_operations, between(8, 10));
    v.field("include_topic_authorized_operations", m.include_topic_authorized_operations, since(8));
  }
};

// 0: first (2.8). Later versions are about controllers and fenced brokers, which we do not ask for.
inline constexpr api_range describe_cluster_api{api_key::describe_cluster, 0, 0, 0};

struct describe_cluster_broker {
  std::int32_t broker_id = 0;
  std::string host;
  std::int32_t port = 0;
  std::optional<std::string> rack;

  template <class Self, class Visitor>
  static void fields(Self& m, Visitor& v) {
    v.field("broker_id", m.broker_id);
    v.field("host", m.host);
    v.field("port", m.port);
    v.field("rack", m.rack);
  }
};

struct describe_cluster_response {
  static constexpr api_range api = describe_cluster_api;

  std::int32_t throttle_time_ms = 0;
  std::int16_t error_code = 0;
  std::optional<std::string> error_message;
  std::string cluster_id;
  std::int32_t controller_id = -1;
  std::vector<describe_cluster_broker> brokers;
  std::int32_t cluster_authorized_operations = operations_unknown;

  template <class Self, class Visitor>
  static void fields(Self& m, Visitor& v) {
    v.field("throttle_time_ms", m.throttle_time_ms);
    v.field("error_code", m.error_code);
    v.field("error_message", m.error_message);
    v.field("cluster_id", m.cluster_id);
    v.field("controller_id", m.controller_id);
    v.field("brokers", m.brokers);
    v.field("cluster_authorized_operations", m.cluster_authorized_operations);
  }
};

struct describe_cluster_request {
  using response = describe_cluster_response;
  static constexpr api_range api = describe_cluster_api;

  bool include_cluster_authorized_operations = false;

  template <class Self, class Visitor>
  static void fields(Self& m, Visitor& v) {
    v.field("include_cluster_authorized_operations", m.include_cluster_authorized_operations);
  }
};

}  // namespace mirrord::wire
