// One seed: a random source, a random destination, a mirror in between and what befalls them, up to the final
// comparison. Everything that happens follows from the seed and the options.
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace mirrord::sim {

struct seed_options {
  bool crashes = false;          // the daemon dies without a word
  bool two_owners = false;       // a second daemon starts while the first still believes that it owns the partition
  bool wild_compaction = false;  // transactions under way here lose data and markers on the source
  bool very_late = false;        // requests arrive after a settle has ended: only fencing is left
};

// How much happened, by name: a green run in which nothing happens proves nothing.
using seed_coverage = std::map<std::string, std::int64_t>;

struct seed_result {
  std::string violation;  // empty: all held
  std::string trace;
  seed_coverage seen;
};

[[nodiscard]] seed_result run_seed(std::uint64_t seed, const seed_options& options);

}  // namespace mirrord::sim
