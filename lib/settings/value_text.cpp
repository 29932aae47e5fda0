#include "settings/value_text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <numeric>
#include <span>

namespace mirrord {
namespace {

struct unit_factor {
  std::string_view name;
  std::int64_t factor;
};

// Largest first: format_value takes the first that divides.
constexpr unit_factor size_units[] = {{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}, {"B", 1}};
constexpr unit_factor duration_units[] = {{"d", 86'400'000}, {"h", 3'600'000}, {"m", 60'000}, {"s", 1'000}, {"ms", 1}};

// Longer than any secret or PEM chain; keeps ${file:/dev/zero} from filling the memory.
constexpr std::size_t reference_file_max = 1024 * 1024;

error wrong(std::string text) { return fail(errc::invalid, std::move(text)); }

bool is_digit(char c) { return c >= '0' && c <= '9'; }

std::string unit_names(std::span<const unit_factor> units) {
  std::vector<std::string_view> names;
  for (auto unit = units.rbegin(); unit != units.rend(); ++unit) names.push_back(unit->name);
  return fmt::format("{}", fmt::join(names, ", "));
}

// "30s" -> 30 and "s".
std::pair<std::string_view, std::string_view> split_unit(std::string_view text) {
  std::size_t digits = !text.empty() && text.front() == '-' ? 1 : 0;
  while (digits < text.size() && is_digit(text[digits])) ++digits;
  auto unit = text.substr(digits);
  while (!unit.empty() && unit.front() == ' ') unit.remove_prefix(1);
  return {text.substr(0, digits), unit};
}

result<std::int64_t> with_unit(std::string_view text, std::span<const unit_factor> units) {
  const auto [digits, unit] = split_unit(text);
  if (digits.empty() || digits == "-") return wrong(fmt::format("not a whole number with a unit ({})", unit_names(units)));
  const auto number = parse_integer(digits);
  if (!number) return number;
  const auto found = std::find_if(units.begin(), units.end(), [&](const unit_factor& u) { return u.name == unit; });
  if (found == units.end()) return wrong(fmt::format("unknown unit; known are {}", unit_names(units)));
  const auto limit = std::numeric_limits<std::int64_t>::max() / found->factor;
  if (*number > limit || *number < -limit) return wrong("out of range");
  return *number * found->factor;
}

result<std::string> read_reference_file(const std::string& path) {
  if (path.empty() || path.front() != '/') return wrong(fmt::format("${{file:{}}}: the path must start with /", path));
  std::ifstream in(path, std::ios::binary);
  if (!in) return wrong(fmt::format("${{file:{}}}: the file cannot be opened", path));
  std::string content(reference_file_max + 1, '\0');
  in.read(content.data(), static_cast<std::streamsize>(content.size()));
  if (in.bad() || (in.fail() && !in.eof())) return wrong(fmt::format("${{file:{}}}: the file cannot be read", path));
  content.resize(static_cast<std::size_t>(in.gcount()));
  if (content.size() > reference_file_max) return wrong(fmt::format("${{file:{}}}: larger than {} bytes", path, reference_file_max));
  if (content.ends_with('\n')) content.pop_back();
  if (content.ends_with('\r')) content.pop_back();
  return content;
}

result<std::string> resolve(std::string_view reference) {
  if (reference.starts_with("env:")) {
    const std::string variable(reference.substr(4));
    const char* value = std::getenv(variable.c_str());
    if (value == nullptr) return wrong(fmt::format("${{env:{}}}: the environment variable is not set", variable));
    return std::string(value);
  }
  if (reference.starts_with("file:")) return read_reference_file(std::string(reference.substr(5)));
  return wrong("unknown reference; write ${env:NAME} or ${file:/path}, or $${ for a literal ${");
}

std::string range_text(const field_rules& rules) {
  return fmt::format("out of range: {} to {}", format_value(rules, rules.min), format_value(rules, rules.max));
}

result<field_value> parse_choice(const field_rules& rules, std::string_view text) {
  const auto found = std::find(rules.choices.begin(), rules.choices.end(), text);
  if (found == rules.choices.end()) return wrong(fmt::format("must be one of {}", fmt::join(rules.choices, ", ")));
  return field_value(static_cast<std::int64_t>(found - rules.choices.begin()));
}

result<field_value> parse_number(const field_rules& rules, std::string_view text) {
  const auto number = rules.kind == value_kind::size       ? parse_size(text)
                      : rules.kind == value_kind::duration ? parse_duration(text, rules.key.ends_with(".ms"))
                                                           : parse_integer(text);
  if (!number) return number.error();
  if (*number < rules.min || *number > rules.max) return wrong(range_text(rules));
  if (rules.check_number != nullptr) {
    if (auto problem = rules.check_number(*number); !problem.empty()) return wrong(std::move(problem));
  }
  return field_value(*number);
}

std::string format_with_unit(std::int64_t value, std::span<const unit_factor> units) {
  if (value == 0) return fmt::format("0{}", units.back().name);
  const auto unit = std::find_if(units.begin(), units.end(), [&](const unit_factor& u) { return value % u.factor == 0; });
  return fmt::format("{}{}", value / unit->factor, unit->name);
}

}  // namespace

result<std::int64_t> parse_integer(std::string_view text) {
  std::string_view digits = text;
  if (!digits.empty() && digits.front() == '-') digits.remove_prefix(1);
  if (digits.empty() || !std::all_of(digits.begin(), digits.end(), is_digit)) return wrong("not a whole number");
  if (digits.size() > 1 && digits.front() == '0') return wrong("leading zero, which YAML 1.1 reads as octal: write the number without it");
  std::int64_t value = 0;
  const auto parsed_to = std::from_chars(text.data(), text.data() + text.size(), value);
  if (parsed_to.ec != std::errc{}) return wrong("out of range");
  return value;
}

result<std::int64_t> parse_size(std::string_view text) {
  if (split_unit(text).second.empty()) return parse_integer(text);
  return with_unit(text, size_units);
}

result<std::int64_t> parse_duration(std::string_view text, bool bare_allowed) {
  const auto [digits, unit] = split_unit(text);
  if (unit.empty() && !digits.empty()) {
    if (bare_allowed) return parse_integer(text);
    return wrong(fmt::format("a duration needs a unit: {}", unit_names(duration_units)));
  }
  return with_unit(text, duration_units);
}

result<std::string> expand_references(std::string_view text) {
  std::string out;
  std::size_t at = 0;
  while (at < text.size()) {
    const auto start = text.find("${", at);
    if (start == std::string_view::npos) break;
    if (start > at && text[start - 1] == '$') {
      out += text.substr(at, start - 1 - at);
      out += "${";
      at = start + 2;
      continue;
    }
    const auto end = text.find('}', start);
    if (end == std::string_view::npos) return wrong("a reference ${.. without its closing }");
    auto value = resolve(text.substr(start + 2, end - start - 2));
    if (!value) return value.error();
    out += text.substr(at, start - at);
    out += *value;
    at = end + 1;
  }
  out += text.substr(at);
  return out;
}

result<field_value> parse_scalar(const field_rules& rules, std::string_view text) {
  if (rules.check != nullptr) {
    if (auto problem = rules.check(text); !problem.empty()) return wrong(std::move(problem));
  }
  switch (rules.kind) {
    case value_kind::boolean:
      if (text == "true") return field_value(true);
      if (text == "false") return field_value(false);
      return wrong("must be true or false");
    case value_kind::choice: return parse_choice(rules, text);
    case value_kind::integer:
    case value_kind::size:
    case value_kind::duration: return parse_number(rules, text);
    case value_kind::text:
    case value_kind::list: break;
  }
  return field_value(std::string(text));
}

namespace {

std::string described(const field_rules& rules, std::string_view written, const std::string& problem) {
  return rules.secret ? problem : fmt::format("'{}': {}", written, problem);
}

}  // namespace

std::optional<field_value> read_field_text(const field_rules& rules, std::string_view written, std::vector<std::string>& problems) {
  const auto expanded = expand_references(written);
  if (!expanded) {
    problems.push_back(expanded.error().context);
    return std::nullopt;
  }
  if (rules.kind != value_kind::list) {
    auto value = parse_scalar(rules, *expanded);
    if (value) return std::move(*value);
    problems.push_back(described(rules, written, value.error().context));
    return std::nullopt;
  }
  // Split only now: one variable may hold the whole list.
  std::vector<std::string> items;
  const std::size_t problems_before = problems.size();
  std::string_view rest = *expanded;
  while (true) {
    const auto comma = rest.find(',');
    const auto item = trimmed(rest.substr(0, comma));
    if (auto value = parse_scalar(rules, item)) items.emplace_back(item);
    else problems.push_back(described(rules, written, value.error().context));
    if (comma == std::string_view::npos) break;
    rest.remove_prefix(comma + 1);
  }
  if (problems.size() > problems_before) return std::nullopt;
  return field_value(std::move(items));
}

std::string format_value(const field_rules& rules, const field_value& value) {
  switch (rules.kind) {
    case value_kind::boolean: return std::get<bool>(value) ? "true" : "false";
    case value_kind::integer: return fmt::format("{}", std::get<std::int64_t>(value));
    case value_kind::size: return format_with_unit(std::get<std::int64_t>(value), size_units);
    case value_kind::duration: return format_with_unit(std::get<std::int64_t>(value), duration_units);
    case value_kind::choice: return std::string(rules.choices.at(static_cast<std::size_t>(std::get<std::int64_t>(value))));
    case value_kind::text: return quoted(std::get<std::string>(value));
    case value_kind::list: break;
  }
  std::vector<std::string> items;
  for (const auto& item : std::get<std::vector<std::string>>(value)) items.push_back(quoted(item));
  return fmt::format("[{}]", fmt::join(items, ", "));
}

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    switch (c) {
      case '"': out += "\\\""; break;
      case '\\': out += "\\\\"; break;
      case '\n': out += "\\n"; break;
      case '\r': out += "\\r"; break;
      case '\t': out += "\\t"; break;
      default:
        if (static_cast<unsigned char>(c) < ' ' || c == 127) out += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
        else out += c;
    }
  }
  return out + '"';
}

std::string_view nearest_key(std::string_view key, const std::vector<std::string_view>& known) {
  std::string_view best;
  std::size_t best_distance = std::max<std::size_t>(2, key.size() / 2) + 1;
  std::vector<std::size_t> row;
  for (const auto candidate : known) {
    row.resize(candidate.size() + 1);
    std::iota(row.begin(), row.end(), 0U);
    for (std::size_t i = 0; i < key.size(); ++i) {
      std::size_t diagonal = row[0]++;
      for (std::size_t j = 0; j < candidate.size(); ++j) {
        const std::size_t replaced = diagonal + (key[i] == candidate[j] ? 0 : 1);
        diagonal = row[j + 1];
        row[j + 1] = std::min({replaced, diagonal + 1, row[j] + 1});
      }
    }
    if (row.back() < best_distance) {
      best = candidate;
      best_distance = row.back();
    }
  }
  return best;
}

std::string suggest_key(std::string_view key, const std::vector<std::string_view>& known) {
  if (const auto near = nearest_key(key, known); !near.empty()) return fmt::format("; did you mean {}?", near);
  return fmt::format("; known here: {}", fmt::join(known, ", "));
}

std::string_view trimmed(std::string_view text) noexcept {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

}  // namespace mirrord
