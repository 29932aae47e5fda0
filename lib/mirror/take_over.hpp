// Taking over a partition: prove the position from the destination's own log (prove_end), and match its open
// transactions with the source's. Nothing is written here. What cannot be proved is an error, never a guess.
#pragma once

#include "core/producer_slots.hpp"
#include "mirror/ports.hpp"
#include "mirror/prove_end.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

namespace mirrord::mirror {

// How a producer of the pool goes on in this partition.
struct producer_position {
  std::int16_t epoch = 0;
  std::int32_t next_sequence = 0;
  std::int32_t coordinator_epoch = 0;
};

struct proved_position {
  destination_epoch epoch;        // the leadership under which it was read, and under which alone it may be used
  std::int64_t end = 0;           // next offset to write
  std::int64_t start = 0;         // the destination's log start
  core::producer_slots slots;     // open transactions
  // Those that the leader knows; others begin with epoch and sequence 0. So the epoch and sequence of the next data are a
  // function of the log alone, and a late twin of it has the same: the broker takes one of the two.
  std::map<slot_index, producer_position> producers;
  // Of markers, which have no sequence: raised after an unclean end, so that late ones are shut out.
  std::int16_t marker_epoch = 0;
};

// What a writer sent since its last confirmed end. The log's end must be one of these boundaries, reached by the write
// that has it: anything else was appended by somebody else.
struct issued_write {
  std::int64_t base_offset = 0;
  std::int64_t next_offset = 0;
  destination_pid pid;
  std::int16_t epoch = 0;
  std::optional<std::int32_t> last_sequence;  // none for markers
  bool in_parts = false;                      // several markers, of which some may be missing
};

struct issued_writes {
  std::int64_t confirmed_end = 0;
  std::vector<issued_write> since;
};

// What is known about whoever wrote here before.
struct previous_writer {
  bool unclean = true;  // it may still have requests under way; it is then shut out by a raised producer epoch
  bool end_proved = false;  // this process has seen that the log's end is the mirror's own
  std::optional<issued_writes> issued;  // what it sent, where it was in this process
  clock_port::duration late_until{};  // until then something that it sent may still arrive
  // Open transactions as it knew them. More than are open does no harm: one counts only where the destination shows the
  // same slot open since the same offset.
  std::vector<remembered_open_slot> open;
};

// errc::foreign_write unless the log's end is where these writes can have brought it.
[[nodiscard]] result<void> check_issued(const proved_end& log, const issued_writes& issued);

// The highest producer epoch under which that writer may have something under way; -1: none.
[[nodiscard]] std::int16_t highest_sent_epoch(const previous_writer& previous, const producer_pool& pool);

struct take_over_ports {
  source_log& source;
  destination_log& destination;
  producer_pool& producers;
  const partition_journal& journal;
  clock_port& clock;
};

asio::awaitable<result<proved_position>> take_over(take_over_ports ports, const previous_writer& previous, std::chrono::milliseconds settle_time);

}  // namespace mirrord::mirror
