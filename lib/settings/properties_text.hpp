// The text of a Java .properties file -> its keys and values, with the lines they begin in (java.util.Properties.load):
// comments, `key=value`, `key:value`, `key value`, lines that go on after a backslash, escapes.
//
// Stricter than Java in two places where two readers could see two values: a key that is given twice, and bytes outside
// ASCII (Java reads such files as Latin-1, editors write UTF-8; \uXXXX means the same to both).
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace mirrord {

struct property {
  std::string key;
  std::string value;
  int line = 0;  // from 1; of the key
};

struct property_problem {
  int line = 0;
  std::string key;   // empty: not known
  std::string text;  // never quotes a value
};

struct parsed_properties {
  std::vector<property> properties;  // in the file's order
  std::vector<property_problem> problems;
  [[nodiscard]] const property* find(std::string_view key) const noexcept;
};

[[nodiscard]] parsed_properties parse_properties(std::string_view text);

}  // namespace mirrord
