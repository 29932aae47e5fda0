// The life of one partition: does what its recorded state and the wish for it ask for, until told to end.
//
//   PREPARING, MIRRORING   rounds: take over, prove the position, fetch, plan and write (partition_round)
//   PAUSING -> PAUSED      the round has ended in order: recorded, and nothing more
//   STOPPING -> STOPPED    partition_stop
//   FAILED                 tried again with back-off, or waiting for a person
//
// A state is recorded before its action begins, and actions can be repeated: whoever takes over repeats the action of the
// state that he reads. It is the only writer of its partition and never writes from a position that is not proved: every
// error, of whatever kind, ends the round, and the next round reads the position from the destination's own log again.
// One partition's failure stays its own. See ARCHITECTURE.md for the way of the data and the acks rule.
#pragma once

#include "client/backoff.hpp"
#include "core/error_table.hpp"
#include "core/write_plan.hpp"
#include "mirror/ports.hpp"
#include "mirror/take_over.hpp"
#include "mirror/write_lease.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace mirrord::mirror {

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

// What an operator may ask about a partition; read between two turns of the event loop.
struct partition_view {
  core::partition_state state = core::partition_state::unknown;  // as shown: a retry that passes soon is no FAILED
  std::optional<error> last_error;
  std::int32_t retry_attempt = 0;
  std::int64_t source_start = -1;
  std::int64_t source_end = -1;        // the source's high watermark as last heard
  std::int64_t destination_start = -1;
  std::int64_t destination_end = -1;   // confirmed: acknowledged by all in-sync replicas
  std::int32_t last_source_epoch = -1; // the source's leader epoch of the newest batch mirrored by this process
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

  // Runs until end(), or until the write lease has a new term. One run per object; whoever spawned it awaits its end
  // before destroying it.
  asio::awaitable<void> run();

  // Asks run() to end in order: what is under way is awaited, the hand-over is recorded.
  void end();

  // What a person wants; acted on at once. MIRRORING at first.
  void want(core::desired_state desired);

  // The topic is ready to be mirrored into, with these options. Before it is, nothing is read or written.
  void allow_mirroring(partition_options options);

  // The topic cannot be mirrored into at present: FAILED with this reason until it is allowed, where that is waited for.
  void not_ready(error reason);

  // FAILED for a reason that only its owner sees, until a person acts.
  void give_up(error reason);

  // A FAILED partition goes back to what failed, at once and with all its attempts.
  void recover();

  [[nodiscard]] const topic_partition& id() const noexcept;
  [[nodiscard]] const partition_view& view() const noexcept;

  // Nothing is under way: run() waits for a wish or for a person.
  [[nodiscard]] bool rests() const noexcept { return rests_; }

 private:
  asio::awaitable<result<void>> act(core::partition_state next);
  asio::awaitable<result<void>> mirror(core::partition_state next);
  asio::awaitable<result<void>> pause();
  asio::awaitable<result<void>> stop();
  asio::awaitable<void> abort_late();
  asio::awaitable<result<void>> record_state(core::partition_state state, std::int32_t retry_attempt);
  asio::awaitable<result<void>> record(partition_standing standing);
  asio::awaitable<void> show_obstacle(error reason);
  asio::awaitable<void> fail_for_good(error reason, core::partition_state failed_in);
  asio::awaitable<bool> record_failure(error reason, core::partition_state failed_in);
  asio::awaitable<void> wait_before_retry(error reason, core::partition_state failed_in);
  asio::awaitable<void> remember_open_slots();
  asio::awaitable<void> remember_own_end();
  // Ends early when what is wanted changes.
  asio::awaitable<void> wait(clock_port::duration length);
  [[nodiscard]] bool is_failed_for_good() const noexcept;
  void expect_previous_owner();
  void follow_standing(const partition_standing& standing);
  void changed();

  asio::any_io_executor executor_;
  topic_partition id_;
  partition_ports ports_;
  partition_options options_;
  partition_view view_;
  previous_writer previous_;
  std::uint64_t term_ = 0;  // of the write lease
  std::int16_t stop_epoch_ = -1;  // of the markers that an earlier try of a stop may have sent
  core::desired_state desired_ = core::desired_state::mirroring;
  std::optional<error> verdict_;   // of give_up(), not carried out yet
  std::optional<error> obstacle_;  // of not_ready(), not shown yet
  bool is_obstructed_ = false;     // FAILED because of one
  bool ending_ = false;
  bool allowed_ = false;       // to mirror
  bool rests_ = false;
  bool round_may_end_ = false; // a round ends in order when it turns true
  bool interrupted_ = false;   // something changed since the last look
  client::notifier changed_;
  client::backoff backoff_;
};

}  // namespace mirrord::mirror
