// The narrow doors of the partition loop: source log, destination log, producer pool, journal, clock and random.
//
// The loop of a partition (partition_mirror) sees nothing else, so the same loop runs over real brokers
// (kafka_ports) and over simulated ones (tests/sim). Each log object stands for ONE partition on one side; whoever
// builds it routes requests, keeps connections and groups requests of many partitions.
//
// All of it lives on one thread (one io_context). Every awaitable ends within the deadline of its implementation.
#pragma once

#include "base/broker_error.hpp"
#include "base/error.hpp"
#include "base/ids.hpp"
#include "core/partition_state.hpp"
#include "core/producer_slots.hpp"
#include "mirror/async.hpp"
#include "wire/record_batch.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace mirrord::mirror {

using core::slot_index;

// --- time and chance ------------------------------------------------------------------------------------------------

class clock_port {
 public:
  using duration = std::chrono::nanoseconds;
  virtual ~clock_port() = default;
  [[nodiscard]] virtual duration now() const = 0;             // monotonic, from an arbitrary start
  [[nodiscard]] virtual std::int64_t wall_ms() const = 0;     // Unix time in milliseconds, as in record timestamps
  virtual asio::awaitable<void> sleep(duration length) = 0;   // ends early when the owner shuts the clock down
};

class random_port {
 public:
  virtual ~random_port() = default;
  virtual double uniform() = 0;  // [0, 1)
};

// --- source ---------------------------------------------------------------------------------------------------------

struct source_bounds {
  std::int64_t start = 0;           // log start offset
  std::int64_t high_watermark = 0;  // what consumers may read: the end, for us
};

struct source_chunk {
  std::shared_ptr<const void> owner;       // keeps `records` alive
  std::span<const std::byte> records;      // record data as stored, from the batch that holds the asked offset on
  source_bounds bounds;
};

// A producer as the source's leader knows it (DescribeProducers).
struct source_producer {
  source_pid pid;
  std::int16_t epoch = 0;
  std::optional<std::int64_t> open_since;  // first offset of its open transaction
};

class source_log {
 public:
  virtual ~source_log() = default;

  // Reads from `offset` up to the high watermark, read_uncommitted; waits for data up to fetch.wait.max.ms and then
  // answers an empty chunk. errc::broker with OFFSET_OUT_OF_RANGE (1) is the caller's business; leader moves are
  // followed inside.
  virtual asio::awaitable<result<source_chunk>> fetch(std::int64_t offset) = 0;

  virtual asio::awaitable<result<source_bounds>> bounds() = 0;

  // errc::unsupported on brokers before 2.8.
  virtual asio::awaitable<result<std::vector<source_producer>>> producers() = 0;
};

// --- destination ----------------------------------------------------------------------------------------------------

enum class acks : std::int8_t { leader = 1, all = -1 };

struct stored_batches {
  std::shared_ptr<const void> owner;       // keeps `records` alive
  std::span<const std::byte> records;
};

struct destination_bounds {
  std::int64_t start = 0;
  std::int64_t high_watermark = 0;
};

// A producer as the destination's leader knows it (DescribeProducers).
struct destination_producer {
  destination_pid pid;
  std::int16_t epoch = 0;
  std::int32_t last_sequence = -1;
  std::int32_t coordinator_epoch = -1;
  std::optional<std::int64_t> open_since;  // first offset of its open transaction
};

// One record batch for one partition. `batch` is a whole magic-2 batch; the implementation sends it with the header
// patched to the producer below and base offset 0 (wire::patched_header).
struct batch_append {
  wire::stored_batch batch;
  std::shared_ptr<const void> owner;  // keeps the batch's bytes alive until the answer is there
  destination_pid pid;
  std::int16_t epoch = 0;
  std::int32_t sequence = 0;  // of the first record
  acks confirmation = acks::all;
};

struct append_answer {
  std::int64_t base_offset = -1;  // -1: the broker does not know; go and look
};

struct end_marker {
  destination_pid pid;
  std::int16_t epoch = 0;
  bool commit = false;
  std::int32_t coordinator_epoch = 0;
};

// Every call after lead() names the leader epoch that lead() gave and goes to the broker that led under it. When that
// leadership is over, the answer is errc::fenced: the caller takes the lead and reads the position again. A request is
// never re-routed or repeated inside. An error of append() or mark() with errc::timed_out or errc::connection_lost
// means: unknown whether it was appended.
class destination_log {
 public:
  virtual ~destination_log() = default;

  // Asks for the present leader and its epoch.
  virtual asio::awaitable<result<destination_epoch>> lead() = 0;

  // The leader's true log end offset (OffsetForLeaderEpoch of the leader's own epoch): refused by a follower and by a
  // wrong epoch, true even while replication stalls. ListOffsets would answer on a stale leader.
  virtual asio::awaitable<result<std::int64_t>> end_offset(destination_epoch epoch) = 0;

  // May answer with stale values on a former leader: never alone a proof, only between two equal end_offset().
  virtual asio::awaitable<result<std::vector<destination_producer>>> producers(destination_epoch epoch) = 0;

  virtual asio::awaitable<result<destination_bounds>> bounds(destination_epoch epoch) = 0;

  // Stored batches from the one that holds `offset` on, as far as one answer goes; none where nothing is there.
  virtual asio::awaitable<result<stored_batches>> read(destination_epoch epoch, std::int64_t offset) = 0;

  // Queued at once, before this call returns; appends of this partition reach the broker in call order, several may be
  // under way. The completion is always fulfilled.
  virtual std::shared_ptr<one_shot<result<append_answer>>> append(destination_epoch epoch, batch_append write) = 0;

  // Writes the markers in order, in one WriteTxnMarkers request. At most one marker per producer id: an error is exact.
  // Several of one producer id: errors are merged and a success may hide refusals, so read end_offset() afterwards.
  virtual asio::awaitable<result<void>> mark(destination_epoch epoch, std::vector<end_marker> markers) = 0;

  // Moves the log start up to `offset` (DeleteRecords).
  virtual asio::awaitable<result<void>> trim(destination_epoch epoch, std::int64_t offset) = 0;
};

// --- what all partitions of a mirror share ----------------------------------------------------------------------------

class producer_pool {
 public:
  virtual ~producer_pool() = default;

  // The destination producer id at an index (core::writer_index or a slot). Allocated from the destination and recorded
  // in `__mirror_state` with acknowledgement before it is first returned.
  virtual asio::awaitable<result<destination_pid>> at(slot_index index) = 0;

  // The index of a producer id of this pool.
  [[nodiscard]] virtual std::optional<slot_index> index_of(destination_pid pid) const = 0;

  // The producer epoch of this mirror's markers. It is recorded in `__mirror_state`, with acknowledgement, before anything
  // is written under it: a predecessor's marker that is still on its way was sent under inherited_epoch() or a lower one.
  [[nodiscard]] virtual std::int16_t epoch() const = 0;
  [[nodiscard]] virtual std::int16_t inherited_epoch() const = 0;  // as recorded when this process began
  virtual asio::awaitable<result<void>> raise_above(std::int16_t seen) = 0;  // unless it is there already
};

// --- what one partition remembers in `__mirror_state` ------------------------------------------------------------------

// A core::open_transaction and whose it is.
struct remembered_open_slot {
  slot_index slot = 0;
  source_pid producer;
  std::int64_t first_offset = 0;
  std::int16_t epoch = -1;   // of the source producer; -1: not known
  std::int64_t seen_ms = 0;  // Unix time at which the source surely held data of it
  friend bool operator==(const remembered_open_slot&, const remembered_open_slot&) = default;
};

// Where a partition stands.
struct partition_standing {
  core::partition_state state = core::partition_state::unknown;
  core::partition_state failed_in = core::partition_state::unknown;  // the state that failed, where it is FAILED
  std::int32_t retry_attempt = 0;  // -1: not retried
  std::string error_message;
  friend bool operator==(const partition_standing&, const partition_standing&) = default;
};

// What STOPPING appends to the mirrored log: one ABORT for each producer id, then the reset marker.
struct stop_plan {
  std::int64_t mirrored_end = 0;
  std::vector<destination_pid> open;
  std::int16_t reset_epoch = 0;    // the writer's epoch in the reset marker, or a lower one where it was tried again
  std::int64_t end_offset = -1;    // the log's end when all is written; -1: not yet
};

// Every write is acknowledged by the state topic before its awaitable ends.
class partition_journal {
 public:
  virtual ~partition_journal() = default;

  [[nodiscard]] virtual partition_standing standing() const = 0;
  virtual asio::awaitable<result<void>> record_standing(partition_standing standing) = 0;

  // Kept after STOPPED, until the partition is mirrored anew.
  [[nodiscard]] virtual std::optional<mirror::stop_plan> stop_plan() const = 0;
  virtual asio::awaitable<result<void>> record_stop_plan(mirror::stop_plan plan) = 0;

  // The newest source leader epoch in the mirrored log (-1: not known), and that log's end.
  virtual asio::awaitable<result<void>> record_last_mirrored(std::int32_t source_epoch, std::int64_t end) = 0;

  // Everything before this offset is bulk filler and must be trimmed before anything else happens.
  [[nodiscard]] virtual std::optional<std::int64_t> fill_plan() const = 0;
  virtual asio::awaitable<result<void>> record_fill_plan(std::int64_t fill_to) = 0;
  virtual asio::awaitable<result<void>> clear_fill_plan() = 0;

  // The end offset that the previous owner left in order, with nothing under way.
  [[nodiscard]] virtual std::optional<std::int64_t> hand_over() const = 0;
  virtual asio::awaitable<result<void>> record_hand_over(std::int64_t end) = 0;
  virtual asio::awaitable<result<void>> clear_hand_over() = 0;

  // Open transactions as last recorded, which may have ended since: help for recovery, never a proof. Recording replaces
  // what was recorded before.
  [[nodiscard]] virtual std::vector<remembered_open_slot> open_slots() const = 0;
  virtual asio::awaitable<result<void>> record_open_slots(std::vector<remembered_open_slot> open) = 0;
};

}  // namespace mirrord::mirror
