#include "core/missing_records.hpp"

#include <algorithm>

namespace mirrord::core {

key_hash hash_of(wire::bytes_view key) noexcept {
  // The constants of FNV: offset basis and prime for 128 bits.
  using wide = unsigned __int128;
  constexpr wide prime = (static_cast<wide>(1) << 88) | 0x13b;
  wide hash = (static_cast<wide>(0x6c62272e07bb0142) << 64) | 0x62b821756295c58d;
  for (const std::byte b : key) hash = (hash ^ static_cast<wide>(b)) * prime;
  return {static_cast<std::uint64_t>(hash >> 64), static_cast<std::uint64_t>(hash)};
}

void missing_records::put(offsets_by_key& to, const key_hash& key, std::int64_t offset) {
  const auto [at, is_new] = to.try_emplace(key, offset);
  if (is_new) ++size_;
  else at->second = std::max(at->second, offset);
}

void missing_records::remove_older(offsets_by_key& from, const key_hash& key, std::int64_t offset) {
  const auto found = from.find(key);
  if (found == from.end() || found->second >= offset) return;
  from.erase(found);
  --size_;
}

void missing_records::add(const key_hash& key, std::int64_t offset, std::optional<std::int64_t> held_transaction) {
  put(held_transaction ? undecided_[*held_transaction] : waiting_, key, offset);
}

void missing_records::supersede(const key_hash& key, std::int64_t offset, std::optional<std::int64_t> lacking_transaction) {
  if (size_ == 0) return;
  if (lacking_transaction) {
    const auto waits_in = [&](const offsets_by_key& set) { return set.contains(key); };
    const bool needed = waits_in(waiting_) || std::any_of(undecided_.begin(), undecided_.end(), [&](const auto& t) { return waits_in(t.second); });
    if (needed) superseding_[*lacking_transaction][key] = offset;
    return;
  }
  remove_older(waiting_, key, offset);
  for (auto& [producer, missing] : undecided_) remove_older(missing, key, offset);
}

void missing_records::held_ends(std::int64_t producer_id, bool committed) {
  const auto ended = undecided_.find(producer_id);
  if (ended == undecided_.end()) return;
  const offsets_by_key missing = std::move(ended->second);
  undecided_.erase(ended);
  size_ -= missing.size();
  if (!committed) return;  // the cleaner takes what was aborted
  for (const auto& [key, offset] : missing) put(waiting_, key, offset);
}

void missing_records::lacking_ends(std::int64_t producer_id, bool committed) {
  const auto ended = superseding_.find(producer_id);
  if (ended == superseding_.end()) return;
  const offsets_by_key later = std::move(ended->second);
  superseding_.erase(ended);
  if (!committed) return;
  for (const auto& [key, offset] : later) supersede(key, offset, std::nullopt);
}

std::vector<std::int64_t> missing_records::offsets() const {
  std::vector<std::int64_t> all;
  for (const auto& [key, offset] : waiting_) all.push_back(offset);
  for (const auto& [producer, missing] : undecided_) {
    for (const auto& [key, offset] : missing) all.push_back(offset);
  }
  std::sort(all.begin(), all.end());
  return all;
}

}  // namespace mirrord::core
