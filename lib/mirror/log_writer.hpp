// Executes planned writes on the destination's log of one partition, from a proved position on.
//
// A run is a series of appends by one producer. Within a run several appends are under way (sequence numbers refuse
// whatever does not follow); its last append asks for acks=all, and a change of producer or a marker waits for that
// answer, since neither is guarded by the run's sequence. An append of a producer that the broker may not know goes alone
// and asks for acks=all too. Every answer's base offset is compared with the expected one.
// After any error nothing more may be written: the owner calls drain() and takes over anew.
#pragma once

#include "core/write_plan.hpp"
#include "mirror/ports.hpp"
#include "mirror/take_over.hpp"

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <vector>

namespace mirrord::mirror {

struct write_counters {
  std::uint64_t records = 0;
  std::uint64_t bytes = 0;
  std::uint64_t batches_forwarded = 0;
  std::uint64_t batches_reencoded = 0;
  std::uint64_t filler = 0;
};

class log_writer {
 public:
  // `on_confirmed` is called whenever the confirmed end has moved. When `stop_asked` turns true, write() and bulk_fill()
  // end early, at a place from which confirm() brings everything that was sent to rest.
  log_writer(topic_partition id, destination_log& destination, producer_pool& pool, clock_port& clock, const proved_position& from,
             std::function<void()> on_confirmed, const bool& stop_asked);

  // Writes the plan in order; returns when all of it is under way or written. `owner` keeps the chunk's bytes alive.
  asio::awaitable<result<void>> write(std::vector<core::planned_write> plan, std::shared_ptr<const void> owner);

  // Occupies offsets up to `offset` with bulk filler, which consumers could read: only below a recorded fill plan.
  asio::awaitable<result<void>> bulk_fill(std::int64_t offset);

  // Waits until everything written so far is acknowledged by all in-sync replicas.
  asio::awaitable<result<void>> confirm();

  // Waits until nothing is under way any more, whatever the outcomes.
  asio::awaitable<void> drain();

  // Compares the destination's log end with ours; needs everything confirmed.
  asio::awaitable<result<void>> audit();

  [[nodiscard]] std::int64_t end() const noexcept { return end_; }               // next offset to write
  [[nodiscard]] std::int64_t confirmed_end() const noexcept { return confirmed_; }
  [[nodiscard]] const write_counters& counters() const noexcept { return counters_; }

  // After drain(): what was sent beyond the confirmed end, and whether any of it may still arrive. A writer that sent
  // nothing leaves things as they were before it.
  [[nodiscard]] issued_writes issued() const { return {confirmed_, issued_}; }
  [[nodiscard]] bool ended_unclean(bool before) const noexcept { return issued_.empty() ? before && !wrote_ : true; }

 private:
  struct producer {
    producer_position position;
    // Since when every leader surely knows this producer's last sequence, so that it refuses whatever does not follow it:
    // its newest replicated batch is fresh enough not to be forgotten.
    std::optional<clock_port::duration> guarded_since;
  };

  struct under_way {
    std::int64_t base_offset;
    std::int64_t next_offset;
    acks confirmation;
    producer* by;
    bool guards;  // once it is replicated, its producer is guarded
    std::shared_ptr<one_shot<result<append_answer>>> answer;
  };

  asio::awaitable<result<void>> append(const core::data_write& write, std::shared_ptr<const void> owner, acks confirmation);
  asio::awaitable<result<void>> append_marker(const core::marker_write& write);
  asio::awaitable<result<void>> append_filler(std::int64_t count);
  // Takes the answers that are there, and waits for more until at most `allowed` appends are under way.
  asio::awaitable<result<void>> await_room(std::size_t allowed);
  [[nodiscard]] producer& producer_at(slot_index index);
  // The producer, raised to the epoch of this round's markers.
  [[nodiscard]] producer& marking_producer_at(slot_index index);
  [[nodiscard]] result<void> take_answer(under_way& oldest);
  void sent(issued_write write);
  void confirmed_up_to(std::int64_t offset);
  [[nodiscard]] error misplaced(std::int64_t found, std::int64_t expected) const;

  topic_partition id_;
  destination_log& destination_;
  producer_pool& pool_;
  clock_port& clock_;
  std::function<void()> on_confirmed_;
  const bool& stop_asked_;
  destination_epoch epoch_;
  std::int16_t marker_epoch_;
  std::int64_t end_;
  std::int64_t confirmed_;
  std::map<slot_index, producer> producers_;
  std::optional<slot_index> run_;  // the producer of the run under way
  std::deque<under_way> under_way_;
  std::vector<issued_write> issued_;  // since confirmed_
  bool wrote_ = false;
  write_counters counters_;
};

}  // namespace mirrord::mirror
