#include "settings/mirror_name.hpp"

#include "settings/topic_filter.hpp"

#include <fmt/format.h>

namespace mirrord {
namespace {

constexpr std::size_t mirror_name_max = 249;  // as for topics

}  // namespace

std::string mirror_name_problem(std::string_view name) {
  if (name.empty()) return "must not be empty";
  if (name == "." || name == "..") return "must not be . or ..";
  if (name.size() > mirror_name_max) return fmt::format("must have at most {} characters", mirror_name_max);
  if (!is_topic_name(name)) return "only letters, digits, '.', '_' and '-' are allowed";
  for (const std::string_view suffix : {".stopped", ".paused", ".removed"}) {
    if (name.ends_with(suffix)) return fmt::format("must not end in {}, which marks a topic's state", suffix);
  }
  return {};
}

}  // namespace mirrord
