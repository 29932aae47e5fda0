// Which names a mirror can have (KIP-1279): those of topics, except for the suffixes that once marked a topic's state.
#pragma once

#include <string>
#include <string_view>

namespace mirrord {

// What is wrong with the name, or nothing.
[[nodiscard]] std::string mirror_name_problem(std::string_view name);

}  // namespace mirrord
