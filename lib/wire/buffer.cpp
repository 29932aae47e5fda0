#include "wire/buffer.hpp"

#include "base/check.hpp"

#include <fmt/format.h>

#include <limits>

namespace mirrord::wire {
namespace {
constexpr std::size_t length_prefix = 4;
}

std::size_t encoded_frame::total() const noexcept {
  std::size_t n = bytes.size();
  for (const borrowed_bytes& b : borrowed) n += b.data.size();
  return n;
}

std::vector<std::span<const std::byte>> encoded_frame::gather() const {
  std::vector<std::span<const std::byte>> spans;
  spans.reserve(borrowed.size() * 2 + 1);
  const std::span<const std::byte> own(bytes);
  std::size_t sent = 0;
  for (const borrowed_bytes& b : borrowed) {
    if (b.at > sent) spans.push_back(own.subspan(sent, b.at - sent));
    if (!b.data.empty()) spans.push_back(b.data);
    sent = b.at;
  }
  if (sent < own.size()) spans.push_back(own.subspan(sent));
  return spans;
}

std::vector<std::byte> encoded_frame::flatten() const {
  std::vector<std::byte> out;
  out.reserve(total());
  for (const auto span : gather()) out.insert(out.end(), span.begin(), span.end());
  return out;
}

void writer::uvarint(std::uint32_t v) {
  while (v >= 0x80) {
    bytes_.push_back(static_cast<std::byte>((v & 0x7f) | 0x80));
    v >>= 7;
  }
  bytes_.push_back(static_cast<std::byte>(v));
}

void writer::borrow(std::span<const std::byte> data) {
  borrowed_.push_back({bytes_.size(), data});
  borrowed_total_ += data.size();
}

encoded_frame writer::finish_frame() && {
  const std::size_t length = size() - length_prefix;
  MIRRORD_CHECK(length <= static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max()), "frame of {} bytes", length);
  for (std::size_t i = 0; i < length_prefix; ++i) bytes_[i] = static_cast<std::byte>(length >> (8 * (length_prefix - 1 - i)) & 0xff);
  return {std::move(bytes_), std::move(borrowed_)};
}

std::uint32_t reader::uvarint() {
  std::uint32_t value = 0;
  for (int shift = 0; shift < 35; shift += 7) {
    const auto byte = std::to_integer<std::uint32_t>(static_cast<std::byte>(int8()));
    if (!ok()) return 0;
    if (shift == 28 && byte > 0x0f) break;  // more than 32 bits
    value |= (byte & 0x7f) << shift;
    if ((byte & 0x80) == 0) return value;
  }
  fault("varint too long");
  return 0;
}

std::span<const std::byte> reader::take(std::size_t n) {
  if (n > remaining()) {
    fault("truncated");
    return {};
  }
  const auto view = data_.subspan(at_, n);
  at_ += n;
  return view;
}

void reader::fault(std::string_view what) {
  if (ok()) fault_ = fmt::format("{} at byte {}", what, at_);
  at_ = data_.size();
}

void reader::expect_end() {
  if (remaining() != 0) fault("unexpected bytes after the end");
}

}  // namespace mirrord::wire
