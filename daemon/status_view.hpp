// From what the mirrors show of themselves to the status that the daemon serves.
#pragma once

#include "mirror/mirror_manager.hpp"
#include "observe/status.hpp"

namespace mirrord {

// The error for a person who reads the status: with advice.
[[nodiscard]] observe::status_error describe_error(const error& e, const core::advice_names& advice);

[[nodiscard]] observe::mirror_status describe_mirror(const mirror::mirror_view& view, const core::advice_names& advice);

}  // namespace mirrord
