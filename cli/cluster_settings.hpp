// How to reach the two clusters of a command: from the command line and the properties files that it names.
#pragma once

#include "options.hpp"

#include "settings/connection_settings.hpp"

namespace mirrord::cli {

// Both throw usage_error with every problem of the file.
[[nodiscard]] connection_settings destination_settings(const options& o);
[[nodiscard]] connection_settings source_settings(const options& o);

}  // namespace mirrord::cli
