#include "settings/sections.hpp"
#include "settings/settings.hpp"
#include "settings/value_text.hpp"

#include <fmt/format.h>

namespace mirrord {
namespace {

// A text or list that is empty is left out: it means the same as its absence, and some keys refuse an empty value.
bool is_empty(const field_value& value) {
  if (const auto* text = std::get_if<std::string>(&value)) return text->empty();
  return false;
}

// A resolved value may contain "${": written so that it is not taken for a reference.
field_value without_references(field_value value) {
  const auto escape = [](std::string& text) {
    for (auto at = text.find("${"); at != std::string::npos; at = text.find("${", at + 3)) text.insert(at, 1, '$');
  };
  if (auto* text = std::get_if<std::string>(&value)) escape(*text);
  if (auto* list = std::get_if<std::vector<std::string>>(&value)) {
    for (auto& item : *list) escape(item);
  }
  return value;
}

// `first` stands before the first line, so that a list item can begin with its dash.
template <class Section>
void print_section(std::string& out, const std::vector<field<Section>>& rows, const Section& section, std::string_view indent,
                   std::string_view first) {
  std::string_view prefix = first;
  for (const auto& row : rows) {
    field_value value = row.get(section);
    if (is_empty(value)) continue;
    const std::string text = row.secret ? quoted(masked_secret) : format_value(row, without_references(std::move(value)));
    out += fmt::format("{}{}: {}\n", prefix, row.key, text);
    prefix = indent;
  }
}

}  // namespace

std::string print_config(const settings& s) {
  std::string out;
  print_section(out, daemon_fields(), s, "", "");
  out += fmt::format("{}:\n", destination_key);
  print_section(out, connection_fields(), s.destination, "  ", "  ");
  out += fmt::format("{}:\n", mirrors_key);
  for (const auto& mirror : s.mirrors) {
    print_section(out, mirror_fields(), mirror, "    ", "  - ");
    out += fmt::format("    {}:\n", source_key);
    print_section(out, connection_fields(), mirror.source, "      ", "      ");
  }
  return out;
}

}  // namespace mirrord
