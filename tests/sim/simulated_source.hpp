// The source partition: its log with the truth about every offset that was ever written, and the source_log port over
// it for one daemon.
//
// The truth outlives compaction and retention: it says what an offset held when it was written, so that a record on
// the destination can be checked even after the source has lost its own.
#pragma once

#include "mirror/ports.hpp"
#include "tests/sim/batch_bytes.hpp"
#include "tests/sim/sim_clock.hpp"
#include "tests/sim/sim_process.hpp"
#include "tests/sim/sim_random.hpp"
#include "tests/sim/sim_trace.hpp"
#include "tests/sim/simulated_log.hpp"

#include <functional>
#include <list>
#include <map>

namespace mirrord::sim {

struct offset_truth {
  enum class kind : std::uint8_t { record, end_marker, other_control };
  kind what = kind::record;
  std::int64_t producer = -1;
  bool transactional = false;
  bool commit = false;  // of an end marker
  record_spec record;   // with the time that consumers see; its delta is 0
};

class simulated_source {
 public:
  simulated_source(sim_clock& clock, sim_random random, sim_trace& trace) : clock_(clock), random_(random), trace_(trace) {}

  // Takes the next offsets; the high watermark follows a moment later.
  std::int64_t append(batch_spec batch);
  std::int64_t end_transaction(std::int64_t producer, std::int16_t epoch, bool commit);

  // What the cleaner makes of the batch at `base_offset`: `keep` tells which records stay.
  void compact(std::int64_t base_offset, const std::function<bool(std::int64_t)>& keep, bool remove_if_empty,
               std::optional<std::int64_t> delete_horizon);
  void move_start(std::int64_t offset);

  // A new leader whose high watermark is not there yet.
  void regress_high_watermark(std::chrono::milliseconds length);
  void settle_high_watermark();

  // Runs `done` at once or as soon as something below the high watermark lies at or after `offset`.
  void when_readable(std::int64_t offset, std::function<void()> done);

  [[nodiscard]] const offset_truth* truth_at(std::int64_t offset) const;
  // The record that the source still has at this offset.
  [[nodiscard]] bool has_record(std::int64_t offset) const;
  [[nodiscard]] const batch_spec& spec_at(std::int64_t base_offset) const { return specs_.at(base_offset); }
  [[nodiscard]] const simulated_log& log() const noexcept { return log_; }
  [[nodiscard]] std::int64_t high_watermark() const noexcept;

 private:
  void remember(const batch_spec& batch);
  void advance_soon();
  void wake();

  struct reader {
    std::int64_t offset;
    std::function<void()> done;
  };

  sim_clock& clock_;
  sim_random random_;
  sim_trace& trace_;
  simulated_log log_;
  std::map<std::int64_t, batch_spec> specs_;     // as stored now
  std::map<std::int64_t, offset_truth> truths_;  // as written once
  std::int64_t high_watermark_ = 0;
  sim_clock::duration regressed_until_{0};
  std::int64_t regressed_to_ = 0;
  std::list<reader> readers_;
};

struct source_faults {
  double lost_answer = 0;
  double empty_answer = 0;   // a throttled fetch has no data
  double partial_tail = 0.3;
  bool knows_producers = true;  // DescribeProducers exists (2.8)
  std::int64_t batches_max = 8;
};

class source_client final : public mirror::source_log {
 public:
  source_client(sim_process& process, sim_random random, simulated_source& source, const source_faults& faults)
      : process_(process), random_(random), source_(source), faults_(faults) {}

  asio::awaitable<result<mirror::source_chunk>> fetch(std::int64_t offset) override;
  asio::awaitable<result<mirror::source_bounds>> bounds() override;
  asio::awaitable<result<std::vector<mirror::source_producer>>> producers() override;

 private:
  asio::awaitable<result<void>> question(std::string what);
  [[nodiscard]] std::vector<std::byte> cut(std::int64_t offset);

  sim_process& process_;
  sim_random random_;
  simulated_source& source_;
  const source_faults& faults_;
};

}  // namespace mirrord::sim
