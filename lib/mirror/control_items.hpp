// What a report says, made from what the mirrors show of themselves; and which topics a request means. Pure.
//
// An item of --list is a mirror as a whole: its state, why its last refresh failed, and in `details` how many topics it
// has and where its source is. Texts are cut to what a record can hold.
#pragma once

#include "core/control_actions.hpp"
#include "mirror/mirror_manager.hpp"
#include "mirror/state_records.hpp"

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace mirrord::mirror {

inline constexpr std::string_view detail_topics = "topics";
inline constexpr std::string_view detail_source_cluster = "source.cluster.id";
inline constexpr std::string_view detail_source_servers = "source.bootstrap.servers";

// A record stays below what a broker takes by default, and below what a person's terminal has any use for.
inline constexpr std::size_t report_items_max = 500;
inline constexpr std::size_t report_bytes_max = 256 * 1024;
inline constexpr std::size_t report_text_max = 1'000;

[[nodiscard]] core::topic_situation situation_of(const topic_view& topic);

// FAILED where a part is, what all partitions are where they agree, else PREPARING.
[[nodiscard]] core::partition_state state_of(const topic_view& topic);

// A topic as a whole; ends are sums, unknown where one of them is.
[[nodiscard]] report_item item_of(const std::string& mirror, const topic_view& topic, const core::advice_names& advice);

// Each partition; first the topic as a whole where it has none yet, or where it could not be prepared.
[[nodiscard]] std::vector<report_item> partition_items(const std::string& mirror, const topic_view& topic, const core::advice_names& advice);

[[nodiscard]] report_item item_of(const mirror_view& mirror, const std::vector<std::string>& source_servers, const core::advice_names& advice);

[[nodiscard]] report_item failed_item(std::string mirror, std::string topic, std::string message);

// By mirror, topic, partition.
void sort_items(std::vector<report_item>& items);

// Sorted; at least one part.
[[nodiscard]] std::vector<report_value> split_report(const std::string& instance, std::vector<report_item> items);

struct meant_topics {
  std::vector<std::string> names;      // sorted
  std::vector<report_item> unmatched;  // entries of the request that mean none of the topics
};

// Which of a mirror's topics the request's lists mean. A pattern that is wrong is an unmatched entry, too.
[[nodiscard]] meant_topics find_meant_topics(const std::string& mirror, const request_value& request, const std::vector<std::string>& known);

}  // namespace mirrord::mirror
