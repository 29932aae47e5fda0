// The command line of kafka-mirror: which actions there are, and which options go with each, as one table that parsing,
// the usage text and the tests read.
//
// A new action is a row in actions() and a function in main.cpp; a new option a row in option_rows() and a member.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace mirrord::cli {

enum class action : std::uint8_t { help, version, verify, start, stop, pause, resume, recover, list, describe, dump_state };

struct options {
  action what = action::help;
  std::vector<std::string> bootstrap_servers;  // of the destination
  std::string command_config;                  // empty: none
  std::string source_config;
  std::vector<std::string> topics;   // names or patterns
  std::vector<std::string> exclude;
  std::int64_t throttle = 0;         // bytes per second; 0: as fast as it goes
  std::string mirror;                // empty: all
  std::chrono::seconds timeout{300};
  bool json = false;
  bool dry_run = false;
  bool yes = false;
  bool failed = false;
  bool wait = true;
};

struct option_row {
  std::string_view name;   // without its dashes
  std::string_view value;  // what the usage text calls its value; empty: a flag
  std::string_view doc;
  std::string (*store)(options&, std::string_view text) = nullptr;  // says what is wrong with the value, or nothing
};

struct action_row {
  action what = action::help;
  std::string_view name;
  std::string_view doc;
  std::vector<std::string_view> required;
  std::vector<std::string_view> allowed;
};

[[nodiscard]] const std::vector<option_row>& option_rows();
[[nodiscard]] const std::vector<action_row>& actions();

// The command line is wrong; the text says what to do.
struct usage_error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Throws usage_error. `arguments` are without the program's name.
[[nodiscard]] options parse_options(const std::vector<std::string>& arguments);

[[nodiscard]] std::string usage_text();

}  // namespace mirrord::cli
