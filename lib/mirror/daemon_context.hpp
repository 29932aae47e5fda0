// What all mirrors of a daemon share: the destination side, the state store, the clocks. Owned by the daemon's app, which
// outlives the mirrors.
#pragma once

#include "client/admin.hpp"
#include "client/cluster.hpp"
#include "core/error_table.hpp"
#include "mirror/fetch_lane.hpp"
#include "mirror/ports.hpp"
#include "mirror/state_store.hpp"
#include "mirror/write_lease.hpp"
#include "settings/settings.hpp"

#include <memory>
#include <string>

namespace mirrord::mirror {

struct daemon_context {
  asio::any_io_executor executor;
  const settings& configuration;
  client::cluster& destination;
  client::admin& destination_admin;
  state_store& state;
  clock_port& clock;
  random_port& random;
  write_lease& lease;
  std::shared_ptr<fetch_budget> budget;
  std::string instance;
  core::advice_names advice;
};

}  // namespace mirrord::mirror
