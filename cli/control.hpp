// The actions of kafka-mirror that a daemon carries out: start, stop, pause, resume, recover, list, describe.
#pragma once

#include "options.hpp"

namespace mirrord::cli {

// The exit code: 0 all is done, 1 some or all failed. Throws usage_error.
[[nodiscard]] int control(const options& o);

}  // namespace mirrord::cli
