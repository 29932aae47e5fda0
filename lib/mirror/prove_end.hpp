// Proving where the destination's log of one partition ends, from that log itself.
//
//   recovery read = log end, producers, log end again, all under one leader epoch; both ends equal
//   settle        = after an unclean end of the previous writer, a second equal recovery read some time later
//   counted       = only once the high watermark has reached that end
//
// Nothing is written here. What cannot be proved is an error, never a guess.
#pragma once

#include "mirror/ports.hpp"

#include <chrono>
#include <cstdint>
#include <vector>

namespace mirrord::mirror {

struct proved_end {
  destination_epoch epoch;  // the leadership under which it was read, and under which alone it may be used
  std::int64_t start = 0;
  std::int64_t end = 0;
  std::vector<destination_producer> producers;
};

// errc::fenced when the log does not stand still: another writer is at work.
asio::awaitable<result<proved_end>> prove_end(destination_log& log, clock_port& clock, bool unclean, std::chrono::milliseconds settle_time);

// The highest epoch of those producers that belong to the mirror's pool, and at least `least`.
[[nodiscard]] std::int16_t highest_own_epoch(const producer_pool& pool, const std::vector<destination_producer>& producers, std::int16_t least);

// The batch before the proved end, if one is there, and whether it was written by a producer of the mirror's pool. Without
// a batch nothing speaks against the log.
struct last_batch {
  stored_batches read;
  bool is_own = true;
};

asio::awaitable<result<last_batch>> read_last_batch(destination_log& destination, const producer_pool& pool, const proved_end& log);

}  // namespace mirrord::mirror
