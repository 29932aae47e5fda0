#include "mirror/source_memory.hpp"

#include "client/deadline.hpp"
#include "mirror/state_reader.hpp"
#include "mirror/state_topic.hpp"

#include <fmt/format.h>

namespace mirrord::mirror {

source_memory::source_memory(state_view view, const std::string& destination_cluster_id) : view_(std::move(view)) {
  for (const auto& [key, value] : view_.list_all<mirror_key>()) {
    if (value.source_cluster_id == destination_cluster_id) mirrors_.push_back(key.mirror);
  }
}

source_memory source_memory::unreadable(error failure) {
  source_memory memory;
  memory.failure_ = std::move(failure);
  return memory;
}

asio::awaitable<result<source_memory>> source_memory::read(asio::any_io_executor executor, client::cluster& source, std::string destination_cluster_id) {
  const std::string topic = state_topic_name;
  std::vector<std::string> named{topic};
  if (auto looked = co_await source.refresh(std::move(named)); !looked) co_return std::move(looked.error());
  const auto* info = source.metadata().find_topic(topic);
  if (!info || info->error_code != 0 || info->partitions.empty()) co_return source_memory();

  state_view view;
  std::optional<error> failure;
  client::notifier changed(executor);
  state_reader::handlers handlers{
      [&view](const state_topic_record& record) {
        if (record.key) view.apply(*record.key, record.offset, record.value);
      },
      [&changed](std::int32_t) { changed.notify(); },
      [&failure, &changed](const error& why) {
        failure = why;
        changed.notify();
      },
  };
  auto reader = state_reader::open(executor, source.settings(), topic, static_cast<std::int32_t>(info->partitions.size()), std::move(handlers));
  if (!reader) co_return std::move(reader.error());
  const auto until = std::chrono::steady_clock::now() + source.settings().request_timeout;
  const client::deadline guard(executor, until, [&changed] { changed.notify(); });
  while (!failure && (*reader)->unread() > 0 && !guard.passed()) (void)co_await changed.wait();
  const bool complete = (*reader)->unread() == 0;
  if (!complete && !failure) failure = (*reader)->explained(fail(errc::timed_out, fmt::format("read the source's {}", topic)));
  co_await (*reader)->close(std::chrono::steady_clock::now() + std::chrono::seconds(3));
  if (failure) co_return std::move(*failure);
  co_return source_memory(std::move(view), destination_cluster_id);
}

std::string source_memory::copied_by(const std::string& topic, topic_id source_topic) const {
  for (const std::string& mirror : mirrors_) {
    const auto known = view_.find(mirror_topic_key{mirror, source_topic});
    if (!known || known->topic != topic) continue;
    const auto wanted = view_.find(desired_state_key{mirror, topic});
    if (!wanted || core::parse_mirror_name(wanted->mirror_name).desired != core::desired_state::stopped) return mirror;
  }
  return {};
}

std::optional<source_memory::mirrored_end> source_memory::end_of(topic_id source_topic, topic_id destination_topic, std::int32_t partition) const {
  std::optional<mirrored_end> furthest;
  for (const std::string& mirror : mirrors_) {
    const auto copied = view_.find(mirror_topic_key{mirror, source_topic});
    if (!copied || (!copied->source_topic.is_zero() && copied->source_topic != destination_topic)) continue;  // an earlier topic of that name
    const mirrored_partition of{mirror, source_topic, partition};
    const auto standing = view_.find(partition_state_key{of});
    const auto last = view_.find(last_mirror_epochs_key{of});
    if (!standing || standing->state != core::partition_state::stopped || !last) continue;
    if (!furthest || last->last_mirror_offset > furthest->offset) furthest = mirrored_end{mirror, last->last_mirror_offset};
  }
  return furthest;
}

}  // namespace mirrord::mirror
