// What one seed consists of besides the daemons: the clusters, the writers, the faults, and the misfortunes that befall
// whoever is at work at an interesting moment.
#pragma once

#include "tests/sim/sim_daemon.hpp"
#include "tests/sim/sim_seed.hpp"
#include "tests/sim/source_writers.hpp"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace mirrord::sim {

class seed_world {
 public:
  seed_world(std::uint64_t seed, const seed_options& options);

  void draw_faults();
  void no_more_faults();

  // Leader moves, expiry passes and the rest of what happens to the clusters by themselves.
  void schedule_cluster_misfortunes();

  // Once, some events after the n-th interesting moment of some kind, which are drawn here.
  void at_an_interesting_moment(std::function<void()> action);

  [[nodiscard]] std::chrono::milliseconds some_moment() { return std::chrono::milliseconds(random.between(0, 8'000)); }

  asio::io_context context{1};
  sim_random random;
  sim_clock clock{context};
  sim_trace trace;
  seed_options options;
  std::int64_t restarts;
  log_settings settings;
  simulated_source source;
  simulated_destination destination;
  simulated_state state;
  sim_checks checks;
  source_faults from_source;
  network_faults to_destination;
  sim_clusters clusters;
  std::vector<std::unique_ptr<sim_daemon>> daemons;
  source_writers writers;

 private:
  struct trigger {
    interest what;
    std::int64_t occurrences_left;
    std::uint64_t events_after;
    std::function<void()> action;
  };

  [[nodiscard]] static log_settings draw_destination(sim_random& random);
  [[nodiscard]] writers_profile draw_writers();
  void notice(interest what);
  void expire_each_interval();

  std::vector<trigger> triggers_;
};

}  // namespace mirrord::sim
