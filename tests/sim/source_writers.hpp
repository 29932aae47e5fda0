// Everything that happens to a source partition while it is mirrored: producers of all kinds, the cleaner, retention.
// One act() is one random thing; which things there are is drawn per seed (writers_profile).
#pragma once

#include "tests/sim/simulated_source.hpp"

#include <functional>
#include <map>
#include <vector>

namespace mirrord::sim {

struct writers_profile {
  std::int64_t transactional_producers = 3;
  bool raises_epochs = false;    // each transaction under its own epoch (transaction version 2)
  bool compresses = false;
  bool append_times = false;
  double old_batches = 0.05;     // with records of two days ago and older: their producers are forgotten at any moment
  bool compacts = false;
  bool deletes = true;           // DeleteRecords and retention
  bool overruns = false;         // retention passes the mirror
  bool keeps_open_transactions = false;  // the log start stays below transactions that the mirror has open
  bool odd_controls = true;      // lone markers, control batches of other types
  bool wild_compaction = false;  // also transactions that the mirror is in the middle of
  std::chrono::milliseconds marker_retention{300};  // delete.retention.ms: a marker outlives its data by it
  std::int64_t records_max = 6;
  std::int64_t value_bytes_max = 60;

  [[nodiscard]] static writers_profile draw(sim_random& random);
};

class source_writers {
 public:
  // `mirrored` tells the offset up to which the destination has the source's log, -1 before the mirror exists;
  // `first_open` where the oldest transaction that is open there begins, or its log end.
  source_writers(sim_clock& clock, sim_random random, simulated_source& source, writers_profile profile,
                 std::function<std::int64_t()> mirrored, std::function<std::int64_t()> first_open);

  void act();
  void end_open_transactions();
  [[nodiscard]] const writers_profile& profile() const noexcept { return profile_; }

 private:
  struct producer {
    std::int64_t pid;
    std::int16_t epoch = 0;
    std::int32_t sequence = 0;
    std::optional<std::int64_t> open_since = std::nullopt;
  };

  [[nodiscard]] batch_spec random_batch();
  [[nodiscard]] record_spec random_record();
  void write_plain();
  void write_transactional();
  void end_one(producer& of);
  void write_odd_control();
  void clean();
  void clean_batch(std::int64_t base_offset);
  void move_start();
  [[nodiscard]] bool may_touch(const log_transaction& transaction) const;
  [[nodiscard]] bool has_data(const log_transaction& transaction) const;
  [[nodiscard]] bool outlived_retention(std::int64_t marker);
  void send(producer& by, batch_spec batch);

  sim_clock& clock_;
  sim_random random_;
  simulated_source& source_;
  writers_profile profile_;
  std::function<std::int64_t()> mirrored_;
  std::function<std::int64_t()> first_open_;
  producer idempotent_{100};
  std::vector<producer> transactional_;
  std::map<std::int64_t, sim_clock::duration> dataless_since_;  // by offset of the end marker: when the cleaner noticed
};

}  // namespace mirrord::sim
