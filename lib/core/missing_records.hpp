// Records of a compacted topic that only one side has, until it is known whether compaction explains that.
//
// The cleaner removes a record when a later one of its key is there and committed, when its transaction was aborted, and
// a tombstone once it is old. So each missing record waits here for what excuses it, as the 128-bit hash of its key and
// its offset; what still waits at the end is a difference. One object stands for one direction: `held` is the side that
// has the records, `lacking` the side on which they are missing.
#pragma once

#include "wire/records.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <unordered_map>
#include <vector>

namespace mirrord::core {

struct key_hash {
  std::uint64_t high = 0;
  std::uint64_t low = 0;
  friend bool operator==(const key_hash&, const key_hash&) = default;
};

// FNV-1a of 128 bits: no key is kept, and two keys out of 10^12 share a hash with a probability of 10^-14.
[[nodiscard]] key_hash hash_of(wire::bytes_view key) noexcept;

}  // namespace mirrord::core

template <>
struct std::hash<mirrord::core::key_hash> {
  std::size_t operator()(const mirrord::core::key_hash& h) const noexcept { return static_cast<std::size_t>(h.low ^ h.high); }
};

namespace mirrord::core {

class missing_records {
 public:
  // A record that the lacking side does not have; `held_transaction` is its producer where it is in a transaction.
  // Only the newest of a key has to wait: what excuses it excuses the older ones.
  void add(const key_hash& key, std::int64_t offset, std::optional<std::int64_t> held_transaction);

  // The lacking side has a record of this key. In a transaction it counts once that is committed.
  void supersede(const key_hash& key, std::int64_t offset, std::optional<std::int64_t> lacking_transaction);

  // Transactions end. Where both end at one offset, the held one is told first.
  void held_ends(std::int64_t producer_id, bool committed);
  void lacking_ends(std::int64_t producer_id, bool committed);

  // Whether records of the lacking side have to be told.
  [[nodiscard]] bool waits() const noexcept { return size_ > 0; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }

  // The offsets of what still waits, in order.
  [[nodiscard]] std::vector<std::int64_t> offsets() const;

 private:
  using offsets_by_key = std::unordered_map<key_hash, std::int64_t>;

  void put(offsets_by_key& to, const key_hash& key, std::int64_t offset);
  void remove_older(offsets_by_key& from, const key_hash& key, std::int64_t offset);

  offsets_by_key waiting_;
  std::map<std::int64_t, offsets_by_key> undecided_;   // in open transactions of the holding side
  std::map<std::int64_t, offsets_by_key> superseding_;  // records in open transactions of the lacking side
  std::size_t size_ = 0;                                // of waiting_ and undecided_
};

}  // namespace mirrord::core
