// What must stand at each offset of the destination, said offset by offset, and what a plan puts there.
//
// expected_log() knows nothing of batches, runs or limits: one source offset, one occupant. laid_out() reads a plan as
// the destination's broker would: every batch under the header that is sent, its checksum verified.
#pragma once

#include "core/write_plan.hpp"
#include "tests/unit/core/source_batch.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace mirrord::core_tests {

enum class occupant_kind : std::uint8_t { filler, abort, commit, data };

struct occupant {
  occupant_kind kind = occupant_kind::filler;
  core::slot_index producer = core::writer_index;
  source_record record;  // with the timestamp that a consumer sees
  friend bool operator==(const occupant&, const occupant&) = default;
};

using log_contents = std::map<std::int64_t, occupant>;
using open_slots = std::map<std::int64_t, core::open_transaction>;  // by source producer id

struct expected_log {
  log_contents contents;
  open_slots open;  // at the end
};

// `open`: transactions already open at `start`. Every offset of [start, end of the last batch) gets its occupant.
[[nodiscard]] expected_log expect(const std::vector<source_batch>& source, std::int64_t start, open_slots open = {});

// Checks what holds for every plan (contiguous from `start` on; batches dense, magic 2, create time, within the limit,
// transactional exactly in slots) and throws where one does not.
[[nodiscard]] log_contents laid_out(const std::vector<core::planned_write>& plan, std::int64_t start, std::size_t batch_bytes_max);

// The first offset at which they differ, with both occupants; empty when they are equal.
[[nodiscard]] std::string first_difference(const log_contents& found, const log_contents& expected);

// The plan in one line: "filler[8,10) slot0[10,14) writer*[14,16) commit0@16"; a star marks a batch that was built anew.
[[nodiscard]] std::string text(const std::vector<core::planned_write>& plan);

[[nodiscard]] core::producer_slots slots_of(const open_slots& open);
[[nodiscard]] open_slots open_in(const core::producer_slots& slots);
[[nodiscard]] bool same(const open_slots& a, const open_slots& b);

inline constexpr core::plan_limits no_limits{std::int64_t{1} << 40, std::size_t{1} << 30};

// The plan of all batches of the log from `position` on, in one line, or "error <errc>".
[[nodiscard]] std::string planned(const stored_log& source, std::int64_t position, const open_slots& open = {}, core::plan_limits limits = no_limits);

}  // namespace mirrord::core_tests
