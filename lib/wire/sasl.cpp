#include "wire/sasl.hpp"

#include "wire/codec_impl.hpp"

namespace mirrord::wire {

MIRRORD_WIRE_MESSAGE(sasl_handshake_request);
MIRRORD_WIRE_MESSAGE(sasl_authenticate_request);

}  // namespace mirrord::wire
