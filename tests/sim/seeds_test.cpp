// The loop of one partition under 1,000 random histories; MIRRORD_SIM_SEEDS and MIRRORD_SIM_FIRST choose others.
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

TEST_CASE("the destination stays equal to the source through random histories", "[seeds]") {
  const auto first = number_from_environment("MIRRORD_SIM_FIRST", 1);
  const auto seeds = number_from_environment("MIRRORD_SIM_SEEDS", 1'000);
  seed_options options;
  options.crashes = number_from_environment("MIRRORD_SIM_CRASHES", 0) != 0;
  options.wild_compaction = number_from_environment("MIRRORD_SIM_WILD_COMPACTION", 0) != 0;
  options.very_late = number_from_environment("MIRRORD_SIM_VERY_LATE", 0) != 0;
  std::uint64_t failed = 0;
  seed_coverage seen;
  for (auto seed = first; seed < first + seeds; ++seed) {
    const auto result = run_seed(seed, options);
    seen += result.seen;
    if (result.violation.empty()) continue;
    if (++failed <= traces_max) std::cerr << result.trace;
    std::cerr << "seed " << seed << ": " << result.violation << "\n  replay: MIRRORD_SIM_FIRST=" << seed << " MIRRORD_SIM_SEEDS=1"
              << (options.crashes ? " MIRRORD_SIM_CRASHES=1" : "") << (options.wild_compaction ? " MIRRORD_SIM_WILD_COMPACTION=1" : "")
              << (options.very_late ? " MIRRORD_SIM_VERY_LATE=1" : "")
              << " build/release/tests/sim '[seeds]'\n";
  }
  INFO(failed << " of " << seeds << " seeds failed");
  CHECK(failed == 0);
  std::cout << seeds << " seeds: " << seen.offsets << " offsets, " << seen.forwarded << " batches forwarded, " << seen.reencoded
            << " re-encoded, " << seen.filler << " offsets filled, " << seen.daemons << " daemons, " << seen.leader_moves
            << " leader moves, " << seen.failed_rounds << " rounds failed\n";
}

}  // namespace
}  // namespace mirrord::sim
