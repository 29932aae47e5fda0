#include "tests/sim/sim_daemon.hpp"

#include <boost/asio/co_spawn.hpp>

#include <exception>

namespace mirrord::sim {

sim_daemon::sim_daemon(sim_clusters& clusters, sim_random random, mirror::partition_options options)
    : clusters_(clusters), random_(random), lease_(std::chrono::hours(24 * 365), [&clusters] { return clusters.clock.now(); }),
      destination_(clusters.clock, random_.fork(), clusters.trace, clusters.destination, clusters.to_destination),
      source_(clusters.clock, random_.fork(), clusters.source, clusters.from_source, destination_.severed()),
      pool_(clusters.state, state_writer(clusters.clock, random_.fork(), clusters.state, destination_.severed())),
      journal_(clusters.state, state_writer(clusters.clock, random_.fork(), clusters.state, destination_.severed()),
               [this](std::int64_t end) { clusters_.checks.before_hand_over(end, destination_.under_way()); },
               [this] { clusters_.checks.before_clear_fill_plan(); }),
      mirror_(clusters.clock.context().get_executor(), {"topic", 0},
              {source_, destination_, pool_, journal_, clusters.clock, random_, lease_}, options) {
  destination_.on_write = [this] {
    if (view().phase == mirror::partition_phase::failed) clusters_.trace.violation("a write by a FAILED partition");
  };
}

void sim_daemon::start() {
  clusters_.trace.add("daemon: starts");
  asio::co_spawn(clusters_.clock.context(), mirror_.run(), [this](std::exception_ptr failure) {
    if (failure) std::rethrow_exception(failure);
    ended_ = true;
    const auto& reason = mirror_.view().last_error;
    clusters_.trace.add("daemon: ended, {}, {}", mirror::name(mirror_.view().phase), reason ? reason->message() : "no error");
  });
}

void sim_daemon::raise_producer_epoch() {
  if (ended_) return;
  auto raise = [](simulated_pool& pool) -> asio::awaitable<void> { (void)co_await pool.raise_above(pool.epoch()); };
  asio::co_spawn(clusters_.clock.context(), raise(pool_), [](std::exception_ptr failure) { if (failure) std::rethrow_exception(failure); });
}

void sim_daemon::stop() {
  clusters_.trace.add("daemon: asked to stop");
  mirror_.stop();
}

void sim_daemon::crash() {
  clusters_.trace.add("daemon: CRASH");
  destination_.sever();
  mirror_.stop();
}

}  // namespace mirrord::sim
