// Where a partition's leader is now, as Fetch and Produce answers tell it beside NOT_LEADER_OR_FOLLOWER and
// FENCED_LEADER_EPOCH (KIP-951), so that a client need not ask for metadata first. Hints may be out of date themselves.
#pragma once

#include "wire/fields.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace mirrord::wire {

struct leader_id_and_epoch {
  std::int32_t leader_id = -1;  // -1: not known
  std::int32_t leader_epoch = -1;

  template <class Self, class Visitor>
  static void fields(Self& m, Visitor& v) {
    v.field("leader_id", m.leader_id);
    v.field("leader_epoch", m.leader_epoch);
  }
};

struct node_endpoint {
  std::int32_t node_id = 0;
  std::string host;
  std::int32_t port = 0;
  std::optional<std::string> rack;

  template <class Self, class Visitor>
  static void fields(Self& m, Visitor& v) {
    v.field("node_id", m.node_id);
    v.field("host", m.host);
    v.field("port", m.port);
    v.field("rack", m.rack);
  }
};

}  // namespace mirrord::wire
