#include "core/producer_slots.hpp"

#include <algorithm>

namespace mirrord::core {

std::optional<slot_index> producer_slots::find(source_pid producer) const {
  const auto found = open_.find(producer);
  if (found == open_.end()) return std::nullopt;
  return found->second.slot;
}

open_transaction* producer_slots::find_open(source_pid producer) {
  const auto found = open_.find(producer);
  return found == open_.end() ? nullptr : &found->second;
}

const std::pair<const source_pid, open_transaction>* producer_slots::find_due() const {
  const auto found = std::find_if(open_.begin(), open_.end(), [](const auto& entry) { return entry.second.abort_due_from.has_value(); });
  return found == open_.end() ? nullptr : &*found;
}

slot_index producer_slots::open(source_pid producer, std::int64_t first_offset) {
  if (const auto slot = find(producer)) return *slot;
  const auto free = std::find(taken_.begin(), taken_.end(), false);
  const auto slot = static_cast<slot_index>(free - taken_.begin());
  if (free == taken_.end()) taken_.push_back(true);
  else *free = true;
  open_transaction transaction;
  transaction.slot = slot;
  transaction.first_offset = first_offset;
  open_.emplace(producer, transaction);
  return slot;
}

bool producer_slots::restore(source_pid producer, open_transaction transaction) {
  const auto at = static_cast<std::size_t>(transaction.slot);
  if (transaction.slot < 0 || open_.contains(producer) || (at < taken_.size() && taken_[at])) return false;
  if (at >= taken_.size()) taken_.resize(at + 1, false);
  taken_[at] = true;
  open_.emplace(producer, transaction);
  return true;
}

std::optional<slot_index> producer_slots::close(source_pid producer) {
  const auto found = open_.find(producer);
  if (found == open_.end()) return std::nullopt;
  const slot_index slot = found->second.slot;
  taken_[static_cast<std::size_t>(slot)] = false;
  open_.erase(found);
  return slot;
}

}  // namespace mirrord::core
