// What the daemon tells about itself: plain snapshot structs and their versioned JSON.
//
// The composition root fills a snapshot between two turns of the event loop; a snapshot refers to nothing living.
// Counters only ever grow while the daemon lives: readers take two snapshots and divide by the difference of
// monotonic_ms. Rates are not computed here. Nothing here ever holds a secret.
#pragma once

#include "base/error.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mirrord::observe {

// Goes up when a field changes its meaning or goes away; new fields do not raise it.
inline constexpr int status_version = 1;

struct status_error {
  std::string code;     // name(errc)
  std::string message;  // one line for a person
  friend bool operator==(const status_error&, const status_error&) = default;
};

[[nodiscard]] inline status_error describe(const error& e) { return {std::string(name(e.code)), e.message()}; }

struct partition_status {
  std::int32_t partition = 0;
  std::string state;                             // "MIRRORING"
  std::optional<std::int64_t> source_start;      // log start offset; absent: not heard yet
  std::optional<std::int64_t> source_end;        // high watermark
  std::optional<std::int64_t> destination_start;
  std::optional<std::int64_t> destination_end;   // acknowledged by all in-sync replicas
  std::uint64_t records = 0;                     // mirrored since the daemon started
  std::uint64_t bytes = 0;                       // of batches as stored
  std::uint64_t batches_forwarded = 0;
  std::uint64_t batches_reencoded = 0;
  std::uint64_t filler = 0;                      // offsets filled
  std::int32_t retry_attempt = 0;                // 0: not retrying
  std::optional<status_error> last_error;

  // Offsets that the destination lacks; absent while either end is unknown.
  [[nodiscard]] std::optional<std::int64_t> lag() const noexcept;
  friend bool operator==(const partition_status&, const partition_status&) = default;
};

struct topic_status {
  std::string topic;
  std::string mirror_name;  // what is wanted: "<mirror>", "<mirror>.paused", "<mirror>.stopped"
  std::string state;
  std::optional<status_error> last_error;
  std::vector<partition_status> partitions;
  friend bool operator==(const topic_status&, const topic_status&) = default;
};

struct mirror_status {
  std::string name;
  std::string state;
  std::string source_cluster_id;  // empty: not heard yet
  std::optional<status_error> last_error;
  std::vector<topic_status> topics;
  friend bool operator==(const mirror_status&, const mirror_status&) = default;
};

struct status_snapshot {
  std::string daemon_version;
  std::string instance;              // tells daemons of one cluster apart
  std::string destination_cluster_id;
  std::int64_t uptime_ms = 0;
  std::int64_t monotonic_ms = 0;     // of the snapshot; from an arbitrary start
  std::vector<mirror_status> mirrors;
  std::optional<status_error> destination_error = std::nullopt;  // why nothing can be mirrored yet
  friend bool operator==(const status_snapshot&, const status_snapshot&) = default;
};

// {"version":1,"daemon":{..},"mirrors":[{..,"topics":[{..,"partitions":[{..}]}]}]}; what is not known is null.
[[nodiscard]] std::string to_json(const status_snapshot& snapshot);

}  // namespace mirrord::observe
