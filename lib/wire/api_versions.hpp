// ApiVersions: which APIs and versions a broker speaks; the first request on every connection (KIP-35, KIP-511).
//
// A broker that does not know the asked version answers UNSUPPORTED_VERSION in version 0 (decode_response reads it
// so); from 2.4 on that answer lists the ApiVersions range to ask again with, before it lists nothing: ask with 0.
#pragma once

#include "wire/api.hpp"
#include "wire/fields.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace mirrord::wire {

// 0: what every broker can answer. 4: shows features whose lowest version is 0; 5 only adds a check of the cluster
// id, which we do with what Metadata and DescribeCluster say.
inline constexpr api_range api_versions_api{api_key::api_versions, 0, 4, 3};

struct api_version {
  std::int16_t api_key = 0;  // raw: most keys are none of ours
  std::int16_t min_version = 0;
  std::int16_t max_version = 0;

  template <class Self, class Visitor>
  static void fields(Self& m, Visitor& v) {
    v.field("api_key", m.api_key);
    v.field("min_version", m.min_version);
    v.field("max_version", m.max_version);
  }
};

struct supported_feature {
  std::string name;
  std::int16_t min_version = 0;
  std::int16_t max_version = 0;

  template <class Self, class Visitor>
  static void fields(Self& m, Visitor& v) {
    v.field("name", m.name);
    v.field("min_version", m.min_version);
    v.field("max_version", m.max_version);
  }
};

struct finalized_feature {
  std::string name;
  std::int16_t max_version_level = 0;
  std::int16_t min_version_level = 0;

  template <class Self, class Visitor>
  static void fields(Self& m, Visitor& v) {
    v.field("name", m.name);
    v.field("max_version_level", m.max_version_level);
    v.field("min_version_level", m.min_version_level);
  }
};

struct api_versions_response {
  static constexpr api_range api = api_versions_api;

  std::int16_t error_code = 0;
  std::vector<api_version> api_keys;
  std::int32_t throttle_time_ms = 0;
  std::vector<supported_feature> supported_features;
  std::int64_t finalized_features_epoch = -1;  // -1: not known, and finalized_features says nothing
  std::vector<finalized_feature> finalized_features;
  bool zk_migration_ready = false;

  template <class Self, class Visitor>
  static void fields(Self& m, Visitor& v) {
    v.field("error_code", m.error_code);
    v.field("api_keys", m.api_keys);
    v.field("throttle_time_ms", m.throttle_time_ms, since(1));
    v.tagged(0, "supported_features", m.supported_features, since(3));
    v.tagged(1, "finalized_features_epoch", m.finalized_features_epoch, since(3), std::int64_t{-1});
    v.tagged(2, "finalized_features", m.finalized_features, since(3));
    v.tagged(3, "zk_migration_ready", m.zk_migration_ready, since(3));
  }
};

struct api_versions_request {
  using response = api_versions_response;
  static constexpr api_range api = api_versions_api;

  std::string client_software_name;  // brokers accept [a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])? only, for both
  std::string client_software_version;

  template <class Self, class Visitor>
  static void fields(Self& m, Visitor& v) {
    v.field("client_software_name", m.client_software_name, since(3));
    v.field("client_software_version", m.client_software_version, since(3));
  }
};

}  // namespace mirrord::wire
