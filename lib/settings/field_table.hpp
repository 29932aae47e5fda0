// One row per configuration key: name, kind, bounds, unit, documentation, and how the value gets into its struct and
// out again. Loading, printing and the documentation all go through these rows, so they cannot differ.
//
// A default is not part of a row: it is what a default-constructed section holds. Values travel as field_value: sizes
// are bytes, durations are milliseconds, a choice is its index in `choices`, which is also the enumerator's value.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace mirrord {

enum class value_kind : std::uint8_t { boolean, integer, size, duration, choice, text, list };

using field_value = std::variant<bool, std::int64_t, std::string, std::vector<std::string>>;

struct field_rules {
  std::string_view key = {};
  value_kind kind = value_kind::text;
  std::string_view doc = {};
  std::string_view unit = {};  // what an integer counts
  std::int64_t min = 0;        // integer, size and duration
  std::int64_t max = 0;
  std::vector<std::string_view> choices = {};
  bool required = false;
  bool secret = false;
  bool comma_separated = false;  // list: may also be written as one text with commas, as Kafka does
  // Further rules; they say what is wrong, or nothing. `check` sees a text, a choice, or each item of a list.
  std::string (*check)(std::string_view) = nullptr;
  std::string (*check_number)(std::int64_t) = nullptr;
};

template <class Section>
struct field : field_rules {
  field_value (*get)(const Section&) = nullptr;
  void (*set)(Section&, field_value) = nullptr;
};

namespace detail {

template <class T>
inline constexpr bool travels_as_itself = std::is_same_v<T, bool> || std::is_same_v<T, std::string> || std::is_same_v<T, std::vector<std::string>>;

template <class T>
field_value to_field_value(const T& value) {
  if constexpr (travels_as_itself<T>) return value;
  else if constexpr (std::is_same_v<T, std::chrono::milliseconds>) return static_cast<std::int64_t>(value.count());
  else return static_cast<std::int64_t>(value);
}

template <class T>
void from_field_value(T& target, field_value value) {
  if constexpr (travels_as_itself<T>) target = std::get<T>(std::move(value));
  else if constexpr (std::is_same_v<T, std::chrono::milliseconds>) target = T(std::get<std::int64_t>(value));
  else target = static_cast<T>(std::get<std::int64_t>(value));
}

}  // namespace detail

// `Access` is a lambda without captures that takes the section and returns a reference to the member.
template <class Section, class Access>
[[nodiscard]] field<Section> make_field(field_rules rules, Access) {
  field<Section> row;
  static_cast<field_rules&>(row) = std::move(rules);
  row.get = [](const Section& s) { return detail::to_field_value(Access{}(s)); };
  row.set = [](Section& s, field_value v) { detail::from_field_value(Access{}(s), std::move(v)); };
  return row;
}

}  // namespace mirrord
