// From what the mirrors show of themselves to the status that the daemon serves.
#pragma once

#include "mirror/mirror_manager.hpp"
#include "observe/status.hpp"

namespace mirrord {

[[nodiscard]] observe::mirror_status describe_mirror(const mirror::mirror_view& view, const core::advice_names& advice);

}  // namespace mirrord
