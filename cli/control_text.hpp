// What kafka-mirror prints of the daemons' reports: KIP-1279's lines and tables, and JSON.
#pragma once

#include "core/control_actions.hpp"
#include "mirror/state_records.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace mirrord::cli {

using report_items = std::vector<mirror::report_item>;

// "Paused 2 topic(s) in mirror M: [a, b]", or "Pausing ..." where nobody waited for it.
[[nodiscard]] std::string action_line(core::control_action action, std::string_view mirror, const std::vector<std::string>& topics, bool done);

// One line per topic: what would be done, and what is so already.
[[nodiscard]] std::string dry_run_text(const report_items& items);

// One line per item that is not ok, with what it is about.
[[nodiscard]] std::string failures_text(const report_items& items);

[[nodiscard]] std::string list_text(const report_items& items);
[[nodiscard]] std::string describe_text(const report_items& items);
[[nodiscard]] std::string failed_text(const report_items& items);

// One line without its end.
[[nodiscard]] std::string action_json(const report_items& items);
[[nodiscard]] std::string list_json(const report_items& items);
[[nodiscard]] std::string describe_json(const report_items& items);

[[nodiscard]] report_items only_failed(report_items items);

}  // namespace mirrord::cli
