// What must hold: after each append to the destination, and at the end when both logs stand still.
//
// Offsets the source once had a record at may hold only that record, with the same times, headers and transaction
// outcome; all others hold control batches. Bulk filler is the one exception, below a recorded fill plan.
#pragma once

#include "tests/sim/simulated_destination.hpp"
#include "tests/sim/simulated_source.hpp"
#include "tests/sim/simulated_state.hpp"

namespace mirrord::sim {

class sim_checks {
 public:
  sim_checks(sim_trace& trace, const simulated_source& source, const simulated_destination& destination, const simulated_state& state)
      : trace_(trace), source_(source), destination_(destination), state_(state) {}

  // Installed as simulated_destination::on_append.
  void after_append(const log_entry& entry);

  void before_hand_over(std::int64_t end, std::size_t under_way);
  void before_clear_fill_plan();

  // Requests may be under way longer than anybody can wait: then a hand-over can be recorded before the last has arrived.
  void allow_late_arrivals() { may_arrive_late_ = true; }

  // The destination may differ from the source from here on: somebody else wrote.
  void foreign_write() { is_foreign_ = true; }

  // The source's cleaner may take data and end of a transaction that is open here: an ABORT in their place is right.
  void allow_lost_endings() { may_lose_endings_ = true; }
  [[nodiscard]] std::int64_t lost_endings() const noexcept { return lost_endings_; }
  // Whether a transaction is open here whose first record the source no longer has.
  [[nodiscard]] bool has_unknown_outcome() const;

  // Two daemons may write: what is wrong in the log is noted and judged at the end by what the daemons say about it.
  void note_only() { notes_only_ = true; }

  // Both logs stand still and the mirror says that it is done.
  void at_the_end(bool follows_start);

  // While the destination has all of the source's log: the same transactions are open.
  void when_caught_up();

  // Whether what the destination has is what the source has up to there: nothing, or the first difference.
  [[nodiscard]] std::string difference();

 private:
  template <class... Arguments>
  void wrong(fmt::format_string<Arguments...> text, Arguments&&... arguments) {
    if (!notes_only_) return trace_.violation(text, std::forward<Arguments>(arguments)...);
    auto told = fmt::format(text, std::forward<Arguments>(arguments)...);
    trace_.add("DIFFERENCE {}", told);
    if (difference_.empty()) difference_ = std::move(told);
  }

  void compare_logs(std::int64_t end);
  void compare_stable();
  [[nodiscard]] bool is_lost_on_source(const log_transaction& here) const;
  void check_data(const log_entry& entry);
  void check_marker(const log_entry& entry);
  void compare_record(const log_entry& entry, const record_spec& record);
  void compare_outcome(std::int64_t offset, std::int64_t destination_producer);

  sim_trace& trace_;
  const simulated_source& source_;
  const simulated_destination& destination_;
  const simulated_state& state_;
  bool is_foreign_ = false;
  bool may_arrive_late_ = false;
  bool may_lose_endings_ = false;
  std::int64_t lost_endings_ = 0;
  bool notes_only_ = false;
  std::string difference_;
  std::int64_t stable_checked_at_ = -1;
};

}  // namespace mirrord::sim
