#include "wire/api_versions.hpp"

#include "wire/codec_impl.hpp"

namespace mirrord::wire {

MIRRORD_WIRE_MESSAGE(api_versions_request);

}  // namespace mirrord::wire
