#include "control_channel.hpp"

#include "base/broker_error.hpp"
#include "client/deadline.hpp"
#include "mirror/control_items.hpp"
#include "mirror/state_topic.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdio>
#include <random>
#include <set>

namespace mirrord::cli {
namespace {

using namespace std::chrono_literals;
using std::chrono::steady_clock;

constexpr auto write_timeout = 10s;         // a person waits
constexpr auto told_after = 1s;
constexpr auto answer_timeout = 10s;        // for the first report, and from one part to the next
constexpr auto other_daemons_within = 2s;   // a request to all mirrors is answered by several daemons

std::string random_id() {
  std::random_device chance;
  return fmt::format("{:08x}{:08x}", chance(), chance());
}

}  // namespace

control_channel::control_channel(asio::any_io_executor executor, connection_settings connection)
    : executor_(std::move(executor)), connection_(std::move(connection)), destination_(executor_, connection_), changed_(executor_) {}

asio::awaitable<result<void>> control_channel::open() {
  const std::string topic = mirror::state_topic_name;
  std::vector<std::string> named{topic};
  auto asked = co_await destination_.refresh(std::move(named));
  if (!asked) co_return std::move(asked.error()).within("destination");
  const auto* info = destination_.metadata().find_topic(topic);
  if (!info || is(info->error_code, kafka_error::unknown_topic_or_partition)) {
    co_return fail(errc::not_found, fmt::format("there is no topic {} on {}: no kafka-mirrord has worked on this cluster yet, or this principal may not see the topic",
                                               topic, fmt::join(connection_.bootstrap_servers, ",")));
  }
  if (info->error_code != 0) {
    const bool refused = is(info->error_code, kafka_error::topic_authorization_failed);
    co_return broker_failure(info->error_code, fmt::format("topic {}{}", topic, refused ? ": steering mirrors needs READ, WRITE and DESCRIBE on it" : ""));
  }
  mirror::state_store_options options;
  options.topic = topic;
  options.partitions = static_cast<std::int32_t>(info->partitions.size());
  options.instance = "kafka-mirror-" + random_id();
  options.write_timeout = write_timeout;
  auto store = mirror::state_store::open(executor_, connection_, std::move(options));
  if (!store) co_return std::move(store.error());
  store_ = std::move(*store);
  auto loaded = co_await store_->load();
  if (!loaded) co_return loaded;
  store_->on_change([this](const mirror::state_change& change) { note(change); });
  store_->on_failure([this](const error&) { changed_.notify(); });
  co_return result<void>{};
}

asio::awaitable<void> control_channel::close() {
  if (store_) co_await store_->close();
  co_await destination_.close();
}

void control_channel::note(const mirror::state_change& change) {
  changed_.notify();
  if (change.kind != mirror::record_kind::report || !change.value) return;
  const auto key = mirror::decode_key<mirror::report_key>(change.key);
  auto value = mirror::decode_value<mirror::report_value>(*change.value);
  if (!key || key->id != id_ || !value || !*value) return;
  daemon_answer& from = answers_[(*value)->instance];
  from.parts = (*value)->parts;
  from.items[key->part] = std::move((*value)->items);
}

asio::awaitable<void> control_channel::wait_for_change(std::chrono::milliseconds longest) {
  const client::deadline guard(executor_, steady_clock::now() + longest, [this] { changed_.notify(); });
  (void)co_await changed_.wait();
}

asio::awaitable<result<std::vector<mirror::report_item>>> control_channel::ask(std::string mirror, mirror::request_value request) {
  id_ = random_id();
  answers_.clear();
  mirror::request_key key{mirror, id_};
  mirror::request_key written = key;
  auto asked = co_await store_->write(std::move(written), std::move(request));
  if (!asked) co_return std::move(asked.error());
  auto collected = co_await collect(mirror);
  co_await clear(std::move(key));
  if (!collected) co_return std::move(collected.error());
  std::vector<mirror::report_item> items;
  for (auto& [instance, answer] : answers_) {
    for (auto& [part, some] : answer.items) items.insert(items.end(), std::make_move_iterator(some.begin()), std::make_move_iterator(some.end()));
  }
  mirror::sort_items(items);
  co_return items;
}

bool control_channel::is_answered() const {
  if (answers_.empty()) return false;
  for (const auto& [instance, answer] : answers_) {
    if (!answer.is_whole()) return false;
  }
  return true;
}

bool control_channel::covers_all_mirrors() const {
  std::set<std::string> told;
  for (const auto& [instance, answer] : answers_) {
    for (const auto& [part, items] : answer.items) {
      for (const auto& item : items) told.insert(item.mirror);
    }
  }
  for (const auto& [key, value] : view().list_all<mirror::mirror_key>()) {
    if (!told.contains(key.mirror)) return false;
  }
  return true;
}

asio::awaitable<result<void>> control_channel::collect(std::string mirror) {
  const auto began = steady_clock::now();
  auto until = began + answer_timeout;
  std::optional<steady_clock::time_point> answered;
  std::size_t parts_seen = 0;
  bool told = false;
  while (true) {
    if (store_->failed()) co_return *store_->failed();
    const auto now = steady_clock::now();
    if (is_answered() && !answered) answered = now;
    if (answered && is_answered() && (!mirror.empty() || covers_all_mirrors() || now >= *answered + other_daemons_within)) co_return result<void>{};
    std::size_t parts = 0;
    for (const auto& [instance, answer] : answers_) parts += answer.items.size();
    if (parts > parts_seen) until = now + answer_timeout;
    parts_seen = parts;
    if (now >= until) {
      co_return fail(errc::timed_out, parts > 0 ? "the daemon's report is not complete: ask again"
                                                : fmt::format("no daemon has answered within {} s: is kafka-mirrord running for this cluster? The request is withdrawn.",
                                                              std::chrono::seconds(answer_timeout).count()));
    }
    if (!told && !answered && now >= began + told_after) {
      told = true;
      fmt::print(stderr, "waiting for a daemon to answer ...\n");
    }
    co_await wait_for_change(100ms);
  }
}

// Failing is no harm: a daemon erases what was left behind.
asio::awaitable<void> control_channel::clear(mirror::request_key request) {
  mirror::request_key erased = request;
  (void)co_await store_->erase(std::move(erased));
  for (const auto& [key, value] : view().list<mirror::report_key>(request.mirror)) {
    if (key.id != request.id) continue;
    mirror::report_key report = key;
    (void)co_await store_->erase(std::move(report));
  }
}

}  // namespace mirrord::cli
