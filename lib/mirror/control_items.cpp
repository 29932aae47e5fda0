#include "mirror/control_items.hpp"

#include "settings/topic_filter.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <tuple>

namespace mirrord::mirror {
namespace {

using core::partition_state;

std::string cut(std::string text) {
  if (text.size() <= report_text_max) return text;
  std::size_t end = report_text_max - 3;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;  // not inside a UTF-8 sequence
  return text.substr(0, end) + "...";
}

bool is_failed(const partition_view& partition) { return partition.state == partition_state::failed; }

// An error of before says nothing about a partition that has come to where it should be.
bool explains_state(const partition_view& partition) {
  return partition.last_error && partition.state != partition_state::mirroring && partition.state != partition_state::paused &&
         partition.state != partition_state::stopped;
}

template <class Member>
std::int64_t sum(const topic_view& topic, Member member) {
  std::int64_t total = topic.partitions.empty() ? -1 : 0;
  for (const auto& [index, partition] : topic.partitions) {
    if (partition.*member < 0) return -1;
    total += partition.*member;
  }
  return total;
}

std::size_t size_of(const report_item& item) {
  std::size_t size = item.mirror.size() + item.topic.size() + item.state.size() + item.message.size() + 48;
  for (const auto& detail : item.details) size += detail.key.size() + detail.value.size() + 8;
  return size;
}

report_item unmatched_item(const std::string& mirror, const std::string& entry) {
  const std::string problem = topic_entry_problem(entry);
  if (!problem.empty()) return failed_item(mirror, entry, problem);
  return failed_item(mirror, entry, fmt::format("no topic of mirror {} {} {}", mirror, is_topic_name(entry) ? "is called" : "matches", entry));
}

}  // namespace

core::topic_situation situation_of(const topic_view& topic) {
  const auto& partitions = topic.partitions;
  core::topic_situation situation;
  situation.desired = topic.desired;
  situation.all_stopped = !partitions.empty() && std::all_of(partitions.begin(), partitions.end(), [](const auto& p) { return p.second.state == partition_state::stopped; });
  situation.some_failed = topic.last_error || std::any_of(partitions.begin(), partitions.end(), [](const auto& p) { return is_failed(p.second); });
  return situation;
}

partition_state state_of(const topic_view& topic) {
  if (situation_of(topic).some_failed) return partition_state::failed;
  if (topic.partitions.empty()) return partition_state::unknown;
  const partition_state first = topic.partitions.begin()->second.state;
  const bool same = std::all_of(topic.partitions.begin(), topic.partitions.end(), [&](const auto& p) { return p.second.state == first; });
  return same ? first : partition_state::preparing;
}

report_item item_of(const std::string& mirror, const topic_view& topic, const core::advice_names& advice) {
  report_item item;
  item.mirror = mirror;
  item.topic = topic.topic;
  item.state = core::name(state_of(topic));
  item.source_end = sum(topic, &partition_view::source_end);
  item.destination_end = sum(topic, &partition_view::destination_end);
  if (topic.last_error) item.message = core::explain(*topic.last_error, advice);
  for (const auto& [index, partition] : topic.partitions) {
    if (!is_failed(partition)) continue;
    item.retry_attempt = partition.retry_attempt == -1 || item.retry_attempt == -1 ? -1 : std::max(item.retry_attempt, partition.retry_attempt);
    if (item.message.empty() && partition.last_error) item.message = fmt::format("partition {}: {}", index, core::explain(*partition.last_error, advice));
  }
  item.message = cut(std::move(item.message));
  return item;
}

std::vector<report_item> partition_items(const std::string& mirror, const topic_view& topic, const core::advice_names& advice) {
  std::vector<report_item> items;
  if (topic.partitions.empty() || topic.last_error) items.push_back(item_of(mirror, topic, advice));
  for (const auto& [index, partition] : topic.partitions) {
    report_item item;
    item.mirror = mirror;
    item.topic = topic.topic;
    item.partition = index;
    item.state = core::name(partition.state);
    item.source_end = partition.source_end;
    item.destination_end = partition.destination_end;
    item.retry_attempt = partition.retry_attempt;
    if (explains_state(partition)) item.message = cut(core::explain(*partition.last_error, advice));
    items.push_back(std::move(item));
  }
  return items;
}

report_item item_of(const mirror_view& mirror, const std::vector<std::string>& source_servers, const core::advice_names& advice) {
  report_item item;
  item.mirror = mirror.name;
  const bool failed = mirror.last_error || std::any_of(mirror.topics.begin(), mirror.topics.end(), [](const auto& t) { return situation_of(t).some_failed; });
  item.state = core::name(failed ? partition_state::failed : partition_state::mirroring);
  if (mirror.last_error) item.message = cut(core::explain(*mirror.last_error, advice));
  item.details = {
      {std::string(detail_topics), std::to_string(mirror.topics.size())},
      {std::string(detail_source_cluster), mirror.source_cluster_id},
      {std::string(detail_source_servers), cut(fmt::format("{}", fmt::join(source_servers, ",")))},
  };
  return item;
}

report_item failed_item(std::string mirror, std::string topic, std::string message) {
  report_item item;
  item.mirror = std::move(mirror);
  item.topic = cut(std::move(topic));
  item.ok = false;
  item.message = cut(std::move(message));
  return item;
}

void sort_items(std::vector<report_item>& items) {
  std::sort(items.begin(), items.end(), [](const report_item& a, const report_item& b) {
    return std::tie(a.mirror, a.topic, a.partition) < std::tie(b.mirror, b.topic, b.partition);
  });
}

std::vector<report_value> split_report(const std::string& instance, std::vector<report_item> items) {
  sort_items(items);
  std::vector<report_value> parts(1);
  std::size_t bytes = 0;
  for (report_item& item : items) {
    const std::size_t size = size_of(item);
    const auto& last = parts.back().items;
    if (!last.empty() && (last.size() >= report_items_max || bytes + size > report_bytes_max)) {
      parts.emplace_back();
      bytes = 0;
    }
    bytes += size;
    parts.back().items.push_back(std::move(item));
  }
  for (report_value& part : parts) {
    part.instance = instance;
    part.parts = static_cast<std::int32_t>(parts.size());
  }
  return parts;
}

meant_topics find_meant_topics(const std::string& mirror, const request_value& request, const std::vector<std::string>& known) {
  meant_topics meant;
  for (const std::string& entry : request.exclude) {
    if (!topic_entry_problem(entry).empty()) meant.unmatched.push_back(unmatched_item(mirror, entry));
  }
  if (!meant.unmatched.empty()) return meant;  // what was to be left out is not known
  std::set<std::string> names;
  for (const std::string& entry : request.topics) {
    const auto all = topic_filter::compile({entry}, {});
    const auto wanted = topic_filter::compile({entry}, request.exclude);
    bool matched = false;
    for (const std::string& topic : known) {
      if (!all || !wanted || !all->matches(topic)) continue;
      matched = true;  // also what is left out by --exclude: that is no mistake
      if (wanted->matches(topic)) names.insert(topic);
    }
    if (!matched) meant.unmatched.push_back(unmatched_item(mirror, entry));
  }
  meant.names.assign(names.begin(), names.end());
  return meant;
}

}  // namespace mirrord::mirror
