#include "wire/metadata.hpp"

#include "wire/codec_impl.hpp"

namespace mirrord::wire {

MIRRORD_WIRE_MESSAGE(metadata_request);
MIRRORD_WIRE_MESSAGE(describe_cluster_request);

}  // namespace mirrord::wire
