// Which destination producer carries which source transaction in one partition.
//
// A slot is a destination producer id that carries one source transaction at a time. A new transaction always takes
// the lowest free slot: a pure function of the log, so that an old and a new owner of the partition choose the same
// one and even a late first batch is recognised by the broker as a repetition.
//
// One object per partition; it knows indices only, the ids behind them belong to the mirror's pool.
#pragma once

#include "base/ids.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace mirrord::core {

// Index into the mirror's pool of destination producer ids.
using slot_index = std::int32_t;

// The writer: appends all data that is in no transaction, and all filler markers.
inline constexpr slot_index writer_index = -1;

struct open_transaction {
  slot_index slot = 0;
  std::int64_t first_offset = 0;
  std::int16_t epoch = -1;    // of the source producer in this transaction; -1: not known
  std::int64_t seen_ms = 0;   // Unix time at which the source surely held data of it
  // Where it was found that the source holds neither its data nor its end any more. An ABORT is due at the next offset
  // that carries nothing else: what the source does not hold must not be seen here either.
  std::optional<std::int64_t> abort_due_from = std::nullopt;
};

class producer_slots {
 public:
  // The slot of the source producer's open transaction, if it has one here.
  [[nodiscard]] std::optional<slot_index> find(source_pid producer) const;

  // The source producer's open transaction, or nullptr.
  [[nodiscard]] open_transaction* find_open(source_pid producer);

  // Some transaction whose ABORT is due, or nullptr.
  [[nodiscard]] const std::pair<const source_pid, open_transaction>* find_due() const;

  // The slot of its open transaction; opens one in the lowest free slot when there is none.
  slot_index open(source_pid producer, std::int64_t first_offset);

  // Takes up a transaction found open at recovery. False if the slot or the producer is taken already.
  [[nodiscard]] bool restore(source_pid producer, open_transaction transaction);

  // Ends the producer's transaction and frees its slot; nothing when none is open.
  std::optional<slot_index> close(source_pid producer);

  [[nodiscard]] const std::map<source_pid, open_transaction>& open_transactions() const noexcept { return open_; }

 private:
  std::map<source_pid, open_transaction> open_;
  std::vector<bool> taken_;  // by slot index
};

}  // namespace mirrord::core
