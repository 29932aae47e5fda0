#include "options.hpp"

#include "settings/mirror_name.hpp"
#include "settings/sections.hpp"
#include "settings/topic_filter.hpp"
#include "settings/value_text.hpp"

#include <boost/program_options.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>

namespace mirrord::cli {
namespace {

namespace po = boost::program_options;

std::string store_bootstrap_servers(options& o, std::string_view text) {
  const auto& rows = connection_fields();
  const auto row = std::find_if(rows.begin(), rows.end(), [](const auto& r) { return r.key == "bootstrap.servers"; });
  std::vector<std::string> problems;
  auto value = read_field_text(*row, text, problems);
  if (!value) return problems.front();
  o.bootstrap_servers = std::get<std::vector<std::string>>(std::move(*value));
  return {};
}

// As in Kafka's own tools: a list with commas, blanks around the entries, empty ones left out.
std::string store_topic_list(std::vector<std::string>& list, std::string_view text) {
  while (true) {
    const auto comma = text.find(',');
    const auto entry = trimmed(text.substr(0, comma));
    if (!entry.empty()) {
      if (const auto problem = topic_entry_problem(entry); !problem.empty()) return fmt::format("'{}': {}", entry, problem);
      list.emplace_back(entry);
    }
    if (comma == std::string_view::npos) break;
    text.remove_prefix(comma + 1);
  }
  return list.empty() ? "names no topic" : std::string{};
}

std::string store_throttle(options& o, std::string_view text) {
  const auto bytes = parse_size(text);
  if (!bytes) return fmt::format("'{}': {}", text, bytes.error().context);
  if (*bytes < 1) return fmt::format("'{}': must be at least 1", text);
  o.throttle = *bytes;
  return {};
}

std::string store_path(std::string& path, std::string_view text) {
  path = text;
  return text.empty() ? "needs the name of a file" : std::string{};
}

std::string store_mirror(options& o, std::string_view text) {
  const std::string problem = mirror_name_problem(text);
  if (problem.empty()) o.mirror = text;
  return problem;
}

std::string store_timeout(options& o, std::string_view text) {
  std::int64_t seconds = 0;
  const auto [end, wrong] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  if (wrong != std::errc{} || end != text.data() + text.size() || seconds < 1 || seconds > 86'400) {
    return fmt::format("'{}': must be a number of seconds from 1 to 86400", text);
  }
  o.timeout = std::chrono::seconds(seconds);
  return {};
}

const option_row* find_option(std::string_view name) {
  const auto& rows = option_rows();
  const auto found = std::find_if(rows.begin(), rows.end(), [&](const option_row& r) { return r.name == name; });
  return found == rows.end() ? nullptr : &*found;
}

const action_row* find_action(std::string_view name) {
  const auto& rows = actions();
  const auto found = std::find_if(rows.begin(), rows.end(), [&](const action_row& r) { return r.name == name; });
  return found == rows.end() ? nullptr : &*found;
}

bool contains(const std::vector<std::string_view>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

std::vector<std::string> with_dashes(const std::vector<std::string_view>& names) {
  std::vector<std::string> texts;
  for (const auto name : names) texts.push_back(fmt::format("--{}", name));
  return texts;
}

std::string called(std::string_view name) {
  const auto* row = find_option(name);
  return row == nullptr || row->value.empty() ? fmt::format("--{}", name) : fmt::format("--{} {}", name, row->value);
}

std::string all_actions() {
  std::vector<std::string_view> names;
  for (const auto& row : actions()) names.push_back(row.name);
  return fmt::format("{}", fmt::join(with_dashes(names), ", "));
}

std::vector<po::option> split(const std::vector<std::string>& arguments) {
  po::options_description described;
  auto add = described.add_options();
  for (const auto& row : actions()) add(std::string(row.name).c_str(), "");
  for (const auto& row : option_rows()) {
    if (row.value.empty()) add(std::string(row.name).c_str(), "");
    else add(std::string(row.name).c_str(), po::value<std::string>(), "");
  }
  const int style = po::command_line_style::unix_style & ~po::command_line_style::allow_guessing & ~po::command_line_style::allow_short;
  try {
    return po::command_line_parser(arguments).options(described).style(style).run().options;
  } catch (const po::unknown_option& unknown) {
    std::string name = unknown.get_option_name();
    while (name.starts_with('-')) name.erase(0, 1);
    std::vector<std::string_view> known;
    for (const auto& row : actions()) known.push_back(row.name);
    for (const auto& row : option_rows()) known.push_back(row.name);
    const auto near = nearest_key(name, known);
    if (near.empty()) throw usage_error(fmt::format("unknown option --{} (see --help)", name));
    throw usage_error(fmt::format("unknown option --{}; did you mean --{}?", name, near));
  } catch (const po::error& wrong) {
    throw usage_error(fmt::format("{} (see --help)", wrong.what()));
  }
}

void check_rules(const action_row& chosen, const std::vector<std::string_view>& given) {
  for (const auto name : given) {
    if (contains(chosen.required, name) || contains(chosen.allowed, name)) continue;
    std::vector<std::string_view> takes = chosen.required;
    takes.insert(takes.end(), chosen.allowed.begin(), chosen.allowed.end());
    throw usage_error(fmt::format("--{} does not go with --{}, which takes {}", name, chosen.name, fmt::join(with_dashes(takes), ", ")));
  }
  for (const auto name : chosen.required) {
    if (!contains(given, name)) throw usage_error(fmt::format("--{} needs {}: {}", chosen.name, called(name), find_option(name)->doc));
  }
}

}  // namespace

const std::vector<option_row>& option_rows() {
  static const std::vector<option_row> rows = {
      {"bootstrap-server", "HOST:PORT", "brokers of the destination cluster, separated by commas", store_bootstrap_servers},
      {"command-config", "FILE", "properties file with the settings to log in to the destination",
       [](options& o, std::string_view text) { return store_path(o.command_config, text); }},
      {"source-config", "FILE", "properties file with bootstrap.servers of the source cluster and the settings to log in to it",
       [](options& o, std::string_view text) { return store_path(o.source_config, text); }},
      {"topics", "LIST", "topics, separated by commas: names, or RE2 patterns that match the full name",
       [](options& o, std::string_view text) { return store_topic_list(o.topics, text); }},
      {"exclude", "LIST", "topics to leave out, even if --topics has them",
       [](options& o, std::string_view text) { return store_topic_list(o.exclude, text); }},
      {"throttle", "BYTES", "most bytes to read in a second, over both clusters: 50MiB, 1000000",
       store_throttle},
      {"json", "", "write the result as one JSON document",
       [](options& o, std::string_view) { o.json = true; return std::string{}; }},
      {"mirror", "NAME", "the mirror, as it is called in the daemon's YAML file", store_mirror},
      {"failed", "", "only partitions that are FAILED, with the reason",
       [](options& o, std::string_view) { o.failed = true; return std::string{}; }},
      {"dry-run", "", "say what would be done, and do nothing",
       [](options& o, std::string_view) { o.dry_run = true; return std::string{}; }},
      {"yes", "", "do not ask whether it is meant",
       [](options& o, std::string_view) { o.yes = true; return std::string{}; }},
      {"wait", "", "wait until all partitions have come to the state that is asked for (as without it)",
       [](options& o, std::string_view) { o.wait = true; return std::string{}; }},
      {"no-wait", "", "end as soon as the wish is recorded",
       [](options& o, std::string_view) { o.wait = false; return std::string{}; }},
      {"timeout", "SECONDS", "how long to wait, 300 unless given",
       store_timeout},
  };
  return rows;
}

const std::vector<action_row>& actions() {
  static const std::vector<action_row> rows = {
      {action::verify, "verify", "compare topics of both clusters offset by offset; exit code 1 if anything differs",
       {"bootstrap-server", "source-config", "topics"}, {"command-config", "exclude", "throttle", "json"}},
      {action::list, "list", "list the mirrors of the daemons that work for the cluster",
       {"bootstrap-server"}, {"command-config", "mirror", "json"}},
      {action::describe, "describe", "show the partitions of mirrors, their offsets and states",
       {"bootstrap-server"}, {"command-config", "mirror", "topics", "exclude", "failed", "json"}},
      {action::pause, "pause", "stop copying topics for a while; they stay mirrored topics",
       {"bootstrap-server", "mirror", "topics"}, {"command-config", "exclude", "dry-run", "wait", "no-wait", "timeout", "json"}},
      {action::resume, "resume", "go on with paused topics where they stand",
       {"bootstrap-server", "mirror", "topics"}, {"command-config", "exclude", "dry-run", "wait", "no-wait", "timeout", "json"}},
      {action::recover, "recover", "try again at once what is FAILED",
       {"bootstrap-server", "mirror", "topics"}, {"command-config", "exclude", "dry-run", "json"}},
      {action::stop, "stop", "end the mirroring of topics for good, for a failover: they become ordinary topics that can be written to",
       {"bootstrap-server", "mirror", "topics"}, {"command-config", "exclude", "dry-run", "yes", "wait", "no-wait", "timeout", "json"}},
      {action::start, "start", "mirror topics again that were stopped, where nothing was written to them since, or anew once they are deleted",
       {"bootstrap-server", "mirror", "topics"}, {"command-config", "exclude", "dry-run", "wait", "no-wait", "timeout", "json"}},
      {action::dump_state, "dump-state", "print every record of __mirror_state, as it counts now",
       {"bootstrap-server"}, {"command-config"}},
      {action::version, "version", "print the version", {}, {}},
      {action::help, "help", "print this help", {}, {}},
  };
  return rows;
}

options parse_options(const std::vector<std::string>& arguments) {
  options parsed;
  const action_row* chosen = nullptr;
  std::vector<std::string_view> given;
  for (const po::option& argument : split(arguments)) {
    if (argument.string_key.empty()) {
      throw usage_error(fmt::format("'{}' stands alone; every value belongs to an option (see --help)", fmt::join(argument.value, " ")));
    }
    if (const auto* row = find_action(argument.string_key)) {
      if (row->what == action::help) return {};
      if (chosen != nullptr && chosen != row) throw usage_error(fmt::format("--{} and --{}: one action at a time", chosen->name, row->name));
      chosen = row;
      continue;
    }
    const option_row& row = *find_option(argument.string_key);
    if (contains(given, row.name)) throw usage_error(fmt::format("--{} is given twice", row.name));
    given.push_back(row.name);
    const std::string problem = row.store(parsed, argument.value.empty() ? std::string_view{} : argument.value.front());
    if (!problem.empty()) throw usage_error(fmt::format("--{}: {}", row.name, problem));
  }
  if (chosen == nullptr) throw usage_error(fmt::format("say what to do with one of {}", all_actions()));
  check_rules(*chosen, given);
  parsed.what = chosen->what;
  return parsed;
}

std::string usage_text() {
  std::string text = "kafka-mirror works on the mirrors of a destination cluster.\n\nActions, one at a time:\n";
  for (const auto& row : actions()) {
    text += fmt::format("  {:<24}{}\n", fmt::format("--{}", row.name), row.doc);
    std::string line;
    for (const auto name : row.required) line += fmt::format(" {}", called(name));
    for (const auto name : row.allowed) line += fmt::format(" [{}]", called(name));
    if (!line.empty()) text += fmt::format("      {}\n", line.substr(1));
  }
  text += "\nOptions:\n";
  for (const auto& row : option_rows()) text += fmt::format("  {:<30}{}\n", called(row.name), row.doc);
  text += "\nExit code: 0 done, 1 failed (for --verify: not the same, or not readable), 2 wrong command line or settings.\n";
  return text;
}

}  // namespace mirrord::cli
