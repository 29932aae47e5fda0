// Random histories of one partition, for a real broker and the simulated one alike: what clients and coordinators may
// ask of a leader, the right, the repeated and the wrong.
//
// The next operation is drawn from what the simulated log holds, so that "the sequence after the last" and "one of the
// last five batches" mean something; everything follows from the seed.
#pragma once

#include "mirror/ports.hpp"
#include "tests/sim/batch_bytes.hpp"
#include "tests/sim/sim_random.hpp"
#include "tests/sim/simulated_log.hpp"

#include <map>
#include <string>
#include <vector>

namespace mirrord::sim {

struct operation {
  enum class kind : std::uint8_t { produce, mark, trim };
  kind what = kind::produce;
  std::vector<std::byte> batch;  // of produce: all that the request has for the partition
  bool transactional = false;    // the request carries a transactional id
  std::vector<mirror::end_marker> markers;
  std::int64_t offset = 0;  // of trim
  std::string text;         // for a person
};

struct operation_outcome {
  std::int16_t code = 0;                                    // of produce and trim
  std::int64_t base_offset = -1;                            // of produce
  std::map<std::int64_t, std::int16_t> code_of_producer{};  // of mark
  friend bool operator==(const operation_outcome&, const operation_outcome&) = default;
};

// What can be asked about a partition from outside.
struct observation {
  struct producer {
    std::int16_t epoch = -1;
    std::int32_t last_sequence = -1;
    std::int32_t coordinator_epoch = -1;
    std::int64_t open_since = -1;
    std::int64_t last_timestamp = -1;  // history::marker_time where a marker set it
    friend bool operator==(const producer&, const producer&) = default;
  };

  std::int64_t start = 0;
  std::int64_t end = 0;
  std::int64_t high_watermark = 0;
  std::int64_t last_stable = 0;
  std::map<std::int64_t, producer> producers{};
  friend bool operator==(const observation&, const observation&) = default;
};

[[nodiscard]] operation sending(const batch_spec& spec, std::string text);

[[nodiscard]] std::string describe(const operation_outcome& outcome);
[[nodiscard]] std::string describe(const observation& seen);

class history {
 public:
  // Times of records are up to an hour before `now_ms`.
  history(std::uint64_t seed, log_settings settings, std::int64_t now_ms);

  [[nodiscard]] operation next();
  operation_outcome apply(const operation& what);  // to the simulated log
  [[nodiscard]] observation observe() const;
  // An expiry pass. A marker counts as written at `now_ms`.
  void expire_producers(std::int64_t now_ms);

  static constexpr std::int64_t marker_time = 1;  // no record has it

 private:
  struct producer {
    std::int64_t pid = 0;
    std::vector<batch_spec> sent{};  // all that was appended
  };

  [[nodiscard]] operation produce();
  [[nodiscard]] operation odd_produce();
  [[nodiscard]] operation mark();
  [[nodiscard]] operation trim();
  [[nodiscard]] batch_spec records(std::int64_t most);
  [[nodiscard]] producer& any_producer();
  [[nodiscard]] const producer_entry* known(std::int64_t pid) const;
  [[nodiscard]] std::int16_t epoch_near(std::int64_t pid);

  sim_random random_;
  std::int64_t now_ms_;
  simulated_log log_;
  std::vector<producer> producers_;
};

}  // namespace mirrord::sim
