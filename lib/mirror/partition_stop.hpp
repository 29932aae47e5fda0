// STOPPING: turns a partition's mirrored log into an ordinary one, whether its source is alive or not.
//
//   prove the end -> record up to where it was mirrored -> record the plan -> one ABORT for each open transaction
//   -> one ABORT of the writer with a raised epoch, the reset marker -> record the end
//
// The reset marker stands where KIP-1279 has MIRROR_PID_RESET: it takes one offset, no consumer sees it, and it shuts out
// whatever the writer may still have under way. So the end is mirrored end + open transactions + 1.
// Each step can be repeated: what is recorded and what the log shows tell how far an earlier try came.
#pragma once

#include "mirror/ports.hpp"
#include "mirror/take_over.hpp"

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

namespace mirrord::mirror {

struct stop_ports {
  destination_log& destination;
  producer_pool& producers;
  partition_journal& journal;
  clock_port& clock;
};

struct stop_circumstances {
  std::string partition;                 // for the log
  bool unclean = true;                   // the previous writer may have something under way,
  std::int16_t highest_sent_epoch = -1;  // under this producer epoch at most
  std::int32_t last_source_epoch = -1;   // newest source leader epoch that was mirrored; -1: not known
  std::optional<issued_writes> issued;   // what this process wrote, where it did
  std::chrono::milliseconds settle_time{1'000};
};

struct stopped_log {
  std::int64_t mirrored_end = 0;
  std::int64_t aborted = 0;  // open transactions
  std::int64_t end = 0;
};

asio::awaitable<result<stopped_log>> stop_partition(stop_ports ports, stop_circumstances circumstances);

// Ends transactions of this mirror's producers that were opened after the stop: by the late first batch of a slot that
// was idle then. How many there were.
asio::awaitable<result<std::int64_t>> abort_late_transactions(stop_ports ports);

}  // namespace mirrord::mirror
