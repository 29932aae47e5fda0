#include "app.hpp"
#include "base/log.hpp"
#include "options.hpp"
#include "settings/settings.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <exception>

namespace {

// 0: ended in order. 1: a failure. 2: a wrong command line or configuration.
int run(int argc, char** argv) {
  mirrord::options options;
  try {
    options = mirrord::parse_options(argc, argv);
  } catch (const std::exception& wrong) {
    fmt::print(stderr, "kafka-mirrord: {}\n", wrong.what());
    return 2;
  }
  if (options.what == mirrord::action::show_text) {
    fmt::print("{}", options.text);
    return 0;
  }
  auto loaded = mirrord::load_config(options.config_path);
  if (!loaded) {
    fmt::print(stderr, "{}\n", loaded.error().message());
    return options.what == mirrord::action::check_config ? 1 : 2;
  }
  if (options.what == mirrord::action::check_config) {
    fmt::print("{}: right, {} mirror(s)\n", options.config_path, loaded->mirrors.size());
    return 0;
  }
  if (options.what == mirrord::action::print_config) {
    fmt::print("{}", mirrord::print_config(*loaded));
    return 0;
  }
  mirrord::log::start(loaded->log_level);
  return mirrord::app(std::move(*loaded)).run();
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const std::exception& failure) {
    fmt::print(stderr, "kafka-mirrord: {}\n", failure.what());
    return 1;
  }
}
