// The visitor that prints a message's field list for debug logs. Bytes of any kind show their length only: records
// are too large for a log, and SASL tokens are secrets.
#pragma once

#include "wire/field_traits.hpp"

#include <fmt/format.h>

#include <iterator>
#include <string_view>

namespace mirrord::wire::detail {

class printer {
 public:
  printer(std::string& out, std::int16_t version) : out_(&out), version_(version) {}

  template <class T>
  void field(std::string_view name, const T& value, versions in = always) {
    if (!in.has(version_)) return;
    *out_ += first_ ? "" : " ";
    first_ = false;
    *out_ += name;
    *out_ += '=';
    put(value);
  }
  template <class T>
  void tagged(std::uint32_t, std::string_view name, const T& value, versions in, T = {}) {
    field(name, value, in);
  }

  template <class T>
  void put(const T& value) {
    if constexpr (std::is_same_v<T, bool>) {
      *out_ += value ? "true" : "false";
    } else if constexpr (std::is_arithmetic_v<T>) {
      fmt::format_to(std::back_inserter(*out_), "{}", static_cast<std::int64_t>(value));
    } else if constexpr (std::is_same_v<T, std::string>) {
      *out_ += value;
    } else if constexpr (std::is_same_v<T, topic_id>) {
      *out_ += value.text();
    } else if constexpr (is_bytes<T>) {
      fmt::format_to(std::back_inserter(*out_), "<{} bytes>", value.size());
    } else if constexpr (is_optional<T>) {
      if (value) put(*value);
      else *out_ += "null";
    } else if constexpr (is_list<T>) {
      *out_ += '[';
      for (std::size_t i = 0; i < value.size(); ++i) {
        if (i != 0) *out_ += ' ';
        put(value[i]);
      }
      *out_ += ']';
    } else {
      *out_ += '{';
      printer inner(*out_, version_);
      T::fields(value, inner);
      *out_ += '}';
    }
  }

 private:
  std::string* out_;
  std::int16_t version_;
  bool first_ = true;
};

}  // namespace mirrord::wire::detail
