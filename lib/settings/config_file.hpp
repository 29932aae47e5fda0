// The bytes of a configuration file, bounded.
#pragma once

#include "base/error.hpp"

#include <string>

namespace mirrord {

// The error's context says what is wrong without naming the file; the caller knows it.
[[nodiscard]] result<std::string> read_config_file(const std::string& path);

}  // namespace mirrord
