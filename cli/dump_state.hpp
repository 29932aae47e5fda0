// --dump-state: every record of `__mirror_state` as it counts now, readable.
#pragma once

#include "options.hpp"

namespace mirrord::cli {

// The exit code. Throws usage_error.
[[nodiscard]] int dump_state(const options& o);

}  // namespace mirrord::cli
