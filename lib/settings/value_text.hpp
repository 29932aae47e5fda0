// Text of a configuration value <-> value: whole numbers, sizes and durations with units, references to the
// environment and to files. Strict: what could be meant in two ways is refused with what to write instead.
// An error is errc::invalid; its context never quotes the value, since that can be a secret.
#pragma once

#include "base/error.hpp"
#include "settings/field_table.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mirrord {

// "10", "-1". Refused: a leading zero (YAML 1.1 would read octal), 0x.., 1e6, 1_000.
[[nodiscard]] result<std::int64_t> parse_integer(std::string_view text);

// Bytes: "1048576", "512KiB", "1MiB", "2GiB".
[[nodiscard]] result<std::int64_t> parse_size(std::string_view text);

// Milliseconds: "250ms", "30s", "5m", "1h", "7d". A bare number is milliseconds where `bare_allowed` (keys named *.ms).
[[nodiscard]] result<std::int64_t> parse_duration(std::string_view text, bool bare_allowed);

// Replaces each ${env:NAME} and ${file:/absolute/path} (without the file's last line break). "$${" stands for "${".
[[nodiscard]] result<std::string> expand_references(std::string_view text);

// The value of a scalar under a row's rules, bounds included; for a list, one item of it as a text.
[[nodiscard]] result<field_value> parse_scalar(const field_rules& rules, std::string_view text);

// A key's value as a person wrote it in one text: references resolved, a comma-separated list split. What is wrong is
// appended to `problems`; they quote what is written, never what a reference resolved to, and nothing at all of a secret.
[[nodiscard]] std::optional<field_value> read_field_text(const field_rules& rules, std::string_view written, std::vector<std::string>& problems);

// The inverse of parse_scalar, in the largest unit that divides: "1MiB", "500ms"; texts and list items in double quotes.
[[nodiscard]] std::string format_value(const field_rules& rules, const field_value& value);

// As it stands in a YAML file, in double quotes.
[[nodiscard]] std::string quoted(std::string_view text);

// The known key with the smallest edit distance, or empty if none is near enough to be meant.
[[nodiscard]] std::string_view nearest_key(std::string_view key, const std::vector<std::string_view>& known);

// What to tell about an unknown key: "; did you mean lanes?", or the known ones where none is near.
[[nodiscard]] std::string suggest_key(std::string_view key, const std::vector<std::string_view>& known);

// Without spaces and tabs at both ends.
[[nodiscard]] std::string_view trimmed(std::string_view text) noexcept;

}  // namespace mirrord
