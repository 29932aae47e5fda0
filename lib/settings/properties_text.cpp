#include "settings/properties_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

namespace mirrord {
namespace {

constexpr std::string_view blanks = " \t\f";

std::string_view without_leading_blanks(std::string_view text) {
  const auto first = text.find_first_not_of(blanks);
  return first == std::string_view::npos ? std::string_view{} : text.substr(first);
}

bool goes_on(std::string_view line) {
  const auto last_other = line.find_last_not_of('\\');
  const auto backslashes = line.size() - (last_other == std::string_view::npos ? 0 : last_other + 1);
  return backslashes % 2 == 1;
}

// Takes the text line by line; a line ends with \n, \r or \r\n.
class line_reader {
 public:
  explicit line_reader(std::string_view text) : rest_(text) {}

  std::optional<std::string_view> next() {
    if (rest_.empty()) return std::nullopt;
    ++number_;
    const auto end = rest_.find_first_of("\r\n");
    const auto line = rest_.substr(0, end);
    rest_.remove_prefix(end == std::string_view::npos ? rest_.size() : end);
    if (rest_.starts_with("\r\n")) rest_.remove_prefix(2);
    else if (!rest_.empty()) rest_.remove_prefix(1);
    return line;
  }

  [[nodiscard]] int number() const noexcept { return number_; }

 private:
  std::string_view rest_;
  int number_ = 0;
};

void append_utf8(std::string& out, char32_t c) {
  if (c < 0x80) {
    out += static_cast<char>(c);
  } else if (c < 0x800) {
    out += static_cast<char>(0xC0 | (c >> 6));
    out += static_cast<char>(0x80 | (c & 0x3F));
  } else if (c < 0x10000) {
    out += static_cast<char>(0xE0 | (c >> 12));
    out += static_cast<char>(0x80 | ((c >> 6) & 0x3F));
    out += static_cast<char>(0x80 | (c & 0x3F));
  } else {
    out += static_cast<char>(0xF0 | (c >> 18));
    out += static_cast<char>(0x80 | ((c >> 12) & 0x3F));
    out += static_cast<char>(0x80 | ((c >> 6) & 0x3F));
    out += static_cast<char>(0x80 | (c & 0x3F));
  }
}

// The four hexadecimal digits at the begin of the text.
std::optional<char32_t> code_unit(std::string_view text) {
  if (text.size() < 4) return std::nullopt;
  char32_t value = 0;
  for (const char c : text.substr(0, 4)) {
    const auto digit = std::string_view("0123456789abcdef").find(static_cast<char>(c >= 'A' && c <= 'F' ? c + 32 : c));
    if (digit == std::string_view::npos) return std::nullopt;
    value = value * 16 + static_cast<char32_t>(digit);
  }
  return value;
}

// Replaces escapes; false where \u is not followed by a character's number.
bool unescape(std::string_view text, std::string& out) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\' || i + 1 == text.size()) {
      out += text[i];
      continue;
    }
    ++i;
    switch (text[i]) {
      case 't': out += '\t'; break;
      case 'n': out += '\n'; break;
      case 'r': out += '\r'; break;
      case 'f': out += '\f'; break;
      case 'u': {
        const auto unit = code_unit(text.substr(i + 1));
        if (!unit || *unit == 0) return false;
        i += 4;
        char32_t character = *unit;
        if (character >= 0xD800 && character < 0xE000) {  // UTF-16: two units make one character
          const auto second = text.substr(i + 1).starts_with("\\u") ? code_unit(text.substr(i + 3)) : std::nullopt;
          if (character >= 0xDC00 || !second || *second < 0xDC00 || *second >= 0xE000) return false;
          character = 0x10000 + ((character - 0xD800) << 10) + (*second - 0xDC00);
          i += 6;
        }
        append_utf8(out, character);
        break;
      }
      default: out += text[i];
    }
  }
  return true;
}

// Where the key ends: at the first blank, '=' or ':' that is not escaped.
std::size_t key_length(std::string_view line) {
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '\\') ++i;
    else if (line[i] == '=' || line[i] == ':' || blanks.find(line[i]) != std::string_view::npos) return i;
  }
  return line.size();
}

bool is_ascii(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

void take_line(std::string_view line, int number, parsed_properties& parsed) {
  const auto problem = [&](std::string key, std::string text) { parsed.problems.push_back({number, std::move(key), std::move(text)}); };
  const auto length = key_length(line);
  auto written = without_leading_blanks(line.substr(length));
  if (written.starts_with('=') || written.starts_with(':')) written = without_leading_blanks(written.substr(1));

  property found;
  found.line = number;
  if (!unescape(line.substr(0, length), found.key)) return problem({}, "\\u must be followed by the four hexadecimal digits of a character");
  if (!is_ascii(line)) {
    const std::string key = is_ascii(line.substr(0, length)) ? found.key : "";
    return problem(key, "write characters outside ASCII as \\uXXXX: Java's tools read this file as Latin-1");
  }
  if (!unescape(written, found.value)) return problem(found.key, "\\u must be followed by the four hexadecimal digits of a character");
  if (found.key.empty()) return problem({}, "a value without a key");
  if (const auto* first = parsed.find(found.key)) return problem(found.key, fmt::format("duplicate key, first in line {}", first->line));
  parsed.properties.push_back(std::move(found));
}

}  // namespace

const property* parsed_properties::find(std::string_view key) const noexcept {
  const auto found = std::find_if(properties.begin(), properties.end(), [&](const property& p) { return p.key == key; });
  return found == properties.end() ? nullptr : &*found;
}

parsed_properties parse_properties(std::string_view text) {
  parsed_properties parsed;
  line_reader lines(text);
  while (const auto line = lines.next()) {
    const auto content = without_leading_blanks(*line);
    if (content.empty() || content.front() == '#' || content.front() == '!') continue;
    const int number = lines.number();
    std::string whole(content);
    while (goes_on(whole)) {
      whole.pop_back();
      const auto more = lines.next();
      if (!more) break;
      whole += without_leading_blanks(*more);
    }
    take_line(whole, number, parsed);
  }
  return parsed;
}

}  // namespace mirrord
