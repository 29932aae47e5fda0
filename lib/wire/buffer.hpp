// Kafka's primitive types on raw bytes: a writer that makes frames for a gather write, and a reader for foreign bytes.
//
// The writer borrows record data instead of copying it: an `encoded_frame` names where each borrowed span belongs.
// The reader never reads outside its span and never trusts a length: the first fault sticks, later reads return
// zeros, and the caller checks once at the end. Encoding of the types: Kafka protocol guide, KIP-482 for the compact ones.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace mirrord::wire {

// Bytes that belong between bytes[at - 1] and bytes[at] of their frame; whoever lent them keeps them alive.
struct borrowed_bytes {
  std::size_t at;
  std::span<const std::byte> data;
};

// A frame ready for a gather write. It starts with the 4-byte length, which counts the borrowed bytes too.
struct encoded_frame {
  std::vector<std::byte> bytes;
  std::vector<borrowed_bytes> borrowed;  // in ascending order of `at`; equal positions in the order of the list

  [[nodiscard]] std::size_t total() const noexcept;
  // The frame's spans in sending order, empty ones left out; valid as long as the frame and what it borrows.
  [[nodiscard]] std::vector<std::span<const std::byte>> gather() const;
  // One contiguous copy, for tests and for messages that carry no record data.
  [[nodiscard]] std::vector<std::byte> flatten() const;
};

class writer {
 public:
  void int8(std::int8_t v) { big_endian(static_cast<std::uint8_t>(v)); }
  void int16(std::int16_t v) { big_endian(static_cast<std::uint16_t>(v)); }
  void int32(std::int32_t v) { big_endian(static_cast<std::uint32_t>(v)); }
  void int64(std::int64_t v) { big_endian(static_cast<std::uint64_t>(v)); }
  void uvarint(std::uint32_t v);
  void bytes(std::span<const std::byte> data) { bytes_.insert(bytes_.end(), data.begin(), data.end()); }
  void text(std::string_view data) { bytes(std::as_bytes(std::span(data))); }
  void borrow(std::span<const std::byte> data);

  [[nodiscard]] std::size_t size() const noexcept { return bytes_.size() + borrowed_total_; }
  [[nodiscard]] bool borrows() const noexcept { return !borrowed_.empty(); }
  [[nodiscard]] std::span<const std::byte> own_bytes() const noexcept { return bytes_; }

  // Ends a frame that was begun by writing four bytes of anything: they become the length.
  [[nodiscard]] encoded_frame finish_frame() &&;

 private:
  template <class T>
  void big_endian(T v) {
    for (int shift = static_cast<int>(sizeof(T) - 1) * 8; shift >= 0; shift -= 8) bytes_.push_back(static_cast<std::byte>(v >> shift & 0xff));
  }

  std::vector<std::byte> bytes_;
  std::vector<borrowed_bytes> borrowed_;
  std::size_t borrowed_total_ = 0;
};

class reader {
 public:
  explicit reader(std::span<const std::byte> data) : data_(data) {}

  std::int8_t int8() { return static_cast<std::int8_t>(big_endian<std::uint8_t>()); }
  std::int16_t int16() { return static_cast<std::int16_t>(big_endian<std::uint16_t>()); }
  std::int32_t int32() { return static_cast<std::int32_t>(big_endian<std::uint32_t>()); }
  std::int64_t int64() { return static_cast<std::int64_t>(big_endian<std::uint64_t>()); }
  std::uint32_t uvarint();
  // The next n bytes as a view, or an empty view and a fault if there are fewer.
  std::span<const std::byte> take(std::size_t n);

  // Remembers the first fault and its position; from then on nothing remains to be read.
  void fault(std::string_view what);
  void expect_end();

  [[nodiscard]] bool ok() const noexcept { return fault_.empty(); }
  [[nodiscard]] std::size_t remaining() const noexcept { return data_.size() - at_; }
  // "truncated at byte 17"; empty while ok().
  [[nodiscard]] const std::string& fault_text() const noexcept { return fault_; }

 private:
  template <class T>
  T big_endian() {
    if (remaining() < sizeof(T)) {
      fault("truncated");
      return 0;
    }
    T v = 0;
    for (std::size_t i = 0; i < sizeof(T); ++i) v = static_cast<T>(static_cast<std::uint64_t>(v) << 8 | std::to_integer<std::uint8_t>(data_[at_ + i]));
    at_ += sizeof(T);
    return v;
  }

  std::span<const std::byte> data_;
  std::size_t at_ = 0;
  std::string fault_;
};

}  // namespace mirrord::wire
