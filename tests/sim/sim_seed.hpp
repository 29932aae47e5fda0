// One seed: a random source, a random destination, a mirror in between and what befalls them, up to the final
// comparison. Everything that happens follows from the seed and the options.
#pragma once

#include <cstdint>
#include <string>

namespace mirrord::sim {

struct seed_options {
  bool crashes = false;          // the daemon dies without a word
  bool wild_compaction = false;  // transactions under way here lose data and markers on the source
  bool very_late = false;        // requests arrive after a settle has ended: only fencing is left
};

// How much happened: a green run in which nothing happens proves nothing.
struct seed_coverage {
  std::int64_t offsets = 0;
  std::int64_t forwarded = 0;  // batches
  std::int64_t reencoded = 0;
  std::int64_t filler = 0;     // offsets
  std::int64_t leader_moves = 0;
  std::int64_t daemons = 0;
  std::int64_t failed_rounds = 0;

  seed_coverage& operator+=(const seed_coverage& other);
};

struct seed_result {
  std::string violation;  // empty: all held
  std::string trace;
  seed_coverage seen;
};

[[nodiscard]] seed_result run_seed(std::uint64_t seed, const seed_options& options);

}  // namespace mirrord::sim
