#include "wire/produce.hpp"

#include "wire/codec_impl.hpp"

namespace mirrord::wire {

MIRRORD_WIRE_MESSAGE(produce_request);

}  // namespace mirrord::wire
