// Which Kafka APIs this program speaks, and how a version of one is chosen for a broker.
//
// Every request and response struct carries an `api_range` constant; its bounds are the versions that we encode and
// decode (each header states the reason of each bound). The connection asks the broker once with ApiVersions and
// then picks by `choose_version`. Source: org.apache.kafka.common.protocol.ApiKeys.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace mirrord::wire {

enum class api_key : std::int16_t {
  produce = 0,
  fetch = 1,
  list_offsets = 2,
  metadata = 3,
  sasl_handshake = 17,
  api_versions = 18,
  delete_records = 21,
  init_producer_id = 22,
  offset_for_leader_epoch = 23,
  write_txn_markers = 27,
  sasl_authenticate = 36,
  incremental_alter_configs = 44,
  describe_cluster = 60,
  describe_producers = 61,
};

// "fetch"; for a key that is not listed above "unknown_api".
[[nodiscard]] std::string_view name(api_key key) noexcept;

struct api_range {
  api_key key{};
  std::int16_t min = 0;
  std::int16_t max = 0;
  std::int16_t first_flexible = 0;  // from here on: compact lengths, tagged fields, the newer headers (KIP-482)

  [[nodiscard]] constexpr bool has(std::int16_t version) const noexcept { return version >= min && version <= max; }
  [[nodiscard]] constexpr bool flexible(std::int16_t version) const noexcept { return version >= first_flexible; }
};

// `first_flexible` of an API that has no flexible version.
inline constexpr std::int16_t never_flexible = 0x7fff;

// The newest version that both sides speak, or nothing.
[[nodiscard]] std::optional<std::int16_t> choose_version(api_range ours, std::int16_t broker_min, std::int16_t broker_max) noexcept;

}  // namespace mirrord::wire
