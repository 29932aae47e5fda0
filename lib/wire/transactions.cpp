#include "wire/transactions.hpp"

#include "wire/codec_impl.hpp"

namespace mirrord::wire {

MIRRORD_WIRE_MESSAGE(init_producer_id_request);
MIRRORD_WIRE_MESSAGE(describe_producers_request);
MIRRORD_WIRE_MESSAGE(write_txn_markers_request);

}  // namespace mirrord::wire
