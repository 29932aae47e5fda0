// Which topics of a source belong to a mirror: include and exclude lists, exclude wins, internal topics never.
//
// An entry made only of characters that a topic name can have is a name and matches exactly that topic, so that a dot
// in "orders.eu" is a dot. Any other entry is an RE2 pattern that must match the full name. Compiled once per mirror.
#pragma once

#include "base/error.hpp"

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace re2 {
class RE2;
}

namespace mirrord {

enum class topic_verdict : std::uint8_t { included, not_included, excluded, internal };

class topic_filter {
 public:
  [[nodiscard]] static result<topic_filter> compile(const std::vector<std::string>& include, const std::vector<std::string>& exclude);

  topic_filter(topic_filter&&) noexcept;
  topic_filter& operator=(topic_filter&&) noexcept;
  ~topic_filter();

  [[nodiscard]] topic_verdict decide(std::string_view topic) const;
  [[nodiscard]] bool matches(std::string_view topic) const { return decide(topic) == topic_verdict::included; }

  // The included entries that are names, sorted: each of them must exist on the source.
  [[nodiscard]] const std::vector<std::string>& included_names() const noexcept { return include_.names; }

  // Kafka's own topics and ours; their content means something only in its own cluster.
  [[nodiscard]] static bool is_internal(std::string_view topic) noexcept;

 private:
  struct pattern_list {
    std::vector<std::string> names;  // sorted
    std::vector<std::unique_ptr<re2::RE2>> patterns;
    [[nodiscard]] bool matches(std::string_view topic) const;
  };

  topic_filter();
  [[nodiscard]] static result<pattern_list> compile_list(const std::vector<std::string>& entries, std::string_view list_name);

  pattern_list include_;
  pattern_list exclude_;
};

// What is wrong with one entry of a topic list, or nothing.
[[nodiscard]] std::string topic_entry_problem(std::string_view entry);

// Whether the entry is a topic's name rather than a pattern.
[[nodiscard]] bool is_topic_name(std::string_view entry) noexcept;

}  // namespace mirrord
