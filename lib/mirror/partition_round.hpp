// One round of a partition: from taking over to the first error, or to an orderly stop.
//
// Two coroutines: the reader fetches ahead into a short queue; the main one plans and writes. The round awaits the
// reader's end before it ends itself. A round writes under one leader epoch and one producer epoch only.
#pragma once

#include "mirror/log_writer.hpp"
#include "mirror/partition_mirror.hpp"
#include "mirror/ports.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace mirrord::mirror {

class partition_round {
 public:
  // All references outlive the round; `stop_asked` is watched, never set.
  partition_round(asio::any_io_executor executor, const topic_partition& id, partition_ports ports, partition_options& options,
                  partition_view& view, const bool& stop_asked);

  // Ends without an error only when a stop was asked for and everything is confirmed and handed over. After an error
  // `previous` tells the next round about this one.
  asio::awaitable<result<void>> run(previous_writer& previous);

  // Whether something was acknowledged, or the log's end was found where it should be.
  [[nodiscard]] bool made_progress() const noexcept { return made_progress_; }

 private:
  struct fetched {
    source_chunk chunk;
    std::vector<wire::stored_batch> batches;
    std::int64_t asked_ms = 0;  // Unix time
    std::int64_t arrived_ms = 0;
  };

  asio::awaitable<result<void>> align();
  asio::awaitable<result<void>> fill_in_bulk(std::int64_t offset);
  asio::awaitable<result<void>> mirror();
  asio::awaitable<result<void>> write_chunk(fetched next);
  asio::awaitable<result<void>> note_overrun(std::int64_t source_start);
  asio::awaitable<result<void>> look_into_hole(std::int64_t source_start, std::int64_t arrived_ms);
  // errc::outcome_unknown when all that the source had is passed and some ABORT has found no offset.
  [[nodiscard]] result<void> check_due_aborts() const;
  asio::awaitable<void> record_long_transactions();
  asio::awaitable<result<void>> follow_log_start(std::int64_t source_start);
  asio::awaitable<result<void>> trim(std::int64_t offset);
  asio::awaitable<result<void>> audit_if_due();
  asio::awaitable<result<void>> hand_over();
  asio::awaitable<result<void>> record_mirroring(std::int32_t retry_attempt);
  [[nodiscard]] std::vector<remembered_open_slot> open_slots() const;

  asio::awaitable<result<void>> read_ahead(std::int64_t from);
  asio::awaitable<result<std::int64_t>> resume_out_of_range(std::int64_t offset);

  void show_progress();

  asio::any_io_executor executor_;
  const topic_partition& id_;
  partition_ports ports_;
  partition_options& options_;
  partition_view& view_;
  const bool& stop_asked_;

  std::uint64_t term_;  // of the write lease
  partition_standing recorded_;
  destination_epoch epoch_;
  std::optional<log_writer> writer_;
  std::optional<core::write_planner> planner_;
  // Every transaction that can be open on the destination: those at the begin of the chunk under way, and those opened
  // while it was planned, although its plan may close them again.
  std::vector<remembered_open_slot> possibly_open_;
  std::vector<remembered_open_slot> open_at_last_look_;
  clock_port::duration last_look_{};
  clock_port::duration late_until_{};
  std::int64_t due_before_ = 0;  // lost transactions ended below this offset of the source
  write_counters shown_;
  clock_port::duration last_audit_{};
  bounded_queue<fetched> queue_;
  bool reader_may_go_on_ = true;
  bool made_progress_ = false;
};

}  // namespace mirrord::mirror
