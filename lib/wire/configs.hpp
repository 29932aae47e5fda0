// IncrementalAlterConfigs (KIP-339): sets and removes single keys and leaves the others alone. Debian's librdkafka
// has only AlterConfigs, which replaces the whole set.
#pragma once

#include "wire/api.hpp"
#include "wire/fields.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace mirrord::wire {

// 0: first (Kafka 2.3). 1: newest, flexible.
inline constexpr api_range incremental_alter_configs_api{api_key::incremental_alter_configs, 0, 1, 1};

// Values of resource_type (org.apache.kafka.common.config.ConfigResource.Type) and config_operation (AlterConfigOp.OpType).
inline constexpr std::int8_t topic_resource = 2;
inline constexpr std::int8_t broker_resource = 4;
inline constexpr std::int8_t config_set = 0;
inline constexpr std::int8_t config_delete = 1;

struct alter_configs_resource_response {
  std::int16_t error_code = 0;
  std::optional<std::string> error_message;
  std::int8_t resource_type = 0;
  std::string resource_name;

  template <class Self, class Visitor>
  static void fields(Self& m, Visitor& v) {
    v.field("error_code", m.error_code);
    v.field("error_message", m.error_message);
    v.field("resource_type", m.resource_type);
    v.field("resource_name", m.resource_name);
  }
};

struct incremental_alter_configs_response {
  static constexpr api_range api = incremental_alter_configs_api;

  std::int32_t throttle_time_ms = 0;
  std::vector<alter_configs_resource_response> responses;

  template <class Self, class Visitor>
  static void fields(Self& m, Visitor& v) {
    v.field("throttle_time_ms", m.throttle_time_ms);
    v.field("responses", m.responses);
  }
};

struct alterable_config {
  std::string name;
  std::int8_t config_operation = config_set;
  std::optional<std::string> value;

  template <class Self, class Visitor>
  static void fields(Self& m, Visitor& v) {
    v.field("name", m.name);
    v.field("config_operation", m.config_operation);
    v.field("value", m.value);
  }
};

struct alter_configs_resource {
  std::int8_t resource_type = topic_resource;
  std::string resource_name;
  std::vector<alterable_config> configs;

  template <class Self, class Visitor>
  static void fields(Self& m, Visitor& v) {
    v.field("resource_type", m.resource_type);
    v.field("resource_name", m.resource_name);
    v.field("configs", m.configs);
  }
};

struct incremental_alter_configs_request {
  using response = incremental_alter_configs_response;
  static constexpr api_range api = incremental_alter_configs_api;

  std::vector<alter_configs_resource> resources;
  bool validate_only = false;

  template <class Self, class Visitor>
  static void fields(Self& m, Visitor& v) {
    v.field("resources", m.resources);
    v.field("validate_only", m.validate_only);
  }
};

}  // namespace mirrord::wire
