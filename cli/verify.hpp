// kafka-mirror --verify: compares topics of both clusters offset by offset.
#pragma once

#include "options.hpp"

namespace mirrord::cli {

// The exit code: 0 equal, 1 different or not readable. Throws usage_error.
[[nodiscard]] int verify(const options& o);

}  // namespace mirrord::cli
