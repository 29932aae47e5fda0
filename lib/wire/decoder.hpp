// The visitor that reads a message's field list from foreign bytes. Faults stick in the reader; an element count is
// believed only as far as the bytes that remain could hold that many of the smallest elements.
#pragma once

#include "wire/buffer.hpp"
#include "wire/field_traits.hpp"

#include <fmt/format.h>

#include <string_view>
#include <utility>

namespace mirrord::wire::detail {

// The fewest bytes that a T can take: what bounds an untrusted element count.
class smallest_size {
 public:
  smallest_size(std::int16_t version, bool flexible) : version_(version), flexible_(flexible) {}

  template <class T>
  void field(std::string_view, const T&, versions in = always) {
    if (in.has(version_)) size_ += of<T>();
  }
  template <class T>
  void tagged(std::uint32_t, std::string_view, const T&, versions, T = {}) {}

  template <class T>
  [[nodiscard]] std::size_t of() {
    if constexpr (std::is_arithmetic_v<T>) {
      return sizeof(T);
    } else if constexpr (std::is_same_v<T, topic_id>) {
      return 16;
    } else if constexpr (wire_struct<T>) {
      static const T sample{};
      smallest_size inner(version_, flexible_);
      T::fields(sample, inner);
      return inner.size_ + (flexible_ ? 1 : 0);
    } else if constexpr (std::is_same_v<T, std::string> || std::is_same_v<T, std::optional<std::string>>) {
      return flexible_ ? 1 : 2;
    } else {
      return flexible_ ? 1 : 4;
    }
  }

 private:
  std::int16_t version_;
  bool flexible_;
  std::size_t size_ = 0;
};

// The tagged fields that follow a struct in a flexible version. Unknown ones are stepped over.
struct tag_section {
  struct entry {
    std::uint32_t tag;
    borrowed_view data;
  };
  std::vector<entry> entries;

  static tag_section read(reader& in);
  [[nodiscard]] const entry* find(std::uint32_t tag) const;
};

class decoder {
 public:
  decoder(reader& in, std::int16_t version, bool flexible) : in_(&in), version_(version), flexible_(flexible) {}

  template <class T>
  void field(std::string_view, T& value, versions in = always) {
    if (!in.has(version_)) return;
    if constexpr (std::is_same_v<T, std::string>) {
      if (version_ >= in.empty_is_null_from) {
        std::optional<std::string> text;
        get(text);
        value = std::move(text).value_or(std::string());
        return;
      }
    }
    get(value);
  }

  // The first tagged field of a struct comes after all its plain ones, so the whole section is read here.
  template <class T>
  void tagged(std::uint32_t tag, std::string_view, T& value, versions in, T = {}) {
    if (!in.has(version_)) return;
    read_tags();
    const tag_section::entry* const entry = tags_->find(tag);
    if (entry == nullptr) return;
    reader payload(entry->data);
    decoder inner(payload, version_, flexible_);
    if constexpr (is_optional<T>) inner.get(value.emplace());
    else inner.get(value);
    payload.expect_end();
    if (!payload.ok()) in_->fault(fmt::format("tagged field {}: {}", tag, payload.fault_text()));
  }

  template <wire_struct T>
  void get(T& value) {
    decoder inner(*in_, version_, flexible_);
    T::fields(value, inner);
    if (flexible_) inner.read_tags();
  }
  void get(bool& v) { v = in_->int8() != 0; }
  void get(std::int8_t& v) { v = in_->int8(); }
  void get(std::int16_t& v) { v = in_->int16(); }
  void get(std::int32_t& v) { v = in_->int32(); }
  void get(std::int64_t& v) { v = in_->int64(); }
  void get(topic_id& id) {
    const auto data = in_->take(id.bytes.size());
    for (std::size_t i = 0; i < data.size(); ++i) id.bytes[i] = std::to_integer<std::uint8_t>(data[i]);
  }
  void get(std::string& text) {
    if (const auto n = not_null(text_length())) assign(text, *n);
  }
  void get(std::optional<std::string>& text) {
    const auto n = text_length();
    if (n) assign(text.emplace(), *n);
    else text.reset();
  }
  template <class T>
    requires is_list<std::vector<T>>
  void get(std::vector<T>& list) {
    if (const auto n = not_null(length())) elements(list, *n);
  }
  template <class T>
    requires is_list<std::vector<T>>
  void get(std::optional<std::vector<T>>& list) {
    const auto n = length();
    if (n) elements(list.emplace(), *n);
    else list.reset();
  }
  void get(owned_bytes& data) {
    if (const auto n = not_null(length())) {
      const auto view = in_->take(*n);
      data.assign(view.begin(), view.end());
    }
  }
  void get(borrowed_view& data) {
    const auto n = length();
    data = n ? in_->take(*n) : borrowed_view();
  }
  void get(record_data& data) {
    data.pieces.clear();
    if (const auto n = length()) data.pieces.push_back(in_->take(*n));
  }

 private:
  // A length, or nothing for null; negative ones other than -1 are faults.
  std::optional<std::size_t> length() { return flexible_ ? compact_length() : plain_length(in_->int32()); }
  std::optional<std::size_t> text_length() { return flexible_ ? compact_length() : plain_length(in_->int16()); }
  std::optional<std::size_t> compact_length() {
    const std::uint32_t n = in_->uvarint();
    if (n == 0) return std::nullopt;
    return n - 1;
  }
  std::optional<std::size_t> plain_length(std::int32_t n) {
    if (n == -1) return std::nullopt;
    if (n < 0) {
      in_->fault("negative length");
      return std::nullopt;
    }
    return static_cast<std::size_t>(n);
  }
  std::optional<std::size_t> not_null(std::optional<std::size_t> n) {
    if (!n) in_->fault("null where a value must be");
    return n;
  }
  void assign(std::string& text, std::size_t n) {
    const auto view = in_->take(n);
    text.assign(reinterpret_cast<const char*>(view.data()), view.size());
  }
  template <class T>
  void elements(std::vector<T>& list, std::size_t n) {
    if (n > in_->remaining() / smallest_size(version_, flexible_).of<T>()) return in_->fault("more elements than bytes");
    list.clear();
    list.reserve(n);
    for (std::size_t i = 0; i < n && in_->ok(); ++i) get(list.emplace_back());
  }
  void read_tags() {
    if (!tags_) tags_ = tag_section::read(*in_);
  }

  reader* in_;
  std::int16_t version_;
  bool flexible_;
  std::optional<tag_section> tags_;
};

}  // namespace mirrord::wire::detail
