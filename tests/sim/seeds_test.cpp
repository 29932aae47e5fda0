// The loop of one partition under random histories: 10,000 with orderly restarts only, 10,000
// with crashes, 10,000 with two daemons at once.
// MIRRORD_SIM_FIRST and MIRRORD_SIM_SEEDS choose others; MIRRORD_SIM_WILD_COMPACTION=1 and MIRRORD_SIM_VERY_LATE=1 add
// what the loop cannot always survive, where FAILED can be the right answer and a person must judge.
#include "tests/sim/sim_seed.hpp"

#include <catch2/catch.hpp>

#include <cstdlib>
#include <iostream>
#include <string>

namespace mirrord::sim {
namespace {

constexpr std::uint64_t traces_max = 3;

std::uint64_t number_from_environment(const char* name, std::uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text ? std::stoull(text) : otherwise;
}

std::string replay_command(std::uint64_t seed, const seed_options& options) {
  std::string command = "MIRRORD_SIM_FIRST=" + std::to_string(seed) + " MIRRORD_SIM_SEEDS=1";
  if (options.wild_compaction) command += " MIRRORD_SIM_WILD_COMPACTION=1";
  if (options.very_late) command += " MIRRORD_SIM_VERY_LATE=1";
  return command + " build/release/tests/sim '" + (options.two_owners ? "[owners]" : options.crashes ? "[crashes]" : "[seeds]") + "'";
}

void run_seeds(seed_options options) {
  const auto first = number_from_environment("MIRRORD_SIM_FIRST", 1);
  const auto seeds = number_from_environment("MIRRORD_SIM_SEEDS", 10'000);
  options.wild_compaction = number_from_environment("MIRRORD_SIM_WILD_COMPACTION", 0) != 0;
  options.very_late = number_from_environment("MIRRORD_SIM_VERY_LATE", 0) != 0;
  std::uint64_t failed = 0;
  seed_coverage seen;
  for (auto seed = first; seed < first + seeds; ++seed) {
    const auto result = run_seed(seed, options);
    for (const auto& [what, count] : result.seen) seen[what] += count;
    if (result.violation.empty()) continue;
    if (++failed <= traces_max) std::cerr << result.trace;
    std::cerr << "seed " << seed << ": " << result.violation << "\n  replay: " << replay_command(seed, options) << '\n';
  }
  std::string summary = std::to_string(seeds) + " seeds";
  for (const auto& [what, count] : seen) summary += ", " + std::to_string(count) + " " + what;
  std::cout << summary << '\n';
  INFO(failed << " of " << seeds << " seeds failed");
  CHECK(failed == 0);
}

TEST_CASE("the destination stays equal to the source through random histories", "[seeds]") { run_seeds({}); }

TEST_CASE("the destination stays equal to the source though the daemon crashes", "[crashes]") {
  seed_options options;
  options.crashes = true;
  run_seeds(options);
}

TEST_CASE("two owners at once leave the destination equal, or FAILED loudly", "[owners]") {
  seed_options options;
  options.two_owners = true;
  run_seeds(options);
}

}  // namespace
}  // namespace mirrord::sim
