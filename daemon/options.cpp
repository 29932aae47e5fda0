#include "options.hpp"

#include <boost/program_options.hpp>
#include <fmt/format.h>

#include <sstream>
#include <stdexcept>

namespace mirrord {

options parse_options(int argc, char** argv) {
  namespace po = boost::program_options;
  options parsed;
  po::options_description described("Options", 100);
  described.add_options()
      ("config", po::value<std::string>(&parsed.config_path)->value_name("FILE"), "YAML configuration (see config/kafka-mirrord.yaml)")
      ("check-config", "check the configuration and exit: 0 when it is right, 1 with every problem when it is not")
      ("print-config", "print the configuration with all defaults, secrets hidden, and exit")
      ("version", "print the version and exit")
      ("help", "print this help and exit");
  po::variables_map given;
  po::store(po::parse_command_line(argc, argv, described), given);
  po::notify(given);

  if (given.count("help")) {
    std::ostringstream help;
    help << "kafka-mirrord mirrors Kafka topics into another cluster with identical offsets.\n\n"
         << "Usage: kafka-mirrord --config FILE [--check-config | --print-config]\n\n" << described
         << "\nSIGTERM and SIGINT end it in order within 10 seconds; a second signal ends it at once.\n";
    parsed.what = action::show_text;
    parsed.text = help.str();
    return parsed;
  }
  if (given.count("version")) {
    parsed.what = action::show_text;
    parsed.text = fmt::format("kafka-mirrord {}\n", MIRRORD_VERSION);
    return parsed;
  }
  if (parsed.config_path.empty()) throw std::runtime_error("--config FILE is required (see --help)");
  if (given.count("check-config")) parsed.what = action::check_config;
  if (given.count("print-config")) parsed.what = action::print_config;
  return parsed;
}

}  // namespace mirrord
