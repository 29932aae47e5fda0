// The loop of one partition: take over, prove the position, then fetch, plan and write until told to stop.
//
//   run():  +-> take over (lead, recovery read, settle) -> align (trim a fill plan, leading gap) -> mirror --+
//           |                                                                                                |
//           +--------------- any error that may pass: wait with back-off, start over ------------------------+
//                                   an error that cannot pass: FAILED, run() ends
//
// It is the only writer of its partition and never writes from a position that is not proved: every error, of
// whatever kind, ends the round, and the next round reads the position from the destination's own log again.
// One partition's failure stays its own. See ARCHITECTURE.md for the way of the data and the acks rule.
#pragma once

#include "client/backoff.hpp"
#include "core/error_table.hpp"
#include "core/write_plan.hpp"
#include "mirror/ports.hpp"
#include "mirror/write_lease.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace mirrord::mirror {

struct previous_writer;

struct partition_options {
  std::int64_t hole_fill_max = 100'000'000;             // offsets that one gap may cost
  std::size_t batch_bytes_max = 1'048'588;              // the destination topic's max.message.bytes
  bool fresh = false;                                   // this daemon created the topic just now: nobody has read it
  bool trims = true;                                    // the topic's policy takes DeleteRecords
  std::chrono::milliseconds audit_interval{30'000};     // idle partitions compare their end this often
  std::chrono::milliseconds settle_time{1'000};         // between the two equal reads after an unclean end
  std::chrono::milliseconds late_request_time{30'000};  // how long a request that we gave up may still arrive
  std::chrono::milliseconds marker_retention{86'400'000};  // how long the source keeps a marker whose data is gone
  std::chrono::milliseconds retry_backoff_min{100};
  std::chrono::milliseconds retry_backoff_max{300'000};    // where a person must act, or the cause is odd
  std::chrono::milliseconds passing_backoff_max{2'000};    // where the cluster comes back by itself
  core::advice_names advice;
};

// The seed's words for a partition's state; this version knows the ones it can be in.
enum class partition_phase : std::uint8_t { unknown, preparing, mirroring, failed, stopped };

[[nodiscard]] std::string_view name(partition_phase phase) noexcept;

// What an operator may ask about a partition; read between two turns of the event loop.
struct partition_view {
  partition_phase phase = partition_phase::unknown;
  std::optional<error> last_error;
  std::int32_t retry_attempt = 0;
  std::int64_t source_start = -1;
  std::int64_t source_end = -1;        // the source's high watermark as last heard
  std::int64_t destination_start = -1;
  std::int64_t destination_end = -1;   // confirmed: acknowledged by all in-sync replicas
  std::uint64_t records = 0;
  std::uint64_t bytes = 0;             // of batches as stored
  std::uint64_t batches_forwarded = 0;
  std::uint64_t batches_reencoded = 0;
  std::uint64_t filler = 0;            // offsets filled
  bool caught_up_once = false;         // lag was 0 at least once since the start
};

struct partition_ports {
  source_log& source;
  destination_log& destination;
  producer_pool& producers;
  partition_journal& journal;
  clock_port& clock;
  random_port& random;
  write_lease& lease;
};

class partition_mirror {
 public:
  partition_mirror(asio::any_io_executor executor, topic_partition id, partition_ports ports, partition_options options);
  ~partition_mirror();
  partition_mirror(const partition_mirror&) = delete;
  partition_mirror& operator=(const partition_mirror&) = delete;

  // Runs until stop(), until FAILED, or until the write lease has a new term. One run per object; whoever spawned it awaits its end before destroying it.
  asio::awaitable<void> run();

  // Asks run() to end in order: what is under way is awaited, the hand-over is recorded.
  void stop();

  [[nodiscard]] const topic_partition& id() const noexcept;
  [[nodiscard]] const partition_view& view() const noexcept;

 private:
  // False: the partition is FAILED for good.
  asio::awaitable<bool> wait_before_retry(error reason);
  asio::awaitable<void> remember_open_slots(const previous_writer& previous);
  asio::awaitable<void> remember_own_end();
  asio::awaitable<void> wait(clock_port::duration length);

  asio::any_io_executor executor_;
  topic_partition id_;
  partition_ports ports_;
  partition_options options_;
  partition_view view_;
  bool stopping_ = false;
  client::backoff backoff_;
};

}  // namespace mirrord::mirror
