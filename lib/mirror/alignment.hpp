// Whether a destination topic that holds data may be mirrored into: it must be a prefix of the source's.
//
// A stock broker cannot cut a log's end. So up to its end the destination's log must be what the source's mirror in the
// other direction had copied from it; beyond that, only transaction markers that stand on the source at the same offsets
// are allowed: both sides have ended the same transactions, each in its own way. Anything else is data that would be
// lost, and is refused with the number of records.
// Only reads. Errors are for people: they say what to do.
#pragma once

#include "client/cluster.hpp"
#include "mirror/ports.hpp"
#include "mirror/source_memory.hpp"

#include <string>

namespace mirrord::mirror {

struct alignment_context {
  client::cluster& source;
  client::cluster& destination;
  clock_port& clock;
  random_port& random;
  const source_memory& memory;
};

// The partition's end on the destination, which is then proved to be a prefix of the source's.
[[nodiscard]] asio::awaitable<result<std::int64_t>> align(alignment_context context, topic_partition tp, topic_id source_topic,
                                                             topic_id destination_topic);

}  // namespace mirrord::mirror
