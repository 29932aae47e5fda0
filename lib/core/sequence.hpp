// Producer sequence numbers: 31 bits that wrap to 0 (Kafka's DefaultRecordBatch.incrementSequence).
#pragma once

#include <cstdint>

namespace mirrord::core {

[[nodiscard]] constexpr std::int32_t sequence_after(std::int32_t sequence, std::int32_t records) noexcept {
  return static_cast<std::int32_t>((static_cast<std::uint32_t>(sequence) + static_cast<std::uint32_t>(records)) & 0x7fff'ffffu);
}

}  // namespace mirrord::core
