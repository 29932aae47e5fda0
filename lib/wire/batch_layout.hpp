// Where the fields of a batch of magic 2 stand, for the files that read, patch and write headers.
// Base offset, length and magic are at the same places in every magic.
#pragma once

#include <cstddef>
#include <cstdint>

namespace mirrord::wire::batch_layout {

inline constexpr std::size_t base_offset = 0;
inline constexpr std::size_t batch_length = 8;
inline constexpr std::size_t length_prefix_bytes = 12;  // what batch_length does not count
inline constexpr std::size_t partition_leader_epoch = 12;
inline constexpr std::size_t magic = 16;
inline constexpr std::size_t crc = 17;
inline constexpr std::size_t attributes = 21;  // the CRC covers everything from here on
inline constexpr std::size_t last_offset_delta = 23;
inline constexpr std::size_t base_timestamp = 27;
inline constexpr std::size_t max_timestamp = 35;
inline constexpr std::size_t producer_id = 43;
inline constexpr std::size_t producer_epoch = 51;
inline constexpr std::size_t base_sequence = 53;
inline constexpr std::size_t record_count = 57;

inline constexpr std::int16_t append_time_bit = 0x08;
inline constexpr std::int16_t transactional_bit = 0x10;
inline constexpr std::int16_t control_bit = 0x20;
inline constexpr std::int16_t delete_horizon_bit = 0x40;

}  // namespace mirrord::wire::batch_layout
