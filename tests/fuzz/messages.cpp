// libFuzzer target for all message decoders: the first byte chooses the message, the second its version, the rest is
// its body. What decodes must survive encoding and decoding once more unchanged.
//   clang++ -std=c++20 -O1 -g -fsanitize=fuzzer,address,undefined -Ilib -I. tests/fuzz/messages.cpp \
//     lib/base/{error,broker_error,check,ids}.cpp lib/wire/{api,buffer,codec,api_versions,configs,fetch,metadata,offsets,produce,sasl,transactions}.cpp -lfmt
#include "base/check.hpp"
#include "tests/support/message_types.hpp"

namespace {

using namespace mirrord::wire;

std::vector<std::byte> framed(const test::message_type& type, std::int16_t version, std::span<const std::byte> body) {
  writer out;
  const bool is_request = type.kind == "request";
  if (is_request) {
    out.int16(static_cast<std::int16_t>(type.api.key));
    out.int16(version);
  }
  out.int32(test::golden_correlation_id);
  if (is_request) out.int16(-1);
  out.bytes(body);
  return {out.own_bytes().begin(), out.own_bytes().end()};
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const auto& types = test::message_types();
  const test::message_type& type = types[data[0] % types.size()];
  const auto version = static_cast<std::int16_t>(type.api.min + data[1] % (type.api.max - type.api.min + 1));
  const auto frame = framed(type, version, std::as_bytes(std::span(data + 2, size - 2)));
  const auto first = type.decode_and_encode(frame, version);
  if (!first) return 0;
  const auto second = type.decode_and_encode(first->frame, version);
  MIRRORD_CHECK(second.has_value(), "{}", first->printed);
  MIRRORD_CHECK(second->frame == first->frame && second->printed == first->printed, "{} became {}", first->printed, second->printed);
  return 0;
}
