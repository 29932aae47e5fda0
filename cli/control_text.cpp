#include "control_text.hpp"

#include "mirror/control_items.hpp"

#include <boost/json.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace mirrord::cli {
namespace {

namespace json = boost::json;
using core::control_action;
using mirror::report_item;

// Widths are KIP-1279's, except RETRY, which has to hold "NonRetryable".
constexpr std::size_t mirror_width = 30;
constexpr std::size_t topic_width = 40;
constexpr std::size_t partition_width = 10;
constexpr std::size_t topics_width = 10;
constexpr std::size_t cluster_width = 26;
constexpr std::size_t servers_width = 50;
constexpr std::size_t source_offset_width = 15;
constexpr std::size_t destination_offset_width = 18;
constexpr std::size_t lag_width = 10;
constexpr std::size_t state_width = 12;
constexpr std::size_t retry_width = 12;
constexpr std::size_t error_shown_max = 80;

// Names keep their right end, where they differ.
std::string cell(std::string_view text, std::size_t width) {
  if (text.empty()) text = "-";
  if (text.size() > width) return fmt::format("...{} ", text.substr(text.size() - (width - 3)));
  return fmt::format("{:<{}} ", text, width);
}

std::string number(std::int64_t value) { return value < 0 ? "-" : std::to_string(value); }

// After a stop the destination's offsets are its own.
std::int64_t lag_of(const report_item& item) {
  if (item.source_end < 0 || item.destination_end < 0 || item.state == core::name(core::partition_state::stopped)) return -1;
  return std::max<std::int64_t>(0, item.source_end - item.destination_end);
}

std::string detail(const report_item& item, std::string_view key) {
  const auto found = std::find_if(item.details.begin(), item.details.end(), [&](const auto& d) { return d.key == key; });
  return found == item.details.end() ? std::string() : found->value;
}

std::string finished(std::string line) {
  line.erase(line.find_last_not_of(' ') + 1);
  return line + '\n';
}

std::string first_line(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

std::string_view done_word(control_action action) {
  switch (action) {
    case control_action::start: return "Started";
    case control_action::stop: return "Stopped";
    case control_action::pause: return "Paused";
    case control_action::resume: return "Resumed";
    case control_action::recover: return "Recovering";  // nobody waits for that
    default: return "";
  }
}

std::string_view begun_word(control_action action) {
  switch (action) {
    case control_action::start: return "Starting";
    case control_action::stop: return "Stopping";
    case control_action::pause: return "Pausing";
    case control_action::resume: return "Resuming";
    default: return done_word(action);
  }
}

}  // namespace

std::string action_line(control_action action, std::string_view mirror, const std::vector<std::string>& topics, bool done) {
  return fmt::format("{} {} topic(s) in mirror {}: [{}]\n", done ? done_word(action) : begun_word(action), topics.size(), mirror, fmt::join(topics, ", "));
}

std::string dry_run_text(const report_items& items) {
  std::string text;
  for (const auto& item : items) {
    if (item.ok) text += fmt::format("{}: {}\n", item.topic, item.message);
  }
  return text;
}

std::string failures_text(const report_items& items) {
  std::string text;
  for (const auto& item : items) {
    if (!item.ok) text += fmt::format("{}{}{}\n", item.topic, item.topic.empty() ? "" : ": ", first_line(item.message));
  }
  return text;
}

std::string list_text(const report_items& items) {
  std::string rows;
  for (const auto& item : items) {
    if (!item.ok) continue;
    rows += finished(cell(item.mirror, mirror_width) + cell(detail(item, mirror::detail_topics), topics_width) +
                     cell(detail(item, mirror::detail_source_cluster), cluster_width) + cell(detail(item, mirror::detail_source_servers), servers_width));
  }
  if (rows.empty()) return "No mirrors found\n";
  return finished(cell("MIRROR", mirror_width) + cell("TOPICS", topics_width) + cell("SOURCE-CLUSTER-ID", cluster_width) +
                  cell("SOURCE-BOOTSTRAP-SERVER", servers_width)) + rows;
}

std::string describe_text(const report_items& items) {
  std::string rows;
  for (const auto& item : items) {
    if (!item.ok) continue;
    rows += finished(cell(item.mirror, mirror_width) + cell(item.topic, topic_width) + cell(number(item.partition), partition_width) +
                     cell(number(item.source_end), source_offset_width) + cell(number(item.destination_end), destination_offset_width) +
                     cell(number(lag_of(item)), lag_width) + cell(item.state, state_width));
  }
  if (rows.empty()) return "No mirror partitions found\n";
  return finished(cell("MIRROR", mirror_width) + cell("TOPIC", topic_width) + cell("PARTITION", partition_width) + cell("SOURCE-OFFSET", source_offset_width) +
                  cell("DESTINATION-OFFSET", destination_offset_width) + cell("LAG", lag_width) + cell("STATE", state_width)) + rows;
}

std::string failed_text(const report_items& items) {
  std::string rows;
  for (const auto& item : items) {
    if (!item.ok) continue;
    std::string why = first_line(item.message);
    if (why.size() > error_shown_max) why = why.substr(0, error_shown_max - 3) + "...";
    rows += finished(cell(item.mirror, mirror_width) + cell(item.topic, topic_width) + cell(number(item.partition), partition_width) +
                     cell(item.retry_attempt == -1 ? "NonRetryable" : std::to_string(item.retry_attempt), retry_width) + (why.empty() ? "-" : why));
  }
  if (rows.empty()) return "No failed partitions found\n";
  return finished(cell("MIRROR", mirror_width) + cell("TOPIC", topic_width) + cell("PARTITION", partition_width) + cell("RETRY", retry_width) + "ERROR") + rows;
}

std::string action_json(const report_items& items) {
  json::array list;
  for (const auto& item : items) {
    list.push_back(json::object{{"mirror", item.mirror}, {"topic", item.topic}, {"ok", item.ok}, {"state", item.state}, {"message", item.message}});
  }
  return json::serialize(list);
}

std::string list_json(const report_items& items) {
  json::array list;
  for (const auto& item : items) {
    if (!item.ok) continue;
    list.push_back(json::object{{"mirror", item.mirror},
                                {"topics", std::atoi(detail(item, mirror::detail_topics).c_str())},
                                {"sourceClusterId", detail(item, mirror::detail_source_cluster)},
                                {"sourceBootstrapServers", detail(item, mirror::detail_source_servers)},
                                {"state", item.state},
                                {"errorMessage", item.message}});
  }
  return json::serialize(list);
}

std::string describe_json(const report_items& items) {
  json::array list;
  for (const auto& item : items) {
    if (!item.ok) continue;
    list.push_back(json::object{{"mirror", item.mirror},
                                {"topic", item.topic},
                                {"partition", item.partition},
                                {"sourceOffset", item.source_end},
                                {"destinationOffset", item.destination_end},
                                {"lag", lag_of(item)},
                                {"state", item.state},
                                {"retryAttempt", item.retry_attempt},
                                {"errorMessage", item.message}});
  }
  return json::serialize(list);
}

report_items only_failed(report_items items) {
  std::erase_if(items, [](const report_item& item) { return item.ok && item.state != core::name(core::partition_state::failed); });
  return items;
}

}  // namespace mirrord::cli
