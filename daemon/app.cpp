#include "app.hpp"

#include "base/log.hpp"
#include "mirror/control_desk.hpp"
#include "mirror/state_topic.hpp"
#include "status_view.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <systemd/sd-daemon.h>

#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>

namespace mirrord {
namespace {

using namespace std::chrono_literals;
namespace asio = boost::asio;

constexpr auto destination_backoff_min = 500ms;
constexpr auto destination_backoff_max = 10'000ms;
constexpr auto stop_check_interval = 100ms;
constexpr auto heartbeat_interval = 1s;
constexpr auto lease_length = 7s;         // a daemon that is stopped for longer must take another owner into account
constexpr auto orderly_stop_limit = 7s;   // then connections are cut, so that whatever waits for a broker ends
constexpr auto stop_limit = 9500ms;       // then the process ends; 10 s are promised
constexpr std::size_t fetched_bytes_max = 64 * 1024 * 1024;  // answers that partitions hold and have not written yet

std::string host_name() {
  char name[256] = {};
  return gethostname(name, sizeof name - 1) == 0 ? name : "unknown";
}

core::advice_names advice_for(const connection_settings& destination) {
  core::advice_names names;
  names.destination = fmt::format("{}", fmt::join(destination.bootstrap_servers, ","));
  if (uses_sasl(destination.security_protocol)) names.principal = destination.sasl_username;
  return names;
}

asio::awaitable<result<mirror::cluster_shape>> shape_of(client::cluster& cluster, std::string topic) {
  std::vector<std::string> named{topic};
  if (auto refreshed = co_await cluster.refresh(std::move(named)); !refreshed) co_return std::move(refreshed.error());
  mirror::cluster_shape shape;
  shape.brokers = static_cast<std::int32_t>(cluster.metadata().brokers().size());
  const auto* info = cluster.metadata().find_topic(topic);
  if (info && info->error_code == 0) {
    mirror::topic_shape found;
    found.partitions = static_cast<std::int32_t>(info->partitions.size());
    for (const auto& partition : info->partitions) {
      const auto replicas = static_cast<std::int32_t>(partition.replicas.size());
      found.replication_factor = found.replication_factor == 0 ? replicas : std::min(found.replication_factor, replicas);
    }
    shape.topic = found;
  }
  co_return shape;
}

}  // namespace

app::app(settings configuration)
    : settings_(std::move(configuration)), io_(1), signals_(io_, SIGINT, SIGTERM), lease_(lease_length, mirror::boot_time), heartbeat_pause_(io_), instance_(fmt::format("{}-{}", host_name(), ::getpid())),
      advice_(advice_for(settings_.destination)), started_(std::chrono::steady_clock::now()), end_asked_(io_.get_executor()) {}

app::~app() = default;

int app::run() {
  observe::http_options http{settings_.http.address, settings_.http.port};
  http_ = std::make_unique<observe::http_server>(io_.get_executor(), http, [this] { return snapshot(); });
  auto port = http_->start();
  if (!port) {
    log::error("http_failed", {{"error", port.error().message()}, {"action", "change http.listen"}});
    return 1;
  }
  log::info("started", {{"version", MIRRORD_VERSION}, {"instance", instance_}, {"http", fmt::format("{}:{}", settings_.http.address, *port)},
                        {"mirrors", settings_.mirrors.size()}});
  const auto fail_loudly = [](std::exception_ptr failure) { if (failure) std::rethrow_exception(failure); };
  asio::co_spawn(io_, watch_signals(), fail_loudly);
  asio::co_spawn(io_, heartbeat(), fail_loudly);
  asio::co_spawn(io_, main(), fail_loudly);
  io_.run();
  log::info("stopped", {{"exit_code", exit_code_}});
  return exit_code_;
}

asio::awaitable<void> app::main() {
  destination_ = std::make_unique<client::cluster>(io_.get_executor(), settings_.destination);
  std::chrono::milliseconds backoff = destination_backoff_min;
  while (!stopping_) {
    auto opened = co_await open_destination();
    if (stopping_) break;
    if (!opened) {
      observe::status_error problem = describe_error(opened.error(), advice_);
      if (problem != destination_error_) log::warn("destination_not_ready", {{"error", problem.message}});
      destination_error_ = std::move(problem);
      co_await wait(backoff);
      backoff = std::min<std::chrono::milliseconds>(backoff * 2, destination_backoff_max);
      continue;
    }
    destination_error_.reset();
    backoff = destination_backoff_min;
    starting_over_ = false;
    if (auto made = open_mirrors(); !made) {
      log::error("mirrors_failed", {{"error", made.error().message()}});
      exit_code_ = 1;
      break;
    }
    sd_notify(0, "READY=1");
    co_await run_mirrors();
    if (!stopping_) co_await forget_mirrors();
  }
  sd_notify(0, "STOPPING=1");
  co_await close_destination();
  co_await http_->stop();
  finished_ = true;
  signals_.cancel();
  heartbeat_pause_.cancel();
}

asio::awaitable<result<void>> app::open_destination() {
  const auto until = [&] { return std::chrono::steady_clock::now() + settings_.destination.request_timeout; };
  std::vector<std::string> no_topics;
  if (auto asked = co_await destination_->refresh(std::move(no_topics)); !asked) co_return std::move(asked.error()).within("destination");
  if (!destination_admin_) {
    auto admin = client::admin::open(io_.get_executor(), settings_.destination, "destination");
    if (!admin) co_return std::move(admin.error());
    destination_admin_ = std::move(*admin);
  }
  mirror::shape_source shape = [this](std::string topic, client::steady_time) { return shape_of(*destination_, std::move(topic)); };
  auto partitions = co_await mirror::ensure_state_topic(*destination_admin_, std::move(shape), mirror::state_topic_name, settings_.state_topic, until());
  if (!partitions) co_return std::move(partitions.error());

  mirror::state_store_options options;
  options.topic = mirror::state_topic_name;
  options.partitions = *partitions;
  options.instance = instance_;
  auto store = mirror::state_store::open(io_.get_executor(), settings_.destination, std::move(options));
  if (!store) co_return std::move(store.error());
  state_ = std::move(*store);
  auto loaded = co_await state_->load();
  if (!loaded) {
    co_await state_->close();
    state_.reset();
    co_return std::move(loaded.error());
  }
  state_->on_failure([this](const error& e) {
    log::error("state_store_failed", {{"error", core::explain(e, advice_)}, {"action", "restarting"}});
    exit_code_ = 1;
    ask_to_stop();
  });
  co_return result<void>{};
}

mirror::daemon_context app::context(std::shared_ptr<mirror::fetch_budget> budget) {
  return {io_.get_executor(), settings_, *destination_, *destination_admin_, *state_, clock_, random_, lease_, std::move(budget), instance_, advice_};
}

result<void> app::open_mirrors() {
  const auto budget = std::make_shared<mirror::fetch_budget>(io_.get_executor(), fetched_bytes_max);
  for (const mirror_settings& wanted : settings_.mirrors) {
    auto opened = mirror::mirror_manager::open(context(budget), wanted, static_cast<int>(mirrors_.size()));
    if (!opened) return std::move(opened.error()).within(fmt::format("mirror {}", wanted.name));
    mirrors_.push_back(std::move(*opened));
  }
  return {};
}

asio::awaitable<void> app::run_mirrors() {
  client::task_group running(io_.get_executor());
  for (const auto& mirror : mirrors_) running.spawn(mirror->run());
  std::vector<mirror::mirror_manager*> steered;
  for (const auto& mirror : mirrors_) steered.push_back(mirror.get());
  mirror::control_desk desk(context(nullptr), std::move(steered));
  state_->on_change([&desk](const mirror::state_change& change) { desk.note(change); });
  desk.open();
  while (!stopping_ && !starting_over_) (void)co_await end_asked_.wait();
  state_->on_change(nullptr);
  co_await desk.close();
  for (const auto& mirror : mirrors_) mirror->end();
  (void)co_await running.join();
}

// Another owner may have written while this process was stopped: everything is read again.
asio::awaitable<void> app::forget_mirrors() {
  mirrors_.clear();
  co_await state_->close();
  state_.reset();
}

// Stopped from outside (SIGSTOP, a paused machine), this process finds requests and answers of before in its buffers.
asio::awaitable<void> app::heartbeat() {
  auto term = lease_.term();
  while (!finished_) {
    heartbeat_pause_.expires_after(heartbeat_interval);
    boost::system::error_code ended;
    co_await heartbeat_pause_.async_wait(asio::redirect_error(asio::use_awaitable, ended));
    const auto now = lease_.term();
    if (now == term) continue;
    term = now;
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(lease_.last_gap()).count();
    log::warn("process_was_stopped", {{"seconds", seconds}, {"action", "all connections are dropped and all positions read again"}});
    starting_over_ = true;
    if (destination_) destination_->drop_connections();
    for (const auto& mirror : mirrors_) mirror->drop_connections();
    end_asked_.notify();
  }
}

asio::awaitable<void> app::close_destination() {
  if (state_) co_await state_->close();
  if (destination_admin_) co_await destination_admin_->close();
  co_await destination_->close();
}

void app::ask_to_stop() {
  if (stopping_) return;
  stopping_ = true;
  end_asked_.notify();
  asio::co_spawn(io_, enforce_stop_deadline(), [](std::exception_ptr failure) { if (failure) std::rethrow_exception(failure); });
}

asio::awaitable<void> app::watch_signals() {
  while (!finished_) {
    boost::system::error_code ended;
    const int signal = co_await signals_.async_wait(asio::redirect_error(asio::use_awaitable, ended));
    if (ended) co_return;
    if (stopping_) std::_Exit(128 + signal);
    log::info("stop_asked", {{"signal", signal}});
    ask_to_stop();
  }
}

asio::awaitable<void> app::enforce_stop_deadline() {
  const auto asked = std::chrono::steady_clock::now();
  bool cut = mirrors_.empty();  // nothing is mirrored yet: nothing to hand over
  while (!finished_) {
    const auto passed = std::chrono::steady_clock::now() - asked;
    if (cut || passed >= orderly_stop_limit) {
      if (!cut) log::warn("stop_is_slow", {{"action", "connections are cut; the next start settles first"}});
      cut = true;
      if (destination_) co_await destination_->close();
      for (const auto& mirror : mirrors_) co_await mirror->abandon();
      break;
    }
    co_await client::sleep_for(stop_check_interval);
  }
  while (!finished_ && std::chrono::steady_clock::now() - asked < stop_limit) co_await client::sleep_for(stop_check_interval);
  if (finished_) co_return;
  log::error("stop_failed", {{"action", "the process ends without order; the next start settles first"}});
  std::_Exit(1);
}

asio::awaitable<void> app::wait(std::chrono::milliseconds length) {
  const auto until = std::chrono::steady_clock::now() + length;
  while (!stopping_ && std::chrono::steady_clock::now() < until) co_await client::sleep_for(stop_check_interval);
}

observe::status_snapshot app::snapshot() const {
  const auto now = std::chrono::steady_clock::now();
  const auto in_ms = [](auto length) { return std::chrono::duration_cast<std::chrono::milliseconds>(length).count(); };
  observe::status_snapshot status;
  status.daemon_version = MIRRORD_VERSION;
  status.instance = instance_;
  if (destination_) status.destination_cluster_id = destination_->metadata().cluster_id();
  status.destination_error = destination_error_;
  status.uptime_ms = in_ms(now - started_);
  status.monotonic_ms = in_ms(now.time_since_epoch());
  for (const auto& mirror : mirrors_) status.mirrors.push_back(describe_mirror(mirror->view(), advice_));
  return status;
}

}  // namespace mirrord
