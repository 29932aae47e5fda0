#include "wire/api.hpp"

#include <algorithm>

namespace mirrord::wire {

std::string_view name(api_key key) noexcept {
  switch (key) {
    case api_key::produce: return "produce";
    case api_key::fetch: return "fetch";
    case api_key::list_offsets: return "list_offsets";
    case api_key::metadata: return "metadata";
    case api_key::sasl_handshake: return "sasl_handshake";
    case api_key::api_versions: return "api_versions";
    case api_key::delete_records: return "delete_records";
    case api_key::init_producer_id: return "init_producer_id";
    case api_key::offset_for_leader_epoch: return "offset_for_leader_epoch";
    case api_key::write_txn_markers: return "write_txn_markers";
    case api_key::sasl_authenticate: return "sasl_authenticate";
    case api_key::incremental_alter_configs: return "incremental_alter_configs";
    case api_key::describe_cluster: return "describe_cluster";
    case api_key::describe_producers: return "describe_producers";
  }
  return "unknown_api";
}

std::optional<std::int16_t> choose_version(api_range ours, std::int16_t broker_min, std::int16_t broker_max) noexcept {
  const std::int16_t newest = std::min(ours.max, broker_max);
  if (newest < std::max(ours.min, broker_min)) return std::nullopt;
  return newest;
}

}  // namespace mirrord::wire
