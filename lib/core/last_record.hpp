// What stands at one offset of both logs: whether the destination's can be a copy of the source's.
//
// The last offset of a log whose writer ended without order: if somebody else has written to it since, the last record is
// not the source's. Pure.
#pragma once

#include "base/error.hpp"
#include "wire/record_batch.hpp"

#include <cstdint>
#include <span>
#include <string>

namespace mirrord::core {

// Empty where they can be the same; otherwise what differs, in words. A record that compaction has removed on one side
// tells nothing. `records` are stored batches from the one that holds the offset on.
[[nodiscard]] result<std::string> compare_at(std::int64_t offset, std::span<const std::byte> source_records,
                                             std::span<const std::byte> destination_records);

}  // namespace mirrord::core
