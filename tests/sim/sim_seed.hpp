// One seed: a random source, a random destination, a mirror in between and what befalls them, up to the final
// comparison. Everything that happens follows from the seed and the options.
#pragma once

#include <cstdint>
#include <string>

namespace mirrord::sim {

struct seed_options {
  bool crashes = false;          // the daemon dies without a word
  bool wild_compaction = false;  // transactions under way here lose data and markers on the source
};

struct seed_result {
  std::string violation;  // empty: all held
  std::string trace;
  std::int64_t offsets = 0;
};

[[nodiscard]] seed_result run_seed(std::uint64_t seed, const seed_options& options);

}  // namespace mirrord::sim
