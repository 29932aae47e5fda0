#include "settings/jaas_config.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

namespace mirrord {
namespace {

constexpr std::string_view plain_module = "org.apache.kafka.common.security.plain.PlainLoginModule";
constexpr std::string_view scram_module = "org.apache.kafka.common.security.scram.ScramLoginModule";
constexpr std::string_view form = R"(write: org.apache.kafka.common.security.scram.ScramLoginModule required username="..." password="...";)";

error wrong(std::string_view text) { return fail(errc::invalid, fmt::format("{}; {}", text, form)); }

struct token {
  std::string text;
  bool quoted = false;
  [[nodiscard]] bool is(std::string_view symbol) const noexcept { return !quoted && text == symbol; }
};

bool is_blank(char c) { return static_cast<unsigned char>(c) <= ' '; }
bool is_octal(char c) { return c >= '0' && c <= '7'; }

// One escape, after its backslash; `at` is left behind it.
char escaped(std::string_view text, std::size_t& at) {
  const char c = text[at++];
  switch (c) {
    case 'a': return '\a';
    case 'b': return '\b';
    case 'f': return '\f';
    case 'n': return '\n';
    case 'r': return '\r';
    case 't': return '\t';
    case 'v': return '\v';
    default: break;
  }
  if (!is_octal(c)) return c;
  int value = c - '0';
  const std::size_t digits_max = c <= '3' ? 2 : 1;  // up to \377
  for (std::size_t i = 0; i < digits_max && at < text.size() && is_octal(text[at]); ++i) value = value * 8 + (text[at++] - '0');
  return static_cast<char>(value);
}

result<std::vector<token>> split(std::string_view text) {
  std::vector<token> tokens;
  std::size_t at = 0;
  while (at < text.size()) {
    const char c = text[at];
    if (is_blank(c)) {
      ++at;
    } else if (c == ';' || c == '=') {
      tokens.push_back({std::string(1, c), false});
      ++at;
    } else if (c == '"' || c == '\'') {
      token quoted{{}, true};
      ++at;
      while (at < text.size() && text[at] != c) {
        if (text[at] == '\\' && at + 1 < text.size()) quoted.text += escaped(text, ++at);
        else quoted.text += text[at++];
      }
      if (at == text.size()) return wrong("a quotation mark is not closed");
      ++at;
      tokens.push_back(std::move(quoted));
    } else {
      token word;
      while (at < text.size() && !is_blank(text[at]) && std::string_view(";=\"'").find(text[at]) == std::string_view::npos) word.text += text[at++];
      tokens.push_back(std::move(word));
    }
  }
  return tokens;
}

bool is_control_flag(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  static constexpr std::array<std::string_view, 4> flags = {"required", "requisite", "sufficient", "optional"};
  return std::find(flags.begin(), flags.end(), text) != flags.end();
}

}  // namespace

result<jaas_login> parse_jaas_config(std::string_view text) {
  auto split_text = split(text);
  if (!split_text) return std::move(split_text.error());
  const std::vector<token>& tokens = *split_text;
  if (tokens.empty()) return wrong("the value is empty");
  if (!tokens.back().is(";")) return wrong("the closing ; is missing");
  jaas_login login;
  login.scram = tokens[0].is(scram_module);
  if (!login.scram && !tokens[0].is(plain_module)) {
    return wrong("only PlainLoginModule and ScramLoginModule are supported");
  }
  if (tokens.size() < 3 || !is_control_flag(tokens[1].text)) return wrong("the login module must be followed by `required`");

  std::optional<std::string> username;
  std::optional<std::string> password;
  std::size_t at = 2;
  while (!tokens[at].is(";")) {
    if (at + 3 >= tokens.size() || !tokens[at + 1].is("=") || tokens[at + 2].is(";") || tokens[at + 2].is("=")) {
      return wrong("the options must be key=\"value\"");
    }
    const auto& key = tokens[at].text;
    if (key == "username") username = tokens[at + 2].text;
    else if (key == "password") password = tokens[at + 2].text;
    else return wrong("only the options username and password are supported");
    at += 3;
  }
  if (at + 1 != tokens.size()) return wrong("one login module is expected");
  if (!username || username->empty()) return wrong("username is missing");
  if (!password || password->empty()) return wrong("password is missing");
  login.username = std::move(*username);
  login.password = std::move(*password);
  return login;
}

}  // namespace mirrord
