#include "control.hpp"
#include "dump_state.hpp"
#include "options.hpp"
#include "verify.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <exception>

namespace {

int run(const std::vector<std::string>& arguments) {
  using mirrord::cli::action;
  const auto options = mirrord::cli::parse_options(arguments);
  switch (options.what) {
    case action::help: fmt::print("{}", mirrord::cli::usage_text()); return 0;
    case action::version: fmt::print("kafka-mirror {}\n", MIRRORD_VERSION); return 0;
    case action::verify: return mirrord::cli::verify(options);
    case action::start:
    case action::stop:
    case action::pause:
    case action::resume:
    case action::recover:
    case action::list:
    case action::describe: return mirrord::cli::control(options);
    case action::dump_state: return mirrord::cli::dump_state(options);
  }
  return 2;
}

}  // namespace

// 0: done. 1: a failure. 2: a wrong command line or wrong settings.
int main(int argc, char** argv) {
  try {
    return run({argv + 1, argv + argc});
  } catch (const mirrord::cli::usage_error& wrong) {
    fmt::print(stderr, "kafka-mirror: {}\n", wrong.what());
    return 2;
  } catch (const std::exception& failure) {
    fmt::print(stderr, "kafka-mirror: {}\n", failure.what());
    return 1;
  }
}
