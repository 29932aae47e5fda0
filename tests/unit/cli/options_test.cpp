// The command line: every rule of the table, and what a user reads when it is broken.
#include "cli/options.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <map>

using namespace mirrord::cli;

namespace {

using arguments = std::vector<std::string>;

// A value that each option takes.
const std::map<std::string_view, std::string> good_values = {
    {"bootstrap-server", "a:1"}, {"command-config", "/c"}, {"source-config", "/s"}, {"topics", "orders"}, {"exclude", "x"}, {"throttle", "1MiB"},
    {"mirror", "m"}, {"timeout", "20"},
};

void append(arguments& list, std::string_view name) {
  list.push_back("--" + std::string(name));
  if (const auto value = good_values.find(name); value != good_values.end()) list.push_back(value->second);
}

arguments with_required(const action_row& row) {
  arguments list{"--" + std::string(row.name)};
  for (const auto name : row.required) append(list, name);
  return list;
}

std::string refusal(const arguments& list) {
  try {
    (void)parse_options(list);
  } catch (const usage_error& wrong) {
    return wrong.what();
  }
  return "(accepted)";
}

const arguments verify = {"--verify", "--bootstrap-server", "a:1", "--source-config", "/s", "--topics", "orders"};

arguments verify_with(const arguments& more) {
  arguments list = verify;
  list.insert(list.end(), more.begin(), more.end());
  return list;
}

}  // namespace

TEST_CASE("every option of the table goes with the actions that name it and with no other") {
  for (const auto& action : actions()) {
    if (action.what == action::help) continue;
    INFO("--" << action.name);
    CHECK(refusal(with_required(action)) == "(accepted)");
    CHECK(parse_options(with_required(action)).what == action.what);
    for (const auto& option : option_rows()) {
      INFO("--" << option.name);
      const auto is_in = [&](const auto& list) { return std::find(list.begin(), list.end(), option.name) != list.end(); };
      if (is_in(action.required)) {
        arguments list{"--" + std::string(action.name)};
        for (const auto name : action.required) {
          if (name != option.name) append(list, name);
        }
        CHECK_THAT(refusal(list), Catch::StartsWith("--" + std::string(action.name) + " needs --" + std::string(option.name)));
      } else {
        arguments list = with_required(action);
        append(list, option.name);
        if (is_in(action.allowed)) CHECK(refusal(list) == "(accepted)");
        else CHECK_THAT(refusal(list), Catch::StartsWith("--" + std::string(option.name) + " does not go with --" + std::string(action.name)));
      }
    }
  }
}

TEST_CASE("the rules name only options that exist, and every option belongs to an action") {
  for (const auto& action : actions()) {
    for (const auto* list : {&action.required, &action.allowed}) {
      for (const auto name : *list) {
        INFO(name);
        CHECK(std::any_of(option_rows().begin(), option_rows().end(), [&](const auto& row) { return row.name == name; }));
      }
    }
  }
  for (const auto& option : option_rows()) {
    INFO(option.name);
    CHECK(std::any_of(actions().begin(), actions().end(), [&](const auto& row) {
      return std::count(row.required.begin(), row.required.end(), option.name) + std::count(row.allowed.begin(), row.allowed.end(), option.name) == 1;
    }));
  }
}

TEST_CASE("the usage text has every action and option") {
  for (const auto& row : actions()) CHECK_THAT(usage_text(), Catch::Contains("\n  --" + std::string(row.name)));
  for (const auto& row : option_rows()) CHECK_THAT(usage_text(), Catch::Contains("\n  --" + std::string(row.name)));
}

TEST_CASE("values") {
  const auto o = parse_options({"--verify", "--bootstrap-server", "a:1, [::1]:2", "--source-config", "/s", "--topics=a, b.*,,  ", "--exclude", "b.x",
                                "--throttle", "2KiB", "--json", "--command-config=/c"});
  CHECK(o.what == action::verify);
  CHECK(o.bootstrap_servers == std::vector<std::string>{"a:1", "[::1]:2"});
  CHECK(o.command_config == "/c");
  CHECK(o.source_config == "/s");
  CHECK(o.topics == std::vector<std::string>{"a", "b.*"});
  CHECK(o.exclude == std::vector<std::string>{"b.x"});
  CHECK(o.throttle == 2048);
  CHECK(o.json);
  CHECK(parse_options(verify).throttle == 0);
  CHECK_FALSE(parse_options(verify).json);
}

TEST_CASE("wrong values are told with their option") {
  CHECK(refusal({"--verify", "--bootstrap-server", "a", "--source-config", "/s", "--topics", "x"}) ==
        "--bootstrap-server: 'a': must be host:port, or [address]:port for IPv6");
  CHECK(refusal({"--verify", "--bootstrap-server", "a:1", "--source-config", "/s", "--topics", " , "}) == "--topics: names no topic");
  CHECK_THAT(refusal({"--verify", "--bootstrap-server", "a:1", "--source-config", "/s", "--topics", "a("}), Catch::StartsWith("--topics: 'a(': not an RE2 pattern"));
  CHECK(refusal(verify_with({"--throttle", "0"})) == "--throttle: '0': must be at least 1");
  CHECK_THAT(refusal(verify_with({"--throttle", "10MB"})), Catch::StartsWith("--throttle: '10MB': unknown unit"));
  CHECK(refusal(verify_with({"--command-config", ""})) == "--command-config: needs the name of a file");
}

TEST_CASE("what is not an option") {
  CHECK_THAT(refusal({}), Catch::StartsWith("say what to do with one of --verify"));
  CHECK_THAT(refusal({"--topics", "a"}), Catch::StartsWith("say what to do with one of --verify"));
  CHECK(refusal({"--verfy"}) == "unknown option --verfy; did you mean --verify?");
  CHECK(refusal({"--zzzzzzzzzzzzzzzz"}) == "unknown option --zzzzzzzzzzzzzzzz (see --help)");
  CHECK(refusal({"--topic", "a"}) == "unknown option --topic; did you mean --topics?");
  CHECK(refusal({"--verify", "orders"}) == "'orders' stands alone; every value belongs to an option (see --help)");
  CHECK(refusal(verify_with({"--topics", "b"})) == "--topics is given twice");
  CHECK(refusal({"--verify", "--version"}) == "--verify and --version: one action at a time");
  CHECK_THAT(refusal({"--verify", "--topics"}), Catch::Contains("topics") && Catch::Contains("(see --help)"));
}

TEST_CASE("--help wins over everything that is right") {
  CHECK(parse_options({"--help"}).what == action::help);
  CHECK(parse_options({"--verify", "--help"}).what == action::help);
}
