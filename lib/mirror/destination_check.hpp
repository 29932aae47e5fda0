// What the destination cluster must allow before anything is written to it; what is missing is named with the command
// that puts it right.
#pragma once

#include "client/admin.hpp"
#include "client/cluster.hpp"

namespace mirrord::mirror {

namespace asio = boost::asio;

struct destination_traits {
  bool split_timestamp_bounds = false;  // topics know message.timestamp.before.max.ms (brokers of 3.6 and later)
};

// - transaction.partition.verification.enable=false on every broker that has it (3.6 and later): a mirrored transaction
//   is unknown to the destination's coordinators, so brokers that ask them would refuse its data;
// - ClusterAction (or Alter) on the cluster, which WriteTxnMarkers demands, where an authorizer is at work;
// - brokers of 2.8 or later (DescribeProducers).
[[nodiscard]] asio::awaitable<result<destination_traits>> check_destination(client::cluster& cluster, client::admin& admin);

}  // namespace mirrord::mirror
