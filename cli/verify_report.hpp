// What kafka-mirror --verify found, for a person and as JSON.
#pragma once

#include "mirror/log_verifier.hpp"

#include <string>
#include <vector>

namespace mirrord::cli {

// Whether every topic was compared to its end without a difference. Being behind is none.
[[nodiscard]] bool all_equal(const std::vector<mirror::verified_topic>& topics);

// One line per topic, then the first differences.
[[nodiscard]] std::string verify_text(const std::vector<mirror::verified_topic>& topics);

// One document, without a line break at its end.
[[nodiscard]] std::string verify_json(const std::vector<mirror::verified_topic>& topics);

}  // namespace mirrord::cli
