#include "core/log_difference.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace mirrord::core {
namespace {

constexpr std::size_t shown_bytes_max = 48;
constexpr std::size_t shown_before_difference = 12;
constexpr std::size_t shown_headers_max = 400;  // characters

std::string show(std::optional<wire::bytes_view> bytes, std::size_t from) {
  if (!bytes) return "null";
  const auto shown = bytes->subspan(std::min(from, bytes->size()));
  std::string text = from > 0 ? "\"..." : "\"";
  for (const std::byte b : shown.first(std::min(shown.size(), shown_bytes_max))) {
    const auto c = static_cast<unsigned char>(b);
    if (c < 0x20 || c > 0x7e) text += fmt::format("\\x{:02x}", c);
    else if (c == '"' || c == '\\') text += fmt::format("\\{}", static_cast<char>(c));
    else text += static_cast<char>(c);
  }
  const bool cut = shown.size() > shown_bytes_max;
  text += cut ? "...\"" : "\"";
  if (cut || from > 0) text += fmt::format(" ({} bytes{})", bytes->size(), from > 0 ? fmt::format(", shown from byte {}", from) : "");
  return text;
}

}  // namespace

std::string_view name(difference_kind kind) noexcept {
  switch (kind) {
    case difference_kind::record: return "record";
    case difference_kind::key: return "key";
    case difference_kind::value: return "value";
    case difference_kind::headers: return "headers";
    case difference_kind::timestamp: return "timestamp";
    case difference_kind::transaction: return "transaction";
    case difference_kind::outcome: return "outcome";
    case difference_kind::marker: return "marker";
    case difference_kind::log_start: return "log_start";
    case difference_kind::log_end: return "log_end";
    case difference_kind::last_stable_offset: return "last_stable_offset";
  }
  return "";
}

std::pair<std::string, std::string> show_both(std::optional<wire::bytes_view> source, std::optional<wire::bytes_view> destination) {
  std::size_t from = 0;
  if (source && destination && std::max(source->size(), destination->size()) > shown_bytes_max) {
    const auto differ = std::mismatch(source->begin(), source->end(), destination->begin(), destination->end());
    const auto at = static_cast<std::size_t>(differ.first - source->begin());
    if (at > shown_bytes_max / 2) from = at - shown_before_difference;
  }
  return {show(source, from), show(destination, from)};
}

std::string show_record(const wire::record_view& record) { return fmt::format("key {}, value {}", show(record.key, 0), show(record.value, 0)); }

std::string show_headers(const wire::record_view& record) {
  std::string text;
  for (const auto& header : wire::headers_of(record)) {
    if (!text.empty()) text += ", ";
    text += fmt::format("{}={}", show(header.key, 0), show(header.value, 0));
    if (text.size() > shown_headers_max) return fmt::format("[{}, ...] ({} headers)", text, record.header_count);
  }
  return fmt::format("[{}]", text);
}

}  // namespace mirrord::core
