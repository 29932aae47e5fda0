// Strong types for numbers that look alike and must never meet: a source producer id is not a destination one, and
// the leader epochs of two clusters are unrelated. Offsets are plain std::int64_t: they are the same number on both
// sides, which is what this program is for.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace mirrord {

template <class Tag, class Rep>
struct strong_id {
  using rep = Rep;
  Rep value{};
  friend auto operator<=>(const strong_id&, const strong_id&) = default;
};

using source_pid = strong_id<struct source_pid_tag, std::int64_t>;            // producer id as found in the source log
using destination_pid = strong_id<struct destination_pid_tag, std::int64_t>;  // producer id of our pool
using source_epoch = strong_id<struct source_epoch_tag, std::int32_t>;        // leader epoch on the source
using destination_epoch = strong_id<struct destination_epoch_tag, std::int32_t>;
using broker_id = strong_id<struct broker_id_tag, std::int32_t>;

// Kafka's 16-byte topic id (KIP-516); all zero means "none" (brokers before 2.8).
struct topic_id {
  std::array<std::uint8_t, 16> bytes{};
  friend auto operator<=>(const topic_id&, const topic_id&) = default;
  [[nodiscard]] bool is_zero() const noexcept { return *this == topic_id{}; }
  // Kafka's text form: URL-safe base64 without padding, 22 characters.
  [[nodiscard]] std::string text() const;
  [[nodiscard]] static std::optional<topic_id> parse(std::string_view text);
};

struct topic_partition {
  std::string topic;
  std::int32_t partition = 0;
  friend auto operator<=>(const topic_partition&, const topic_partition&) = default;
  // "orders-3", as Kafka's tools print it.
  [[nodiscard]] std::string text() const { return topic + '-' + std::to_string(partition); }
};

}  // namespace mirrord

template <class Tag, class Rep>
struct std::hash<mirrord::strong_id<Tag, Rep>> {
  std::size_t operator()(const mirrord::strong_id<Tag, Rep>& id) const noexcept { return std::hash<Rep>{}(id.value); }
};

template <>
struct std::hash<mirrord::topic_partition> {
  std::size_t operator()(const mirrord::topic_partition& tp) const noexcept {
    return std::hash<std::string>{}(tp.topic) * 31 + static_cast<std::size_t>(tp.partition);
  }
};
