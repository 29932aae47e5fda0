#include "settings/config_file.hpp"
#include "settings/sections.hpp"
#include "settings/settings.hpp"
#include "settings/value_text.hpp"
#include "settings/yaml_document.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <span>
#include <stdexcept>

namespace mirrord {
namespace {

// librdkafka wants this much room for the frame around a full fetch.
constexpr std::int64_t frame_overhead = 512;

// A key of a section that holds a section of its own.
struct child_section {
  std::string_view key;
  std::function<void(const yaml_node& node, const std::string& path)> read;
};

std::string join_path(std::string_view path, std::string_view key) {
  return path.empty() ? std::string(key) : fmt::format("{}.{}", path, key);
}

class loader {
 public:
  explicit loader(std::string file) : file_(std::move(file)) {}

  config_result load(const yaml_document& document) {
    for (const auto& p : document.problems) report(p.line, p.column, p.key, p.text);
    settings s;
    const child_section children[] = {
        {destination_key, [&](const yaml_node& node, const std::string& path) { read_connection(node, path, s.destination); }},
        {mirrors_key, [&](const yaml_node& node, const std::string& path) { read_mirrors(node, path, s.mirrors); }},
    };
    if (document.root.kind == yaml_kind::null && document.problems.empty()) report(1, 1, "", "the file is empty");
    else if (document.root.kind != yaml_kind::null) read_section(document.root, "", daemon_fields(), s, children);
    if (document.root.kind == yaml_kind::map) check_fetch(document.root, s);
    if (problems_.list.empty()) return s;
    std::stable_sort(problems_.list.begin(), problems_.list.end(), [](const auto& a, const auto& b) { return a.line < b.line; });
    return std::move(problems_);
  }

 private:
  void report(int line, int column, std::string key, std::string text) {
    problems_.list.push_back({file_, std::max(line, 1), std::max(column, 1), std::move(key), std::move(text)});
  }
  void report(const yaml_node& at, std::string key, std::string text) { report(at.line, at.column, std::move(key), std::move(text)); }

  template <class Section>
  void read_section(const yaml_node& node, const std::string& path, const std::vector<field<Section>>& rows, Section& out,
                    std::span<const child_section> children) {
    if (node.kind != yaml_kind::map) {
      report(node, path, "must be a section of `key: value` lines");
      return;
    }
    for (const auto& entry : node.entries) {
      const std::string key = join_path(path, entry.key);
      const auto row = std::find_if(rows.begin(), rows.end(), [&](const auto& r) { return r.key == entry.key; });
      const auto child = std::find_if(children.begin(), children.end(), [&](const child_section& c) { return c.key == entry.key; });
      if (child != children.end()) child->read(entry.value, key);
      else if (row == rows.end()) report(entry.line, entry.column, key, unknown_key_text(entry, rows, children));
      else if (auto value = read_value(*row, entry.value, key)) row->set(out, std::move(*value));
    }
    for (const auto& row : rows) {
      if (row.required && node.find(row.key) == nullptr) report(node, join_path(path, row.key), "required, but not given");
    }
    for (const auto& child : children) {
      if (node.find(child.key) == nullptr) report(node, join_path(path, child.key), "required, but not given");
    }
  }

  template <class Section>
  static std::string unknown_key_text(const yaml_entry& entry, const std::vector<field<Section>>& rows,
                                      std::span<const child_section> children) {
    const std::string text = fmt::format("unknown key (column {})", entry.column);
    if (const auto replacement = replacement_of(entry.key); !replacement.empty()) return fmt::format("{}: {}", text, replacement);
    std::vector<std::string_view> known;
    for (const auto& child : children) known.push_back(child.key);
    for (const auto& row : rows) known.push_back(row.key);
    return text + suggest_key(entry.key, known);
  }

  std::optional<field_value> read_value(const field_rules& rules, const yaml_node& node, const std::string& key) {
    if (node.kind == yaml_kind::null) {
      report(node, key, "has no value");
      return std::nullopt;
    }
    if (rules.kind == value_kind::list) return read_list(rules, node, key);
    if (node.kind != yaml_kind::scalar) {
      report(node, key, "must be a single value");
      return std::nullopt;
    }
    return read_scalar(rules, node, node.text, key);
  }

  std::optional<field_value> read_list(const field_rules& rules, const yaml_node& node, const std::string& key) {
    std::vector<std::string> values;
    const std::size_t problems_before = problems_.list.size();
    if (node.kind == yaml_kind::list) {
      field_rules item_rules = rules;
      item_rules.kind = value_kind::text;
      for (std::size_t i = 0; i < node.items.size(); ++i) {
        const auto& item = node.items[i];
        const std::string item_key = fmt::format("{}[{}]", key, i);
        if (item.kind != yaml_kind::scalar) report(item, item_key, "must be a single value");
        else if (auto value = read_scalar(item_rules, item, item.text, item_key)) values.push_back(std::get<std::string>(std::move(*value)));
      }
    } else if (node.kind == yaml_kind::scalar && rules.comma_separated) {
      if (auto split = read_scalar(rules, node, node.text, key)) values = std::get<std::vector<std::string>>(std::move(*split));
    } else {
      report(node, key, "must be a list: [first, second]");
    }
    if (problems_.list.size() > problems_before) return std::nullopt;
    if (values.empty() && rules.required) {
      report(node, key, "must not be empty");
      return std::nullopt;
    }
    return field_value(std::move(values));
  }

  std::optional<field_value> read_scalar(const field_rules& rules, const yaml_node& at, const std::string& text, const std::string& key) {
    std::vector<std::string> texts;
    auto value = read_field_text(rules, text, texts);
    for (auto& problem : texts) report(at, key, std::move(problem));
    return value;
  }

  void read_connection(const yaml_node& node, const std::string& path, connection_settings& out) {
    const std::size_t problems_before = problems_.list.size();
    read_section(node, path, connection_fields(), out, {});
    if (problems_.list.size() == problems_before) report_conflicts(node, path, out);
  }

  void report_conflicts(const yaml_node& node, const std::string& path, const connection_settings& c) {
    for (auto& conflict : conflicts_in(c)) {
      const auto* entry = node.find(conflict.key);
      report(entry == nullptr ? node : entry->value, join_path(path, conflict.key), std::move(conflict.text));
    }
  }

  void read_mirrors(const yaml_node& node, const std::string& path, std::vector<mirror_settings>& out) {
    if (node.kind != yaml_kind::list || node.items.empty()) {
      report(node, path, "must be a list of mirrors, each beginning with `- name: ...`");
      return;
    }
    for (std::size_t i = 0; i < node.items.size(); ++i) {
      const auto& item = node.items[i];
      const std::string mirror_path = fmt::format("{}[{}]", path, i);
      mirror_settings mirror;
      const child_section children[] = {
          {source_key, [&](const yaml_node& source, const std::string& source_path) { read_connection(source, source_path, mirror.source); }}};
      read_section(item, mirror_path, mirror_fields(), mirror, children);
      const auto same = std::find_if(out.begin(), out.end(), [&](const mirror_settings& m) { return m.name == mirror.name; });
      if (same != out.end() && !mirror.name.empty()) {
        report(item.find("name")->value, join_path(mirror_path, "name"), fmt::format("'{}': another mirror has this name", mirror.name));
      }
      out.push_back(std::move(mirror));
    }
  }

  void check_fetch(const yaml_node& root, const settings& s) {
    const auto require = [&](bool holds, std::string_view key, std::string text) {
      const auto* entry = root.find(key);
      if (!holds) report(entry == nullptr ? root : entry->value, std::string(key), std::move(text));
    };
    require(s.fetch.max_bytes <= s.fetch.response_max_bytes, "fetch.max.bytes", "must not be above fetch.response.max.bytes");
    require(s.fetch.min_bytes <= s.fetch.response_max_bytes, "fetch.min.bytes", "must not be above fetch.response.max.bytes");
    for (const auto& mirror : s.mirrors) {
      require(s.fetch.wait_max < mirror.source.request_timeout, "fetch.wait.max.ms",
              fmt::format("must be below request.timeout.ms of the source of mirror '{}'", mirror.name));
      require(s.fetch.response_max_bytes + frame_overhead <= mirror.source.receive_message_max_bytes, "fetch.response.max.bytes",
              fmt::format("must be {} bytes below receive.message.max.bytes of the source of mirror '{}'", frame_overhead, mirror.name));
    }
  }

  std::string file_;
  config_problems problems_;
};

}  // namespace

std::string config_problem::message() const {
  return key.empty() ? fmt::format("{}:{}: {}", file, line, text) : fmt::format("{}:{}: {}: {}", file, line, key, text);
}

std::string config_problems::message() const {
  std::string out;
  for (const auto& p : list) {
    if (!out.empty()) out += '\n';
    out += p.message();
  }
  return out;
}

void throw_exception_from_error(const config_problems& e, const boost::source_location&) { throw std::runtime_error(e.message()); }

config_result load_config_text(std::string_view text, std::string file) {
  const auto document = parse_yaml(std::string(text));
  return loader(std::move(file)).load(document);
}

config_result load_config(const std::string& path) {
  const auto text = read_config_file(path);
  if (!text) return config_problems{{{path, 1, 1, {}, text.error().context}}};
  return load_config_text(*text, path);
}

}  // namespace mirrord
