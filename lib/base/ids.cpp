#include "base/ids.hpp"

namespace mirrord {
namespace {
constexpr std::string_view alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
constexpr std::size_t text_length = 22;  // 128 bits in 6-bit digits; the last digit carries only two bits
}  // namespace

std::string topic_id::text() const {
  std::string out;
  out.reserve(text_length);
  std::uint32_t bits = 0;
  int have = 0;
  for (const std::uint8_t byte : bytes) {
    bits = bits << 8 | byte;
    have += 8;
    while (have >= 6) {
      have -= 6;
      out += alphabet[bits >> have & 63];
    }
  }
  out += alphabet[bits << (6 - have) & 63];
  return out;
}

std::optional<topic_id> topic_id::parse(std::string_view text) {
  if (text.size() != text_length) return std::nullopt;
  topic_id id;
  std::uint32_t bits = 0;
  int have = 0;
  std::size_t next = 0;
  for (const char c : text) {
    const auto digit = alphabet.find(c);
    if (digit == std::string_view::npos) return std::nullopt;
    bits = bits << 6 | static_cast<std::uint32_t>(digit);
    have += 6;
    if (have >= 8) {
      have -= 8;
      id.bytes[next++] = static_cast<std::uint8_t>(bits >> have);
    }
  }
  if ((bits & 15) != 0) return std::nullopt;  // bits beyond the 128th must be zero, so that the text is unique
  return id;
}

}  // namespace mirrord
