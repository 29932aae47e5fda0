// The command line of kafka-mirrord.
#pragma once

#include <optional>
#include <string>

namespace mirrord {

enum class action { run, check_config, print_config, show_text };

struct options {
  action what = action::run;
  std::string config_path;
  std::string text;  // to print and then exit 0, for show_text
};

// Throws std::exception with a message for the user when the command line is wrong.
[[nodiscard]] options parse_options(int argc, char** argv);

}  // namespace mirrord
