// The destination partition as its brokers keep it: a leader's log under leader epochs, replication that lags behind,
// leaders that move and may lose what was not replicated, and requests that wait for the replicas.
//
// Requests come in at the moment they reach the broker (destination_client models the way there); answers go out
// through callbacks. Everything that is appended is shown to `on_append` first, which is where invariants are checked.
#pragma once

#include "mirror/ports.hpp"
#include "tests/sim/sim_clock.hpp"
#include "tests/sim/sim_random.hpp"
#include "tests/sim/sim_trace.hpp"
#include "tests/sim/simulated_log.hpp"

#include <functional>
#include <list>
#include <vector>

namespace mirrord::sim {

struct destination_faults {
  double not_enough_replicas = 0;        // per append: refused before it
  double not_enough_replicas_after = 0;  // per append with acks=all: answered 20, appended
  double replication_stall = 0;          // per append: the followers stop for up to a second
  double stale_reads = 0;                // former leaders answer producers() and bounds()
  double leaderless = 0;                 // per leader move: nobody leads for a while
};

// Moments after which a misfortune is worth a try.
enum class interest : std::uint8_t { data_appended, marker_appended, state_written, leadership_asked, log_end_asked, trimmed };
inline constexpr int interests = 6;

// What leader moves have taken from the log, and expiry from its memory.
struct destination_losses {
  std::int64_t data_batches = 0;
  std::int64_t markers = 0;
  std::int64_t producers = 0;
};

class simulated_destination {
 public:
  using answer = std::function<void(append_outcome)>;

  simulated_destination(sim_clock& clock, sim_random random, sim_trace& trace, log_settings settings);

  // Produce and WriteTxnMarkers carry no leader epoch: they are refused only by a broker that does not lead. A broker
  // that led under `epoch` and leads again takes them.
  void produce(std::int32_t epoch, std::vector<std::byte> batch, mirror::acks confirmation, answer done);
  // WriteTxnMarkers of one request for this partition; errors of one producer are merged as the broker does.
  void mark(std::int32_t epoch, const std::vector<mirror::end_marker>& markers, answer done);
  std::int16_t trim(std::int32_t epoch, std::int64_t offset);

  // What anybody else appends.
  void foreign_append();

  // The leadership moves; between the high watermark and the end the new leader may have less.
  void move_leader(bool lose_tail);
  // Away and back to the same broker, which has followed another one in between.
  void move_leader_and_back(bool lose_tail);

  // A pass over the producers, as every broker makes one each ten minutes.
  void expire_producers();

  [[nodiscard]] std::int32_t epoch() const noexcept { return epoch_; }
  [[nodiscard]] std::int32_t leader_of(std::int32_t epoch) const { return leaders_.at(static_cast<std::size_t>(epoch)); }
  [[nodiscard]] bool leaderless() const { return clock_.now() < leader_back_at_; }
  [[nodiscard]] std::int64_t high_watermark() const noexcept { return high_watermark_; }  // as the leader tells it
  [[nodiscard]] std::int64_t committed() const noexcept { return committed_; }            // what no leader can lose
  [[nodiscard]] const simulated_log& log() const noexcept { return log_; }
  [[nodiscard]] simulated_log& log() noexcept { return log_; }
  // The former leader's view at the last move, for stale answers.
  [[nodiscard]] const producer_table& stale_producers() const noexcept { return stale_producers_; }
  [[nodiscard]] mirror::destination_bounds stale_bounds() const noexcept { return stale_bounds_; }
  [[nodiscard]] std::optional<std::int64_t> foreign_offset() const noexcept { return foreign_offset_; }

  destination_faults faults;
  std::function<void(const log_entry&)> on_append = [](const log_entry&) {};
  std::function<void(interest)> on_interest = [](interest) {};
  destination_losses losses;

  static constexpr std::int16_t not_leader = 6;

 private:
  struct waiting {
    std::int64_t end;
    answer done;
    append_outcome outcome;
    sim_clock::duration deadline;
  };

  [[nodiscard]] bool is_led_by_leader_of(std::int32_t epoch) const;
  void appended(std::int64_t base_offset);
  void wait_for_replicas(append_outcome outcome, std::int64_t end, answer done);
  void replicate();
  void advance_high_watermark(std::int64_t to);
  void cut_tail();
  void lead_from(std::int32_t broker, bool lose_tail);

  sim_clock& clock_;
  sim_random random_;
  sim_trace& trace_;
  simulated_log log_;
  std::int32_t epoch_ = 0;
  std::vector<std::int32_t> leaders_{0};  // broker by epoch
  std::int64_t high_watermark_ = 0;
  std::int64_t committed_ = 0;
  sim_clock::duration stalled_until_{0};
  sim_clock::duration leader_back_at_{0};
  std::list<waiting> waiting_;
  producer_table stale_producers_;
  mirror::destination_bounds stale_bounds_;
  std::optional<std::int64_t> foreign_offset_;
};

}  // namespace mirrord::sim
