#include "control.hpp"

#include "base/log.hpp"
#include "cluster_settings.hpp"
#include "control_channel.hpp"
#include "control_text.hpp"
#include "control_wait.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <iostream>
#include <set>

namespace mirrord::cli {
namespace {

using namespace std::chrono_literals;
using core::control_action;
using std::chrono::steady_clock;

constexpr auto look_again_after = 500ms;   // where no record changes: topics that appear, the time that passes
constexpr auto look_for_failures_after = 3s;  // and each time that this has passed again
constexpr auto progress_interval = 1s;     // a line, where stderr is no terminal
constexpr std::size_t failures_shown = 20;

control_action asked_action(const options& o) {
  switch (o.what) {
    case action::start: return control_action::start;
    case action::stop: return control_action::stop;
    case action::pause: return control_action::pause;
    case action::resume: return control_action::resume;
    case action::recover: return control_action::recover;
    case action::list: return control_action::list;
    default: return control_action::describe;
  }
}

std::string user_at_host() {
  char host[256] = {};
  const bool known = gethostname(host, sizeof host - 1) == 0;
  const passwd* user = getpwuid(getuid());
  return fmt::format("{}@{}", user ? user->pw_name : std::to_string(getuid()), known ? host : "unknown");
}

mirror::request_value request_for(control_action action, std::vector<std::string> topics) {
  mirror::request_value request;
  request.action = core::name(action);
  request.topics = std::move(topics);
  request.asked_by = user_at_host();
  request.asked_ms = std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::system_clock::now().time_since_epoch()).count();
  return request;
}

bool is_meant(const options& o) {
  if (o.what != action::stop || o.yes || o.dry_run) return true;
  if (isatty(STDIN_FILENO) != 1) throw usage_error("--stop cannot be undone without copying the topics anew: add --yes if it is meant");
  fmt::print(stderr, "Stopping cannot be undone without copying the topics anew. Stop {} of mirror {}? [y/N] ", fmt::join(o.topics, ", "), o.mirror);
  std::string line;
  std::getline(std::cin, line);
  return line == "y" || line == "Y" || line == "yes";
}

// The last line of what goes on, rewritten in place on a terminal.
class status_line {
 public:
  void show(const std::string& text) {
    const auto now = steady_clock::now();
    if (text == shown_ || (!terminal_ && shown_at_ && now < *shown_at_ + progress_interval)) return;
    shown_ = text;
    shown_at_ = now;
    if (terminal_) fmt::print(stderr, "\r\033[K{}", text);
    else fmt::print(stderr, "{}\n", text);
    std::fflush(stderr);
  }
  void finish() {
    if (terminal_ && shown_at_) fmt::print(stderr, "\r\033[K");
    shown_at_.reset();
  }

 private:
  bool terminal_ = isatty(STDERR_FILENO) == 1;
  std::string shown_;
  std::optional<steady_clock::time_point> shown_at_;
};

class control_session {
 public:
  control_session(const options& o, connection_settings connection) : options_(o), io_(1), channel_(io_.get_executor(), std::move(connection)) {}

  int run() {
    asio::co_spawn(io_, work(), [](std::exception_ptr failure) { if (failure) std::rethrow_exception(failure); });
    io_.run();
    return exit_code_;
  }

 private:
  asio::awaitable<void> work() {
    auto done = co_await carry_out();
    if (!done) {
      fmt::print(stderr, "kafka-mirror: {}\n", done.error().message());
      exit_code_ = 1;
    }
    co_await channel_.close();
  }

  asio::awaitable<result<void>> carry_out();
  asio::awaitable<bool> wait_for(std::vector<std::string> topics, core::partition_state aim, state_epochs before);
  asio::awaitable<std::vector<std::string>> find_topic_failures(std::vector<std::string> names);
  asio::awaitable<result<std::vector<awaited_topic>>> find_topics(std::vector<std::string> names);
  [[nodiscard]] std::string unreported_mirrors(const report_items& items) const;
  void print_view(control_action action, report_items items) const;
  void print_change(control_action action, const report_items& items, bool waited) const;

  const options& options_;
  asio::io_context io_;
  control_channel channel_;
  int exit_code_ = 0;
};

asio::awaitable<result<void>> control_session::carry_out() {
  auto opened = co_await channel_.open();
  if (!opened) co_return opened;
  const control_action action = asked_action(options_);
  state_epochs before = state_epochs_of(channel_.view(), options_.mirror);
  mirror::request_value request = request_for(action, options_.topics);
  request.exclude = options_.exclude;
  if (options_.dry_run) request.flags.emplace_back(core::dry_run_flag);
  auto items = co_await channel_.ask(options_.mirror, std::move(request));
  if (!items) co_return std::move(items.error());
  fmt::print(stderr, "{}", failures_text(*items));
  if (std::any_of(items->begin(), items->end(), [](const auto& item) { return !item.ok; })) exit_code_ = 1;
  if (!core::is_change(action)) {
    if (options_.mirror.empty()) fmt::print(stderr, "{}", unreported_mirrors(*items));
    print_view(action, std::move(*items));
    co_return result<void>{};
  }
  std::vector<std::string> topics;
  for (const auto& item : *items) {
    if (item.ok) topics.push_back(item.topic);
  }
  const auto aim = core::aim_of(action);
  const bool waits = options_.wait && !options_.dry_run && aim && !topics.empty();
  bool reached = true;
  if (waits) reached = co_await wait_for(std::move(topics), *aim, std::move(before));
  if (!reached) exit_code_ = 1;
  for (auto& item : *items) {
    if (waits && reached && item.ok) item.state = core::name(*aim);
  }
  if (reached || options_.json) print_change(action, *items, waits);
  co_return result<void>{};
}

std::string control_session::unreported_mirrors(const report_items& items) const {
  std::set<std::string> told;
  for (const auto& item : items) told.insert(item.mirror);
  std::string text;
  for (const auto& [key, value] : channel_.view().list_all<mirror::mirror_key>()) {
    if (!told.contains(key.mirror)) text += fmt::format("mirror {}: on record, but no running daemon has it in its YAML file\n", key.mirror);
  }
  return text;
}

void control_session::print_view(control_action action, report_items items) const {
  if (action == control_action::list) {
    if (options_.json) fmt::print("{}\n", list_json(items));
    else fmt::print("{}", list_text(items));
    return;
  }
  if (options_.failed) items = only_failed(std::move(items));
  if (options_.json) fmt::print("{}\n", describe_json(items));
  else fmt::print("{}", options_.failed ? failed_text(items) : describe_text(items));
}

void control_session::print_change(control_action action, const report_items& items, bool waited) const {
  if (options_.json) {
    fmt::print("{}\n", action_json(items));
    return;
  }
  if (options_.dry_run) {
    fmt::print("{}", dry_run_text(items));
    return;
  }
  std::vector<std::string> topics;
  for (const auto& item : items) {
    if (!item.ok) continue;
    if (action == control_action::recover && !item.message.empty()) fmt::print("{}: {}\n", item.topic, item.message);
    else topics.push_back(item.topic);
  }
  if (!topics.empty()) fmt::print("{}", action_line(action, options_.mirror, topics, waited));
}

asio::awaitable<result<std::vector<awaited_topic>>> control_session::find_topics(std::vector<std::string> names) {
  std::vector<std::string> asked = names;
  auto refreshed = co_await channel_.destination().refresh(std::move(asked));
  if (!refreshed) co_return std::move(refreshed.error());
  std::vector<awaited_topic> topics;
  for (std::string& name : names) {
    awaited_topic topic;
    const auto* info = channel_.destination().metadata().find_topic(name);
    if (info && info->error_code == 0) {
      topic.id = info->id;
      topic.partitions = static_cast<std::int32_t>(info->partitions.size());
    }
    topic.name = std::move(name);
    topics.push_back(std::move(topic));
  }
  co_return topics;
}

// A topic that cannot be prepared has no partition that is FAILED on record: only the daemon knows.
asio::awaitable<std::vector<std::string>> control_session::find_topic_failures(std::vector<std::string> names) {
  std::vector<std::string> failures;
  mirror::request_value request = request_for(control_action::describe, std::move(names));
  auto items = co_await channel_.ask(options_.mirror, std::move(request));
  if (!items) co_return failures;
  for (const auto& item : *items) {
    const bool failed = item.ok && item.partition == -1 && item.state == core::name(core::partition_state::failed);
    if (failed) failures.push_back(fmt::format("{}: {}", item.topic, item.message));
  }
  co_return failures;
}

// Whether all came to it; else the reasons are on stderr.
asio::awaitable<bool> control_session::wait_for(std::vector<std::string> names, core::partition_state aim, state_epochs before) {
  const auto until = steady_clock::now() + options_.timeout;
  auto failures_at = steady_clock::now() + look_for_failures_after;
  status_line line;
  std::vector<awaited_topic> topics;
  error unreachable;
  while (true) {
    wait_progress progress = progress_of(channel_.view(), options_.mirror, topics, aim, before);
    if (topics.empty() || (aim == core::partition_state::mirroring && progress.unready > 0)) {
      std::vector<std::string> asked = names;
      auto found = co_await find_topics(std::move(asked));
      if (found) topics = std::move(*found);
      else unreachable = std::move(found.error());
      progress = progress_of(channel_.view(), options_.mirror, topics, aim, before);
    }
    if (aim == core::partition_state::mirroring && !progress.is_done() && steady_clock::now() >= failures_at) {
      std::vector<std::string> asked = names;
      auto failures = co_await find_topic_failures(std::move(asked));
      progress.lost.insert(progress.lost.end(), failures.begin(), failures.end());
      failures_at = steady_clock::now() + look_for_failures_after;
    }
    if (!topics.empty() && progress.is_done()) {
      line.finish();
      co_return true;
    }
    if (!topics.empty()) line.show(progress_text(progress, aim));
    const bool timed_out = steady_clock::now() >= until;
    if (!progress.lost.empty() || timed_out || channel_.failed()) {
      line.finish();
      if (channel_.failed()) fmt::print(stderr, "kafka-mirror: {}\n", channel_.failed()->message());
      if (timed_out && topics.empty()) fmt::print(stderr, "kafka-mirror: {}\n", unreachable.message());
      std::size_t shown = 0;
      for (const std::string& why : progress.lost) {
        if (shown++ < failures_shown) fmt::print(stderr, "{}\n", why);
      }
      if (!progress.first_failure.empty()) fmt::print(stderr, "{}\n", progress.first_failure);
      fmt::print(stderr, "{}{}; the wish is recorded, the daemon goes on: see --describe\n", timed_out ? fmt::format("after {} s ", options_.timeout.count()) : "",
                 progress_text(progress, aim));
      co_return false;
    }
    co_await channel_.wait_for_change(look_again_after);
  }
}

}  // namespace

int control(const options& o) {
  const connection_settings connection = destination_settings(o);
  if (!is_meant(o)) {
    fmt::print(stderr, "Nothing is stopped.\n");
    return 1;
  }
  log::start(log::level::error);
  return control_session(o, connection).run();
}

}  // namespace mirrord::cli
