#include "wire/offsets.hpp"

#include "wire/codec_impl.hpp"

namespace mirrord::wire {

MIRRORD_WIRE_MESSAGE(offset_for_leader_epoch_request);
MIRRORD_WIRE_MESSAGE(list_offsets_request);
MIRRORD_WIRE_MESSAGE(delete_records_request);

}  // namespace mirrord::wire
