#include "settings/topic_filter.hpp"

#include <fmt/format.h>
#include <re2/re2.h>

#include <algorithm>
#include <array>

namespace mirrord {
namespace {

constexpr std::size_t topic_name_max = 249;  // Kafka's limit: the directory "<topic>-<partition>" must fit a file name
constexpr std::array<std::string_view, 4> internal_topics = {"__consumer_offsets", "__transaction_state", "__share_group_state",
                                                             "__mirror_state"};

re2::RE2::Options quiet_options() {
  re2::RE2::Options options;
  options.set_log_errors(false);
  return options;
}

std::unique_ptr<re2::RE2> compile_pattern(std::string_view entry) {
  return std::make_unique<re2::RE2>(re2::StringPiece(entry.data(), entry.size()), quiet_options());
}

bool is_name_character(char c) noexcept {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_' || c == '-';
}

}  // namespace

topic_filter::topic_filter() = default;
topic_filter::topic_filter(topic_filter&&) noexcept = default;
topic_filter& topic_filter::operator=(topic_filter&&) noexcept = default;
topic_filter::~topic_filter() = default;

bool topic_filter::is_internal(std::string_view topic) noexcept {
  return std::find(internal_topics.begin(), internal_topics.end(), topic) != internal_topics.end();
}

bool is_topic_name(std::string_view entry) noexcept { return !entry.empty() && std::all_of(entry.begin(), entry.end(), is_name_character); }

std::string topic_entry_problem(std::string_view entry) {
  if (entry.empty()) return "empty entry";
  if (is_topic_name(entry)) {
    if (entry == "." || entry == "..") return "not a topic name";
    if (entry.size() > topic_name_max) return fmt::format("longer than the {} characters that a topic name can have", topic_name_max);
    return {};
  }
  const auto pattern = compile_pattern(entry);
  if (pattern->ok()) return {};
  // RE2 says "reason: fragment"; the entry may come from a reference, whose content is not to be shown.
  return fmt::format("not an RE2 pattern: {}", pattern->error().substr(0, pattern->error().find(": ")));
}

bool topic_filter::pattern_list::matches(std::string_view topic) const {
  if (std::binary_search(names.begin(), names.end(), topic)) return true;
  const re2::StringPiece name(topic.data(), topic.size());
  return std::any_of(patterns.begin(), patterns.end(), [&](const auto& pattern) { return re2::RE2::FullMatch(name, *pattern); });
}

result<topic_filter::pattern_list> topic_filter::compile_list(const std::vector<std::string>& entries, std::string_view list_name) {
  pattern_list list;
  for (const auto& entry : entries) {
    if (auto problem = topic_entry_problem(entry); !problem.empty()) {
      return fail(errc::invalid, fmt::format("{} '{}': {}", list_name, entry, problem));
    }
    if (is_topic_name(entry)) list.names.push_back(entry);
    else list.patterns.push_back(compile_pattern(entry));
  }
  std::sort(list.names.begin(), list.names.end());
  return list;
}

result<topic_filter> topic_filter::compile(const std::vector<std::string>& include, const std::vector<std::string>& exclude) {
  auto included = compile_list(include, "topics.include");
  if (!included) return included.error();
  auto excluded = compile_list(exclude, "topics.exclude");
  if (!excluded) return excluded.error();
  topic_filter filter;
  filter.include_ = std::move(*included);
  filter.exclude_ = std::move(*excluded);
  return filter;
}

topic_verdict topic_filter::decide(std::string_view topic) const {
  if (is_internal(topic)) return topic_verdict::internal;
  if (exclude_.matches(topic)) return topic_verdict::excluded;
  return include_.matches(topic) ? topic_verdict::included : topic_verdict::not_included;
}

}  // namespace mirrord
