// What happens on a new connection before anybody may use it: ApiVersions, then SASL where the settings ask for it, and
// later SASL again on the same connection when the broker limits a session's life (KIP-368).
#pragma once

#include "base/error.hpp"
#include "client/connection_core.hpp"
#include "client/deadline.hpp"

#include <boost/asio/awaitable.hpp>

#include <memory>

namespace mirrord::client::detail {

// Ends with the core ready, or with an error and the core as it is; everything before `until`. Errors:
// authentication_failed, timed_out, connection_lost, unsupported, malformed, broker, cancelled.
[[nodiscard]] asio::awaitable<result<void>> set_up(std::shared_ptr<connection_core> core, steady_time until);

}  // namespace mirrord::client::detail
