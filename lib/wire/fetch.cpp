#include "wire/fetch.hpp"

#include "wire/codec_impl.hpp"

namespace mirrord::wire {

MIRRORD_WIRE_MESSAGE(fetch_request);

}  // namespace mirrord::wire
