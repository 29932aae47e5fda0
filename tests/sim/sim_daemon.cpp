#include "tests/sim/sim_daemon.hpp"

#include <boost/asio/co_spawn.hpp>

#include <exception>

namespace mirrord::sim {

namespace {

// As the daemon has them.
constexpr std::chrono::seconds lease_length{7};
constexpr std::chrono::seconds lease_look_interval{1};

}  // namespace

sim_daemon::sim_daemon(sim_clusters& clusters, sim_random random, mirror::partition_options options, std::string name)
    : clusters_(clusters), name_(std::move(name)), random_(random), process_(clusters.clock), lease_(lease_length, [&clusters] { return clusters.clock.now(); }),
      destination_(process_, lease_, random_.fork(), clusters.trace, clusters.destination, clusters.to_destination, name_),
      source_(process_, random_.fork(), clusters.source, clusters.from_source),
      pool_(clusters.state, state_writer(process_, random_.fork(), clusters.state)),
      journal_(clusters.state, state_writer(process_, random_.fork(), clusters.state),
               [this](std::int64_t end) { clusters_.checks.before_hand_over(end, destination_.under_way()); },
               [this] { clusters_.checks.before_clear_fill_plan(); }),
      options_(options), mirror_(clusters.clock.context().get_executor(), {"topic", 0}, {source_, destination_, pool_, journal_, process_, random_, lease_},
              options) {
  destination_.on_write = [this] {
    if (view().state == core::partition_state::failed) clusters_.trace.violation("a write by a FAILED partition");
  };
}

void sim_daemon::start(bool recovers) {
  if (recovers) mirror_.recover();
  mirror_.allow_mirroring(options_);
  clusters_.trace.add("{}: starts", name_);
  look_at_lease();
  asio::co_spawn(clusters_.clock.context(), mirror_.run(), [this](std::exception_ptr failure) {
    if (failure) std::rethrow_exception(failure);
    ended_ = true;
    const auto& reason = mirror_.view().last_error;
    clusters_.trace.add("{}: ended, {}, {}", name_, core::name(mirror_.view().state), reason ? reason->message() : "no error");
  });
}

void sim_daemon::look_at_lease() {
  if (ended_) return;
  (void)lease_.term();
  clusters_.clock.after(lease_look_interval, [this] { process_.when_running([this] { look_at_lease(); }); });
}

void sim_daemon::raise_producer_epoch() {
  if (ended_) return;
  auto raise = [](simulated_pool& pool) -> asio::awaitable<void> { (void)co_await pool.raise_above(pool.epoch()); };
  asio::co_spawn(clusters_.clock.context(), raise(pool_), [](std::exception_ptr failure) { if (failure) std::rethrow_exception(failure); });
}

void sim_daemon::stop() {
  clusters_.trace.add("{}: asked to stop", name_);
  mirror_.end();
}

void sim_daemon::want(core::desired_state desired) {
  clusters_.trace.add("{}: wanted '{}'", name_, core::suffix_of(desired));
  if (desired == core::desired_state::stopped) destination_.forget_foreign_write();  // a stop ends the log whatever is in it
  mirror_.want(desired);
  if (desired == core::desired_state::mirroring) mirror_.allow_mirroring(options_);
}

void sim_daemon::crash() {
  clusters_.trace.add("{}: CRASH", name_);
  mirror_.end();
  destination_.sever();
  process_.kill();
}

void sim_daemon::pause(bool holds_requests) {
  if (ended_ || process_.paused() || process_.gone()) return;
  clusters_.trace.add("{}: PAUSED{}", name_, holds_requests ? " with requests in its buffers" : "");
  if (holds_requests) destination_.hold();
  process_.pause();
}

void sim_daemon::resume() {
  if (!process_.paused()) return;
  clusters_.trace.add("{}: continues", name_);
  destination_.release();
  process_.resume();
}

}  // namespace mirrord::sim
