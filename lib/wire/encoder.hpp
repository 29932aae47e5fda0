// The visitor that writes a message's field list as bytes. Values that Kafka's format cannot hold (a string longer
// than its length field can say) are a bug of the caller, since everything written here is of our own making.
#pragma once

#include "base/check.hpp"
#include "wire/buffer.hpp"
#include "wire/field_traits.hpp"

#include <limits>
#include <string_view>

namespace mirrord::wire::detail {

class encoder {
 public:
  encoder(writer& out, std::int16_t version, bool flexible) : out_(&out), version_(version), flexible_(flexible) {}

  template <class T>
  void field(std::string_view, const T& value, versions in = always) {
    if (!in.has(version_)) return;
    if constexpr (std::is_same_v<T, std::string>) {
      if (value.empty() && version_ >= in.empty_is_null_from) return null_text();
    }
    put(value);
  }

  // Absent (an empty optional or list, or a number equal to `absent`) is not written, as in Kafka's own code.
  template <class T>
  void tagged(std::uint32_t tag, std::string_view, const T& value, versions in, T absent = {}) {
    if (!in.has(version_)) return;
    writer payload;
    encoder inner(payload, version_, flexible_);
    if constexpr (is_optional<T>) {
      if (!value) return;
      inner.put(*value);
    } else if constexpr (is_list<T>) {
      if (value.empty()) return;
      inner.put(value);
    } else {
      if (value == absent) return;
      inner.put(value);
    }
    MIRRORD_CHECK(!payload.borrows(), "tag {}", tag);
    ++tag_count_;
    tags_.uvarint(tag);
    tags_.uvarint(static_cast<std::uint32_t>(payload.size()));
    tags_.bytes(payload.own_bytes());
  }

  template <wire_struct T>
  void put(const T& value) {
    encoder inner(*out_, version_, flexible_);
    T::fields(value, inner);
    inner.finish_struct();
  }
  void put(bool v) { out_->int8(v ? 1 : 0); }
  void put(std::int8_t v) { out_->int8(v); }
  void put(std::int16_t v) { out_->int16(v); }
  void put(std::int32_t v) { out_->int32(v); }
  void put(std::int64_t v) { out_->int64(v); }
  void put(const topic_id& id) { out_->bytes(std::as_bytes(std::span(id.bytes))); }
  void put(const std::string& text) {
    if (flexible_) {
      compact_length(text.size());
    } else {
      MIRRORD_CHECK(text.size() <= static_cast<std::size_t>(std::numeric_limits<std::int16_t>::max()), "string of {} bytes", text.size());
      out_->int16(static_cast<std::int16_t>(text.size()));
    }
    out_->text(text);
  }
  void put(const std::optional<std::string>& text) {
    if (!text) return null_text();
    put(*text);
  }
  template <class T>
    requires is_list<std::vector<T>>
  void put(const std::vector<T>& list) {
    length(list.size());
    for (const T& element : list) put(element);
  }
  template <class T>
    requires is_list<std::vector<T>>
  void put(const std::optional<std::vector<T>>& list) {
    if (!list) return null_length();
    put(*list);
  }
  void put(const owned_bytes& data) {
    length(data.size());
    out_->bytes(data);
  }
  // A view without an address is null, one of size 0 with an address is empty.
  void put(const borrowed_view& data) {
    if (data.data() == nullptr) return null_length();
    length(data.size());
    out_->borrow(data);
  }
  void put(const record_data& data) {
    if (data.pieces.empty()) return null_length();
    length(data.size());
    for (const auto piece : data.pieces) out_->borrow(piece);
  }

 private:
  void compact_length(std::size_t n) { out_->uvarint(static_cast<std::uint32_t>(n) + 1); }
  void length(std::size_t n) {
    MIRRORD_CHECK(n <= static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max()), "length {}", n);
    if (flexible_) compact_length(n);
    else out_->int32(static_cast<std::int32_t>(n));
  }
  void null_length() {
    if (flexible_) out_->uvarint(0);
    else out_->int32(-1);
  }
  void null_text() {
    if (flexible_) out_->uvarint(0);
    else out_->int16(-1);
  }
  void finish_struct() {
    if (!flexible_) return;
    out_->uvarint(tag_count_);
    out_->bytes(tags_.own_bytes());
  }

  writer* out_;
  std::int16_t version_;
  bool flexible_;
  std::uint32_t tag_count_ = 0;
  writer tags_;
};

}  // namespace mirrord::wire::detail
