#include "settings/yaml_document.hpp"

#include "base/check.hpp"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <optional>
#include <sstream>

namespace mirrord {
namespace {

// Builds the tree. A map's frame alternates between waiting for a key and waiting for that key's value.
class tree_builder final : public YAML::EventHandler {
 public:
  explicit tree_builder(yaml_document& document) : document_(document) {}

  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}

  void OnAnchor(const YAML::Mark& mark, const std::string&) override { problem(mark, "anchors (&name) are not supported"); }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override {
    problem(mark, "aliases (*name) are not supported");
    place(node_at(mark, yaml_kind::null));
  }

  void OnNull(const YAML::Mark& mark, YAML::anchor_t) override { place(node_at(mark, yaml_kind::null)); }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t, const std::string& value) override {
    refuse_tag(mark, tag);
    yaml_node node = node_at(mark, yaml_kind::scalar);
    node.text = value;
    place(std::move(node));
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t, YAML::EmitterStyle::value) override {
    open(mark, tag, yaml_kind::list);
  }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t, YAML::EmitterStyle::value) override {
    open(mark, tag, yaml_kind::map);
  }
  void OnSequenceEnd() override { close(); }
  void OnMapEnd() override { close(); }

 private:
  struct frame {
    yaml_node node;
    std::optional<yaml_entry> pending;  // map: the key that waits for its value
    bool drop_pending = false;          // the key was refused: its value is read and forgotten
  };

  static yaml_node node_at(const YAML::Mark& mark, yaml_kind kind) {
    yaml_node node;
    node.kind = kind;
    node.line = mark.line + 1;
    node.column = mark.column + 1;
    return node;
  }

  void problem(const YAML::Mark& mark, std::string text) {
    document_.problems.push_back({mark.line + 1, mark.column + 1, {}, std::move(text)});
  }

  // yaml-cpp says "?" for a plain scalar and "!" for a quoted one.
  void refuse_tag(const YAML::Mark& mark, const std::string& tag) {
    if (!tag.empty() && tag != "?" && tag != "!") problem(mark, "tags (!name) are not supported");
  }

  void open(const YAML::Mark& mark, const std::string& tag, yaml_kind kind) {
    refuse_tag(mark, tag);
    frames_.push_back({node_at(mark, kind), std::nullopt, false});
  }

  void close() {
    MIRRORD_CHECK(!frames_.empty(), "a YAML collection ends that never began");
    yaml_node node = std::move(frames_.back().node);
    frames_.pop_back();
    place(std::move(node));
  }

  void place(yaml_node node) {
    if (frames_.empty()) {
      document_.root = std::move(node);
      return;
    }
    frame& top = frames_.back();
    if (top.node.kind == yaml_kind::list) {
      top.node.items.push_back(std::move(node));
    } else if (!top.pending) {
      take_key(top, std::move(node));
    } else {
      if (node.kind == yaml_kind::null) {  // yaml-cpp marks a missing value where the next token stands
        node.line = top.pending->line;
        node.column = top.pending->column;
      }
      top.pending->value = std::move(node);
      if (!top.drop_pending) top.node.entries.push_back(std::move(*top.pending));
      top.pending.reset();
    }
  }

  void take_key(frame& top, yaml_node node) {
    top.pending = yaml_entry{node.text, node.line, node.column, {}};
    top.drop_pending = true;
    if (node.kind != yaml_kind::scalar) {
      document_.problems.push_back({node.line, node.column, {}, "a key must be a plain text"});
    } else if (const yaml_entry* first = top.node.find(node.text)) {
      document_.problems.push_back({node.line, node.column, node.text, "duplicate key, first in line " + std::to_string(first->line)});
    } else {
      top.drop_pending = false;
    }
  }

  yaml_document& document_;
  std::vector<frame> frames_;
};

}  // namespace

const yaml_entry* yaml_node::find(std::string_view key) const noexcept {
  const auto found = std::find_if(entries.begin(), entries.end(), [&](const yaml_entry& e) { return e.key == key; });
  return found == entries.end() ? nullptr : &*found;
}

yaml_document parse_yaml(const std::string& text) {
  yaml_document document;
  tree_builder builder(document);
  std::istringstream in(text);
  try {
    YAML::Parser parser(in);
    if (!parser.HandleNextDocument(builder)) return document;
    yaml_document second;
    tree_builder ignored(second);
    if (parser.HandleNextDocument(ignored)) {
      document.problems.push_back({second.root.line, second.root.column, {}, "a second document (---); one is expected"});
    }
  } catch (const YAML::Exception& e) {
    document.problems.push_back({e.mark.line + 1, e.mark.column + 1, {}, "not YAML: " + e.msg});
  }
  return document;
}

}  // namespace mirrord
