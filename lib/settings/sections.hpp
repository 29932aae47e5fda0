// The field tables: every key of the configuration file, section by section, with bounds and documentation.
//
// Adding a key means adding a member to its struct and a row here; loading, printing and the documentation follow.
// `source` and `destination` are the same section, connection_settings.
#pragma once

#include "settings/field_table.hpp"
#include "settings/settings.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace mirrord {

[[nodiscard]] const std::vector<field<settings>>& daemon_fields();
[[nodiscard]] const std::vector<field<mirror_settings>>& mirror_fields();
[[nodiscard]] const std::vector<field<connection_settings>>& connection_fields();

// What the rows cannot see: keys that need each other or exclude each other. `key` is the one to change.
struct connection_conflict {
  std::string_view key;
  std::string text;
};
[[nodiscard]] std::vector<connection_conflict> conflicts_in(const connection_settings& connection);

// The keys whose value is a section (or a list of sections) of its own.
inline constexpr std::string_view destination_key = "destination";
inline constexpr std::string_view mirrors_key = "mirrors";
inline constexpr std::string_view source_key = "source";

// What to write instead of a property that people bring along from the Java client; empty for all others.
[[nodiscard]] std::string_view replacement_of(std::string_view java_key) noexcept;

}  // namespace mirrord
