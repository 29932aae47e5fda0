#include "verify_report.hpp"

#include <boost/json.hpp>
#include <fmt/format.h>

#include <algorithm>

namespace mirrord::cli {
namespace {

namespace json = boost::json;

constexpr std::size_t differences_shown = 20;

// Partitions that only one side has count as differences, too.
std::int64_t lone_partitions(const mirror::verified_topic& topic) {
  return topic.failure ? 0 : std::abs(topic.source_partitions - topic.destination_partitions);
}

std::int64_t differences_of(const mirror::verified_topic& topic) {
  std::int64_t count = lone_partitions(topic);
  for (const auto& partition : topic.partitions) count += static_cast<std::int64_t>(partition.difference_count);
  return count;
}

const error* failure_of(const mirror::verified_topic& topic) {
  if (topic.failure) return &*topic.failure;
  const auto failed = std::find_if(topic.partitions.begin(), topic.partitions.end(), [](const auto& p) { return p.failure.has_value(); });
  return failed == topic.partitions.end() ? nullptr : &*failed->failure;
}

template <class Member>
std::int64_t sum(const mirror::verified_topic& topic, Member member) {
  std::int64_t total = 0;
  for (const auto& partition : topic.partitions) total += partition.*member;
  return total;
}

std::string_view plural(std::int64_t count) { return count == 1 ? "" : "s"; }

std::string topic_line(const mirror::verified_topic& topic) {
  if (topic.failure) return fmt::format("{}: NOT COMPARED: {}\n", topic.name, topic.failure->message());
  const auto partitions = static_cast<std::int64_t>(topic.partitions.size());
  const auto compared = sum(topic, &mirror::verified_partition::compared);
  const auto differences = differences_of(topic);
  const auto behind = sum(topic, &mirror::verified_partition::behind);
  std::string verdict = "equal";
  if (differences > 0) verdict = fmt::format("{} DIFFERENCE{}", differences, differences == 1 ? "" : "S");
  else if (failure_of(topic) != nullptr) verdict = "NOT ALL COMPARED";
  std::string line = fmt::format("{}: {} partition{}, {} offset{} compared, {}", topic.name, partitions, plural(partitions), compared,
                                 plural(compared), verdict);
  if (behind > 0) line += fmt::format(", behind by {}", behind);
  const auto start_behind = sum(topic, &mirror::verified_partition::start_behind);
  if (start_behind > 0) line += fmt::format(", {} older offset{} not removed yet", start_behind, plural(start_behind));
  return line + '\n';
}

std::string lone_partitions_text(const mirror::verified_topic& topic) {
  return fmt::format("  {}: the source has {} partitions, the destination {}\n", topic.name, topic.source_partitions, topic.destination_partitions);
}

json::object partition_json(const mirror::verified_partition& partition) {
  json::array differences;
  for (const auto& d : partition.differences) {
    differences.push_back(json::object{{"offset", d.offset}, {"kind", core::name(d.kind)}, {"source", d.source}, {"destination", d.destination}});
  }
  json::object out{{"partition", partition.tp.partition},
                   {"start", partition.start},
                   {"end", partition.end},
                   {"compared", partition.compared},
                   {"behind", partition.behind},
                   {"startBehind", partition.start_behind},
                   {"differenceCount", partition.difference_count},
                   {"differences", std::move(differences)}};
  out["error"] = partition.failure ? json::value(partition.failure->message()) : json::value(nullptr);
  return out;
}

}  // namespace

bool all_equal(const std::vector<mirror::verified_topic>& topics) {
  return std::all_of(topics.begin(), topics.end(), [](const auto& topic) { return failure_of(topic) == nullptr && differences_of(topic) == 0; });
}

std::string verify_text(const std::vector<mirror::verified_topic>& topics) {
  std::string text;
  std::string details;
  std::int64_t total = 0;
  std::size_t shown = 0;
  for (const auto& topic : topics) {
    text += topic_line(topic);
    total += differences_of(topic);
    if (lone_partitions(topic) > 0) details += lone_partitions_text(topic);
    for (const auto& partition : topic.partitions) {
      if (partition.failure) {
        text += fmt::format("  {} NOT COMPARED beyond offset {}: {}\n", partition.tp.text(), partition.start + partition.compared,
                            partition.failure->message());
      }
      for (const auto& d : partition.differences) {
        if (shown++ >= differences_shown) break;
        details += fmt::format("  {} offset {}: {}: source {} | destination {}\n", partition.tp.text(), d.offset, core::name(d.kind), d.source, d.destination);
      }
    }
  }
  if (total > 0) text += fmt::format("\n{}:\n{}", total > static_cast<std::int64_t>(differences_shown) ? "The first differences" : "Differences", details);
  return text;
}

std::string verify_json(const std::vector<mirror::verified_topic>& topics) {
  json::array list;
  for (const auto& topic : topics) {
    json::array partitions;
    for (const auto& partition : topic.partitions) partitions.push_back(partition_json(partition));
    json::object out{{"topic", topic.name},
                     {"sourcePartitions", topic.source_partitions},
                     {"destinationPartitions", topic.destination_partitions},
                     {"compared", sum(topic, &mirror::verified_partition::compared)},
                     {"behind", sum(topic, &mirror::verified_partition::behind)},
                     {"differenceCount", differences_of(topic)},
                     {"partitions", std::move(partitions)}};
    out["error"] = topic.failure ? json::value(topic.failure->message()) : json::value(nullptr);
    list.push_back(std::move(out));
  }
  json::object document{{"equal", all_equal(topics)}, {"topics", std::move(list)}};
  return json::serialize(document);
}

}  // namespace mirrord::cli
