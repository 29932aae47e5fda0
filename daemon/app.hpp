// The composition root: builds the daemon's parts, starts them, and ends them in order.
//
//   start: HTTP -> destination (connections, state topic, its records) -> mirrors -> control desk
//   stop:  control desk -> mirrors (each partition hands over) -> state store -> destination -> HTTP
//   stopped from outside for longer than the lease: mirrors (nothing is handed over) -> state store -> start again
//
// A destination that cannot be reached is waited for; a stop that takes too long gives up its order, never its deadline.
#pragma once

#include "client/admin.hpp"
#include "client/cluster.hpp"
#include "core/error_table.hpp"
#include "mirror/mirror_manager.hpp"
#include "mirror/state_store.hpp"
#include "mirror/system_ports.hpp"
#include "observe/http_server.hpp"
#include "settings/settings.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace mirrord {

class app {
 public:
  explicit app(settings configuration);
  ~app();

  // Runs until a signal or a failure that only a restart mends. The process's exit code.
  int run();

 private:
  boost::asio::awaitable<void> main();
  boost::asio::awaitable<result<void>> open_destination();
  mirror::daemon_context context(std::shared_ptr<mirror::fetch_budget> budget);
  result<void> open_mirrors();
  boost::asio::awaitable<void> run_mirrors();
  boost::asio::awaitable<void> forget_mirrors();
  boost::asio::awaitable<void> close_destination();
  boost::asio::awaitable<void> heartbeat();
  boost::asio::awaitable<void> watch_signals();
  boost::asio::awaitable<void> enforce_stop_deadline();
  boost::asio::awaitable<void> wait(std::chrono::milliseconds length);
  void ask_to_stop();

  [[nodiscard]] observe::status_snapshot snapshot() const;

  settings settings_;
  boost::asio::io_context io_;
  boost::asio::signal_set signals_;
  mirror::system_clock clock_;
  mirror::system_random random_;
  mirror::write_lease lease_;
  boost::asio::steady_timer heartbeat_pause_;
  std::string instance_;
  core::advice_names advice_;
  std::chrono::steady_clock::time_point started_;
  std::unique_ptr<observe::http_server> http_;
  std::unique_ptr<client::cluster> destination_;
  std::unique_ptr<client::admin> destination_admin_;
  std::unique_ptr<mirror::state_store> state_;
  std::vector<std::unique_ptr<mirror::mirror_manager>> mirrors_;
  client::notifier end_asked_;  // of what runs: for a stop, or to start over
  std::optional<observe::status_error> destination_error_;
  bool stopping_ = false;
  bool starting_over_ = false;
  bool finished_ = false;
  int exit_code_ = 0;
};

}  // namespace mirrord
