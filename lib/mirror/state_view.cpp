#include "mirror/state_view.hpp"

namespace mirrord::mirror {

void state_view::apply(std::string_view key, std::int64_t offset, std::optional<std::string_view> value) {
  const auto at = entries_.find(key);
  if (!value) {
    if (at != entries_.end()) entries_.erase(at);
  } else if (at == entries_.end()) {
    entries_.emplace(std::string(key), entry{offset, std::string(*value)});
  } else {
    at->second = entry{offset, std::string(*value)};
  }
}

std::map<core::slot_index, destination_pid> state_view::producer_ids(std::string_view mirror) const {
  struct claim {
    std::int64_t offset;
    destination_pid producer;
  };
  std::map<core::slot_index, claim> lowest;
  const std::string prefix = key_prefix<producer_id_key>(mirror);
  for (auto at = entries_.lower_bound(prefix); at != entries_.end() && at->first.starts_with(prefix); ++at) {
    const auto key = decode_key<producer_id_key>(at->first);
    if (!key) continue;
    const auto [won, first] = lowest.try_emplace(key->index, claim{at->second.offset, key->producer});
    if (!first && at->second.offset < won->second.offset) won->second = claim{at->second.offset, key->producer};
  }
  std::map<core::slot_index, destination_pid> pool;
  for (const auto& [index, winner] : lowest) pool.emplace(index, winner.producer);
  return pool;
}

bool state_view::holds_newer_version(std::string_view key) const {
  const auto at = entries_.find(key);
  return at != entries_.end() && inspect(key, at->second.value).verdict == readability::newer_version;
}

}  // namespace mirrord::mirror
