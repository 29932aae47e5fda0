// A world without chance for single cases: a source that the test writes, a destination, and daemons that the test
// starts, stops and cuts off. The invariants of sim_checks hold in it as in the random ones.
#pragma once

#include "tests/sim/sim_daemon.hpp"

#include <memory>
#include <string>
#include <vector>

namespace mirrord::sim {

struct scenario {
  // The seed decides latencies and what becomes of what is on its way at a crash.
  explicit scenario(log_settings destination_settings = {}, std::uint64_t seed = 0);
  ~scenario();
  scenario(const scenario&) = delete;
  scenario& operator=(const scenario&) = delete;

  // Source batches with keys "<offset>"; `producer` -1 is none.
  std::int64_t plain(int records, std::int64_t producer = 100);
  std::int64_t transactional(std::int64_t producer, int records);
  std::int64_t end(std::int64_t producer, bool commit);
  // The cleaner takes these offsets out of the batch.
  void compact(std::int64_t base_offset, std::vector<std::int64_t> gone, bool remove_if_empty = false);

  sim_daemon& start(bool fresh = false);
  sim_daemon& daemon() { return *daemons.back(); }
  void stop();   // in order, and waits for it
  void restart_in_order();  // a crash may come in between
  void crash();  // and waits until its coroutines are gone
  // From within an event: the next daemon starts when the coroutines are gone.
  void crash_and_restart();
  // Said with a failure: how to come back to it.
  void record_source_of_failure(std::string text) { came_from_ = std::move(text); }
  // A wish, now and for all daemons to come.
  void want(core::desired_state wanted);
  void run_until(std::chrono::minutes limit, const std::function<bool()>& until);
  void pass(std::chrono::milliseconds length);
  void pass_one_event();
  // Runs until the destination has all of the source's log and the mirror knows it, then compares.
  void expect_equal();
  // Runs until the partition is FAILED for good; answers the reason.
  error expect_failed();
  [[nodiscard]] std::size_t data_batches() const;  // on the destination
  [[nodiscard]] std::size_t markers() const;
  [[nodiscard]] std::string destination_text(std::int64_t offset) const;  // the record's key, or "control"

  asio::io_context context{1};
  sim_clock clock{context};
  sim_trace trace{clock, "scenario"};
  std::uint64_t seed;
  simulated_source source{clock, sim_random(10 * seed + 1), trace};
  simulated_destination destination;
  simulated_state state;
  sim_checks checks{trace, source, destination, state};
  source_faults from_source;
  network_faults to_destination;
  sim_clusters clusters{clock, trace, source, destination, state, checks, from_source, to_destination};
  mirror::partition_options options;
  core::desired_state desired = core::desired_state::mirroring;  // of the daemons that start from here on
  std::chrono::milliseconds record_age{1'000};
  std::vector<std::unique_ptr<sim_daemon>> daemons;

 private:
  [[nodiscard]] batch_spec batch(int records, std::int64_t producer);
  std::map<std::int64_t, std::int32_t> sequences_;
  bool restarting_ = false;
  std::string came_from_;
};

}  // namespace mirrord::sim
