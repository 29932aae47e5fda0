#include "mirror/mirror_manager.hpp"

#include "base/log.hpp"
#include "mirror/kafka_source.hpp"
#include "mirror/state_journal.hpp"
#include "mirror/topic_preparation.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace mirrord::mirror {
namespace {

using namespace std::chrono_literals;

constexpr int fetch_lanes_per_broker = 2;
constexpr int marker_lanes_per_broker = 2;
constexpr std::size_t topics_prepared_at_once = 16;
constexpr std::chrono::milliseconds refresh_backoff_min = 1s;
constexpr std::chrono::milliseconds refresh_backoff_max = 32s;  // or the refresh interval, where that is shorter
constexpr auto stop_check_interval = 200ms;

}  // namespace

struct mirror_manager::running_partition {
  running_partition(const daemon_context& context, client::cluster& source_cluster, lane_table<fetch_lane>& fetch_lanes,
                    destination_lanes& lanes, kafka_producer_pool& pool, const topic_partition& tp, topic_id source_topic,
                    mirrored_partition id, partition_options options)
      : source(source_cluster, fetch_lanes, context.clock, tp, source_topic),
        destination(context.executor, context.destination, lanes, context.lease, tp),
        journal(context.state, context.clock, std::move(id), context.instance),
        mirror(context.executor, tp, {source, destination, pool, journal, context.clock, context.random, context.lease}, options) {}

  kafka_source source;
  kafka_destination destination;
  state_journal journal;
  partition_mirror mirror;
};

struct mirror_manager::mirrored_topic {
  std::string name;
  prepared_topic prepared;
  std::optional<error> last_error;
  std::vector<std::unique_ptr<running_partition>> partitions;  // by partition number
  std::uint64_t policy_tried_in_refresh = 0;
};

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

void mirror_manager::stop() {
  stopping_ = true;
  for (const auto& [name, topic] : topics_) {
    for (const auto& partition : topic->partitions) partition->mirror.stop();
  }
}

asio::awaitable<void> mirror_manager::run() {
  while (!stopping_) {
    ++refreshes_;
    auto refreshed = co_await refresh();
    if (!refreshed && !stopping_) {
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
  stop();  // also what was started while the last refresh ran
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
  while (!stopping_ && context_.clock.now() < until) {
    co_await context_.clock.sleep(std::min<clock_port::duration>(until - context_.clock.now(), stop_check_interval));
    // A topic that is copied gets its cleanup policy without waiting for the next refresh.
    for (const auto& [name, topic] : topics_) {
      if (!stopping_) co_await restore_cleanup_policy(*topic);
    }
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
  std::vector<std::string> to_prepare;
  for (const auto& [name, info] : source_.metadata().topics()) {
    if (info.error_code != 0 || info.is_internal || !filter_.matches(name)) continue;
    const auto known = topics_.find(name);
    if (known == topics_.end() || known->second->partitions.size() < info.partitions.size()) to_prepare.push_back(name);
  }
  note_missing_topics();
  for (std::size_t first = 0; first < to_prepare.size() && !stopping_; first += topics_prepared_at_once) {
    client::task_group preparing(context_.executor);
    for (std::size_t i = first; i < std::min(first + topics_prepared_at_once, to_prepare.size()); ++i) preparing.spawn(prepare_and_run(to_prepare[i]));
    (void)co_await preparing.join();
  }
  for (const auto& [name, topic] : topics_) compare_with_source(*topic);
  co_return result<void>{};
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
  auto& slot = topics_[name];
  if (!slot) {
    slot = std::make_unique<mirrored_topic>();
    slot->name = name;
  }
  mirrored_topic& topic = *slot;
  preparation_context preparation{source_, *source_admin_, context_.destination, context_.destination_admin, context_.state, context_.clock,
                                  settings_.name, context_.configuration.topic_replication_factor, *traits_};
  auto prepared = co_await prepare_topic(std::move(preparation), name);
  if (!prepared) {
    if (!topic.last_error || topic.last_error->message() != prepared.error().message()) {
      log::error("topic_failed", {{"mirror", settings_.name}, {"topic", name}, {"error", core::explain(prepared.error(), context_.advice)}});
    }
    topic.last_error = std::move(prepared.error());
    co_return;
  }
  topic.last_error.reset();
  topic.prepared = std::move(*prepared);
  if (!stopping_) run_partitions(topic, topic.prepared.fresh, topic.prepared.batch_bytes_max);
}

void mirror_manager::run_partitions(mirrored_topic& topic, bool fresh, std::int64_t batch_bytes_max) {
  partition_options options;
  options.hole_fill_max = context_.configuration.hole_fill_max;
  options.batch_bytes_max = static_cast<std::size_t>(batch_bytes_max);
  options.audit_interval = context_.configuration.metadata_refresh_interval;
  options.fresh = fresh;
  options.late_request_time = context_.configuration.destination.request_timeout * 3 / 2;  // as long as a request may be under way
  options.marker_retention = topic.prepared.marker_retention;
  options.advice = context_.advice;
  for (auto index = static_cast<std::int32_t>(topic.partitions.size()); index < topic.prepared.partitions; ++index) {
    mirrored_partition id{settings_.name, topic.prepared.destination_topic, index};
    topic.partitions.push_back(std::make_unique<running_partition>(context_, source_, fetch_lanes_, destination_lanes_, pool_,
                                                                   topic_partition{topic.name, index}, topic.prepared.source_topic,
                                                                   std::move(id), options));
    partitions_.spawn(topic.partitions.back()->mirror.run());
  }
  log::info("topic_mirroring", {{"mirror", settings_.name}, {"topic", topic.name}, {"partitions", topic.partitions.size()}});
}

// A topic that came back under its name is another topic: its records must not follow the old ones.
void mirror_manager::compare_with_source(mirrored_topic& topic) {
  const auto* info = source_.metadata().find_topic(topic.name);
  if (topic.partitions.empty() || topic.last_error) return;
  if (!info || info->error_code != 0) {
    topic.last_error = fail(errc::not_found, fmt::format("source topic {} is deleted, or may not be read any more", topic.name));
  } else if (!topic.prepared.source_topic.is_zero() && info->id != topic.prepared.source_topic) {
    topic.last_error = fail(errc::diverged, fmt::format("source topic {} was deleted and created again: it was {}, now it is {}", topic.name,
                                                        topic.prepared.source_topic.text(), info->id.text()));
  } else {
    return;
  }
  log::error("topic_failed", {{"mirror", settings_.name}, {"topic", topic.name}, {"error", topic.last_error->message()}});
  for (const auto& partition : topic.partitions) partition->mirror.stop();
}

asio::awaitable<void> mirror_manager::restore_cleanup_policy(mirrored_topic& topic) {
  const std::string& wanted = topic.prepared.source_cleanup_policy;
  if (topic.partitions.empty() || topic.prepared.cleanup_policy == wanted || wanted.find("compact") == std::string::npos) co_return;
  if (topic.policy_tried_in_refresh == refreshes_) co_return;
  const bool copied = std::all_of(topic.partitions.begin(), topic.partitions.end(), [](const auto& p) { return p->mirror.view().caught_up_once; });
  if (!copied) co_return;
  topic.policy_tried_in_refresh = refreshes_;
  auto set = co_await set_cleanup_policy(context_.destination, topic.name, wanted);
  if (set) {
    topic.prepared.cleanup_policy = wanted;
    log::info("cleanup_policy_restored", {{"mirror", settings_.name}, {"topic", topic.name}, {"cleanup.policy", wanted}});
  } else {
    log::warn("cleanup_policy_not_restored", {{"mirror", settings_.name}, {"topic", topic.name}, {"error", core::explain(set.error(), context_.advice)}});
  }
}

mirror_view mirror_manager::view() const {
  mirror_view view;
  view.name = settings_.name;
  view.source_cluster_id = source_.metadata().cluster_id();
  view.last_error = last_error_;
  for (const auto& [name, topic] : topics_) {
    topic_view shown;
    shown.topic = name;
    shown.last_error = topic->last_error;
    for (const auto& partition : topic->partitions) shown.partitions.emplace(partition->mirror.id().partition, partition->mirror.view());
    view.topics.push_back(std::move(shown));
  }
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
