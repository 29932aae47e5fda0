// Whole messages as bytes: request and response frames with the headers that each API and version wants.
//
// Templates are defined in codec_impl.hpp and instantiated once per message family's .cpp, so including this and a
// family's header is cheap. Record bytes are never copied: encoding borrows them, decoding gives views into the
// frame, and the caller keeps what is lent alive. Decoding never allocates more than the frame's own size warrants;
// every fault of the bytes, trailing ones included, is errc::malformed. Source: Kafka protocol guide, KIP-482.
#pragma once

#include "base/error.hpp"
#include "wire/api.hpp"
#include "wire/buffer.hpp"
#include "wire/fields.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace mirrord::wire {

// `version` must be one of Request::api.
template <class Request>
[[nodiscard]] encoded_frame encode_request(const Request& request, std::int16_t version, std::int32_t correlation_id, std::string_view client_id);

// `frame` is what follows the 4-byte length. An ApiVersions answer with UNSUPPORTED_VERSION is in version 0 whatever
// was asked for; it is read as such, and encode_response writes it so.
template <class Response>
[[nodiscard]] result<Response> decode_response(std::span<const std::byte> frame, std::int16_t version, std::int32_t expected_correlation_id);

// One line for debug logs; record and SASL bytes appear as their length only.
template <class Message>
[[nodiscard]] std::string print(const Message& message, std::int16_t version);

// The broker's side, for tests and fake brokers.
struct request_header {
  api_key key{};
  std::int16_t version = 0;
  std::int32_t correlation_id = 0;
  std::optional<std::string> client_id;
};

// Reads only what does not depend on the API, so that a fake broker can choose the Request to decode.
[[nodiscard]] result<request_header> decode_request_header(std::span<const std::byte> frame);

// The version is the one in the frame's own header.
template <class Request>
[[nodiscard]] result<Request> decode_request(std::span<const std::byte> frame);

template <class Response>
[[nodiscard]] encoded_frame encode_response(const Response& response, std::int16_t version, std::int32_t correlation_id);

}  // namespace mirrord::wire
