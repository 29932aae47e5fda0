// One life of the daemon, as far as one partition goes: the real partition_mirror over ports of its own to the simulated
// clusters, from start to an orderly stop or a crash.
//
// A crash cuts the ports off: nothing that the loop does afterwards has an effect, its calls fail, and it is told to
// stop, so that its coroutines end by themselves. What was on its way may still arrive, as after a real one.
#pragma once

#include "mirror/partition_mirror.hpp"
#include "tests/sim/destination_client.hpp"
#include "tests/sim/sim_checks.hpp"
#include "tests/sim/simulated_source.hpp"
#include "tests/sim/simulated_state.hpp"

namespace mirrord::sim {

// What all daemons of a simulation share.
struct sim_clusters {
  sim_clock& clock;
  sim_trace& trace;
  simulated_source& source;
  simulated_destination& destination;
  simulated_state& state;
  sim_checks& checks;
  source_faults& from_source;
  network_faults& to_destination;
};

class sim_daemon {
 public:
  sim_daemon(sim_clusters& clusters, sim_random random, mirror::partition_options options, std::string name = "daemon");

  // `recovers`: a person acts on a FAILED state that is recorded.
  void start(bool recovers = true);
  void stop();
  void want(core::desired_state desired);
  void crash();
  // SIGSTOP and SIGCONT; `holds_requests`: what it was about to send leaves only when it is continued.
  void pause(bool holds_requests);
  void resume();
  // Another partition of this mirror had to raise the epoch of the common producer ids.
  void raise_producer_epoch();

  // Does nothing more by itself: it has ended, or is FAILED until a person acts.
  [[nodiscard]] bool ended() const { return ended_ || (failed_for_good() && mirror_.rests()); }
  [[nodiscard]] bool paused() const noexcept { return process_.paused(); }
  // FAILED until a person acts.
  [[nodiscard]] bool failed_for_good() const { return view().state == core::partition_state::failed && view().retry_attempt == -1; }
  [[nodiscard]] const mirror::partition_view& view() const { return mirror_.view(); }
  [[nodiscard]] destination_client& destination() noexcept { return destination_; }

 private:
  void look_at_lease();

  sim_clusters& clusters_;
  std::string name_;
  sim_random random_;
  sim_process process_;
  mirror::write_lease lease_;
  destination_client destination_;
  source_client source_;
  simulated_pool pool_;
  simulated_journal journal_;
  mirror::partition_options options_;
  mirror::partition_mirror mirror_;
  bool ended_ = false;
};

}  // namespace mirrord::sim
