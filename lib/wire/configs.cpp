#include "wire/configs.hpp"

#include "wire/codec_impl.hpp"

namespace mirrord::wire {

MIRRORD_WIRE_MESSAGE(incremental_alter_configs_request);

}  // namespace mirrord::wire
