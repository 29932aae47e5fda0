// Which kind of field a C++ type is on the wire; shared by the visitors behind codec.hpp.
#pragma once

#include "base/ids.hpp"
#include "wire/fields.hpp"

#include <optional>
#include <string>
#include <type_traits>

namespace mirrord::wire::detail {

using borrowed_view = std::span<const std::byte>;
using owned_bytes = std::vector<std::byte>;

template <class T>
inline constexpr bool is_optional = false;
template <class T>
inline constexpr bool is_optional<std::optional<T>> = true;
template <class T>
inline constexpr bool is_list = false;
template <class T>
inline constexpr bool is_list<std::vector<T>> = !std::is_same_v<T, std::byte>;
template <class T>
inline constexpr bool is_bytes = std::is_same_v<T, borrowed_view> || std::is_same_v<T, owned_bytes> || std::is_same_v<T, record_data>;
template <class T>
concept wire_struct = std::is_class_v<T> && !is_optional<T> && !is_list<T> && !is_bytes<T> && !std::is_same_v<T, std::string> && !std::is_same_v<T, topic_id>;

}  // namespace mirrord::wire::detail
