// A YAML text as a plain tree that remembers where everything stood. The strict subset that a configuration needs:
// maps, lists and scalars; one document; no anchors, aliases, tags or merge keys, and no key twice in a map.
//
// Built from yaml-cpp's events, because its node tree keeps duplicate keys silently and interprets scalars.
#pragma once

#include <boost/system/result.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace mirrord {

enum class yaml_kind : std::uint8_t { null, scalar, list, map };

struct yaml_entry;

struct yaml_node {
  yaml_kind kind = yaml_kind::null;
  int line = 1;    // from 1
  int column = 1;  // from 1
  std::string text;                 // scalar
  std::vector<yaml_node> items;     // list
  std::vector<yaml_entry> entries;  // map, in the order of the file; keys are unique

  [[nodiscard]] const yaml_entry* find(std::string_view key) const noexcept;
};

struct yaml_entry {
  std::string key;
  int line = 1;
  int column = 1;
  yaml_node value;
};

struct yaml_problem {
  int line = 1;
  int column = 1;
  std::string key;  // may be empty
  std::string text;
};

struct yaml_document {
  yaml_node root;                      // null for an empty text
  std::vector<yaml_problem> problems;  // the tree holds what could be read beside them
};

// Never throws for bad input: what does not parse is a problem.
[[nodiscard]] yaml_document parse_yaml(const std::string& text);

}  // namespace mirrord
