#include "mirror/mirror_manager.hpp"

#include "base/log.hpp"
#include "mirror/topic_preparation.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace mirrord::mirror {
namespace {

using namespace std::chrono_literals;

constexpr int fetch_lanes_per_broker = 2;
constexpr int marker_lanes_per_broker = 2;
constexpr std::size_t topics_at_once = 16;
constexpr std::chrono::milliseconds refresh_backoff_min = 1s;
constexpr std::chrono::milliseconds refresh_backoff_max = 32s;  // or the refresh interval, where that is shorter
constexpr auto change_check_interval = 200ms;  // an end, a new wish, a copied topic is noticed within this

}  // namespace

result<std::unique_ptr<mirror_manager>> mirror_manager::open(daemon_context context, mirror_settings settings, int number) {
  auto filter = topic_filter::compile(settings.topics_include, settings.topics_exclude);
  if (!filter) return std::move(filter.error());
  auto admin = client::admin::open(context.executor, settings.source, fmt::format("source of mirror {}", settings.name));
  if (!admin) return std::move(admin.error());
  return std::unique_ptr<mirror_manager>(new mirror_manager(std::move(context), std::move(settings), std::move(*filter), std::move(*admin), number));
}

mirror_manager::mirror_manager(daemon_context context, mirror_settings settings, topic_filter filter,
                               std::unique_ptr<client::admin> source_admin, int number)
    : context_(std::move(context)), settings_(std::move(settings)), filter_(std::move(filter)), source_admin_(std::move(source_admin)),
      source_(context_.executor, settings_.source),
      fetch_lanes_(fetch_lanes_per_broker,
                   [this](broker_id broker, int index) {
                     return std::make_unique<fetch_lane>(context_.executor, source_, broker, index, context_.configuration.fetch,
                                                         settings_.source.request_timeout, context_.budget);
                   }),
      destination_lanes_{
          {context_.configuration.lanes,
           [this, number](broker_id broker, int index) {
             const int connection = number * (context_.configuration.lanes + marker_lanes_per_broker) + index;
             return std::make_unique<append_lane>(context_.executor, context_.destination, broker, connection, "kafka-mirrord-" + settings_.name,
                                                  context_.configuration.destination.request_timeout, context_.lease);
           }},
          {marker_lanes_per_broker,
           [this, number](broker_id broker, int index) {
             const int connection = number * (context_.configuration.lanes + marker_lanes_per_broker) + context_.configuration.lanes + index;
             return std::make_unique<marker_lane>(context_.executor, context_.destination, broker, connection,
                                                  context_.configuration.destination.request_timeout, context_.lease);
           }}},
      pool_(context_.executor, context_.destination, context_.state, context_.clock, settings_.name,
            context_.configuration.destination.request_timeout),
      refresh_backoff_(refresh_backoff_min, std::min(refresh_backoff_max, context_.configuration.metadata_refresh_interval)),
      partitions_(context_.executor) {}

mirror_manager::~mirror_manager() = default;

void mirror_manager::end() {
  ending_ = true;
  for (const auto& [name, topic] : topics_) topic->end();
}

topic_mirror& mirror_manager::topic_at(const std::string& name) {
  auto& slot = topics_[name];
  if (!slot) {
    mirror_parts parts{context_, settings_.name, source_, fetch_lanes_, destination_lanes_, pool_, partitions_};
    slot = std::make_unique<topic_mirror>(parts, name);
    slot->want(desired_of(name));
  }
  return *slot;
}

core::desired_state mirror_manager::desired_of(const std::string& topic) const {
  const auto recorded = context_.state.view().find(desired_state_key{settings_.name, topic});
  return recorded ? core::parse_mirror_name(recorded->mirror_name).desired : core::desired_state::mirroring;
}

asio::awaitable<result<void>> mirror_manager::set_desired(std::string topic, core::desired_state desired, std::string changed_by) {
  desired_state_key key{settings_.name, topic};
  desired_state_value value{settings_.name + std::string(core::suffix_of(desired)), std::move(changed_by), context_.clock.wall_ms()};
  auto recorded = co_await context_.state.write(std::move(key), std::move(value));
  if (recorded) follow_desired(topic);
  co_return recorded;
}

void mirror_manager::follow_desired(const std::string& topic) {
  if (const auto known = topics_.find(topic); known != topics_.end()) known->second->want(desired_of(topic));
  refresh_asked_ = true;  // what is wanted again is to be prepared
}

bool mirror_manager::recover(const std::string& topic) {
  const auto known = topics_.find(topic);
  if (known == topics_.end()) return false;
  refresh_asked_ = true;
  return known->second->recover();
}

asio::awaitable<void> mirror_manager::run() {
  while (!ending_) {
    refresh_asked_ = false;
    co_await take_up_known_topics();
    co_await tend_topics(true);
    auto refreshed = co_await refresh();
    if (!refreshed && !ending_) {
      if (refresh_backoff_.failures() == 0 || !last_error_ || last_error_->message() != refreshed.error().message()) {
        log::warn("mirror_refresh_failed", {{"mirror", settings_.name}, {"error", core::explain(refreshed.error(), context_.advice)}});
      }
      last_error_ = std::move(refreshed.error());
    } else if (refreshed) {
      if (refresh_backoff_.failures() > 0) log::info("mirror_refresh_recovered", {{"mirror", settings_.name}});
      refresh_backoff_.succeeded();
      last_error_.reset();
    }
    co_await wait_for_next_refresh(last_error_.has_value());
  }
  end();  // also what was started while the last refresh ran
  (void)co_await partitions_.join();
  co_await fetch_lanes_.close();
  co_await destination_lanes_.appends.close();
  co_await destination_lanes_.markers.close();
  co_await source_.close();
  co_await source_admin_->close();
}

asio::awaitable<void> mirror_manager::abandon() { co_await source_.close(); }

void mirror_manager::drop_connections() { source_.drop_connections(); }

asio::awaitable<void> mirror_manager::wait_for_next_refresh(bool failed) {
  const auto interval = context_.configuration.metadata_refresh_interval;
  const double unit = context_.random.uniform();
  const auto until = context_.clock.now() + (failed ? refresh_backoff_.after_failure(unit) : client::backoff(interval, interval).initial(unit));
  while (!ending_ && !refresh_asked_ && context_.clock.now() < until) {
    co_await context_.clock.sleep(std::min<clock_port::duration>(until - context_.clock.now(), change_check_interval));
    // What waited for its partitions is done without waiting for the next refresh.
    co_await tend_topics(false);
  }
}

asio::awaitable<void> mirror_manager::tend_topics(bool again) {
  std::vector<topic_mirror*> needy;
  for (const auto& [name, topic] : topics_) {
    if (topic->needs_tending(again)) needy.push_back(topic.get());
  }
  for (std::size_t first = 0; first < needy.size() && !ending_; first += topics_at_once) {
    client::task_group tending(context_.executor);
    for (std::size_t i = first; i < std::min(first + topics_at_once, needy.size()); ++i) tending.spawn(needy[i]->tend());
    (void)co_await tending.join();
  }
}

// From the records alone, so that topics can be paused and stopped while the source is down.
asio::awaitable<void> mirror_manager::take_up_known_topics() {
  const auto recorded = context_.state.view().list<mirror_topic_key>(settings_.name);
  std::vector<std::string> names;
  for (const auto& [key, value] : recorded) {
    if (topics_.contains(value.topic)) continue;
    if (filter_.matches(value.topic) || desired_of(value.topic) != core::desired_state::mirroring) names.push_back(value.topic);
  }
  if (names.empty()) co_return;
  std::vector<std::string> asked = names;
  auto looked = co_await context_.destination.refresh(std::move(asked));
  if (!looked) {
    log::warn("known_topics_not_taken_up", {{"mirror", settings_.name}, {"error", core::explain(looked.error(), context_.advice)}});
    co_return;
  }
  for (const auto& [key, value] : recorded) {
    const auto* info = context_.destination.metadata().find_topic(value.topic);
    const bool is_present = info && info->error_code == 0 && info->id == key.destination_topic;
    if (!is_present || std::find(names.begin(), names.end(), value.topic) == names.end()) continue;
    topic_at(value.topic).take_up(key.destination_topic, value.source_topic, static_cast<std::int32_t>(info->partitions.size()));
  }
}

asio::awaitable<result<void>> mirror_manager::check_clusters() {
  auto traits = co_await check_destination(context_.destination, context_.destination_admin);
  if (!traits) co_return std::move(traits.error());
  const std::string source_id = source_.metadata().cluster_id();
  if (source_id == context_.destination.metadata().cluster_id()) {
    co_return fail(errc::invalid, fmt::format("mirror {}: source and destination are the same cluster {}", settings_.name, source_id));
  }
  const auto known = context_.state.view().find(mirror_key{settings_.name});
  if (known && known->source_cluster_id != source_id) {
    co_return fail(errc::invalid, fmt::format("mirror {} was made for source cluster {}, but source.bootstrap.servers leads to {}",
                                              settings_.name, known->source_cluster_id, source_id));
  }
  if (!known) {
    mirror_value value{source_id, context_.clock.wall_ms()};
    mirror_key key{settings_.name};
    auto written = co_await context_.state.write(std::move(key), std::move(value));
    if (!written) co_return written;
  }
  traits_ = *traits;
  co_return result<void>{};
}

asio::awaitable<result<void>> mirror_manager::refresh() {
  if (auto asked = co_await source_.refresh_all(); !asked) co_return std::move(asked.error()).within("source");
  if (!traits_) {
    if (auto checked = co_await check_clusters(); !checked) co_return checked;
  }
  for (const auto& [name, topic] : topics_) {
    topic->want(desired_of(name));
    topic->compare_with_destination(context_.destination.metadata().find_topic(name));
  }
  std::vector<std::string> to_prepare;
  for (const auto& [name, info] : source_.metadata().topics()) {
    if (info.error_code != 0 || info.is_internal || !filter_.matches(name)) continue;
    if (desired_of(name) != core::desired_state::mirroring) continue;
    const auto known = topics_.find(name);
    if (known == topics_.end() || !known->second->is_ready_for(info.partitions.size())) to_prepare.push_back(name);
  }
  note_missing_topics();
  if (!to_prepare.empty()) co_await read_source_memory();
  for (std::size_t first = 0; first < to_prepare.size() && !ending_; first += topics_at_once) {
    client::task_group preparing(context_.executor);
    for (std::size_t i = first; i < std::min(first + topics_at_once, to_prepare.size()); ++i) preparing.spawn(prepare_and_run(to_prepare[i]));
    (void)co_await preparing.join();
  }
  for (const auto& [name, topic] : topics_) topic->compare_with_source(source_.metadata().find_topic(name));
  co_return result<void>{};
}

// Without it only topics that hold data already are refused.
asio::awaitable<void> mirror_manager::read_source_memory() {
  auto memory = co_await source_memory::read(context_.executor, source_, context_.destination.metadata().cluster_id());
  if (!memory && !memory_.failure()) {
    log::warn("source_memory_not_read", {{"mirror", settings_.name}, {"error", core::explain(memory.error(), context_.advice)},
                                         {"action", "grant Read on __mirror_state of the source, if topics are to be mirrored back"}});
  }
  memory_ = memory ? std::move(*memory) : source_memory::unreadable(std::move(memory.error()));
}

void mirror_manager::note_missing_topics() {
  for (const std::string& name : filter_.included_names()) {
    const auto* info = source_.metadata().find_topic(name);
    if (info && info->error_code == 0) {
      missing_topics_.erase(name);
    } else if (missing_topics_.insert(name).second) {
      log::warn("source_topic_unknown", {{"mirror", settings_.name}, {"topic", name}, {"action", "create it on the source, or take it out of topics.include"}});
    }
  }
}

asio::awaitable<void> mirror_manager::prepare_and_run(std::string name) {
  topic_mirror& topic = topic_at(name);
  preparation_context preparation{source_, *source_admin_, context_.destination, context_.destination_admin, context_.state, context_.clock,
                                  context_.random, memory_, settings_.name, context_.configuration.topic_replication_factor, *traits_};
  const std::uint64_t wishes = topic.wishes();
  auto prepared = co_await prepare_topic(std::move(preparation), name);
  if (ending_) co_return;
  if (topic.wishes() != wishes) {
    // It was paused or stopped meanwhile, and perhaps started again: what was prepared may not fit any more.
    refresh_asked_ = true;
    if (prepared) topic.take_up(prepared->destination_topic, prepared->source_topic, prepared->partitions);
    co_return;
  }
  if (prepared) co_await topic.run(std::move(*prepared));
  else topic.note_failure(std::move(prepared.error()));
}

mirror_view mirror_manager::view() const {
  mirror_view view;
  view.name = settings_.name;
  view.source_cluster_id = source_.metadata().cluster_id();
  view.last_error = last_error_;
  for (const auto& [name, topic] : topics_) view.topics.push_back(topic->view());
  for (const std::string& name : missing_topics_) {
    if (topics_.contains(name)) continue;
    topic_view shown;
    shown.topic = name;
    shown.last_error = fail(errc::not_found, fmt::format("source topic {} does not exist or may not be read: create it, or take it out of topics.include", name));
    view.topics.push_back(std::move(shown));
  }
  return view;
}

}  // namespace mirrord::mirror
