// The definitions behind codec.hpp. Only the .cpp of a message family includes this; it ends with
// MIRRORD_WIRE_MESSAGE(<request>) for each of its requests.
#pragma once

#include "base/broker_error.hpp"
#include "base/check.hpp"
#include "wire/codec.hpp"
#include "wire/decoder.hpp"
#include "wire/encoder.hpp"
#include "wire/printer.hpp"

#include <fmt/format.h>

namespace mirrord::wire {
namespace detail {

template <class T>
inline constexpr bool is_request = requires { typename T::response; };

// "fetch response v13"
template <class Message>
std::string title(std::int16_t version) {
  return fmt::format("{} {} v{}", name(Message::api.key), is_request<Message> ? "request" : "response", version);
}

template <class Message>
void check_version(std::int16_t version) {
  MIRRORD_CHECK(Message::api.has(version), "{}", title<Message>(version));
}

template <class Message>
result<Message> decode_body(reader& in, std::int16_t version) {
  Message message;
  decoder body(in, version, Message::api.flexible(version));
  body.get(message);
  in.expect_end();
  if (!in.ok()) return fail(errc::malformed, fmt::format("{}: {}", title<Message>(version), in.fault_text()));
  return message;
}

template <class Message>
void encode_body(writer& out, const Message& message, std::int16_t version) {
  encoder body(out, version, Message::api.flexible(version));
  body.put(message);
}

// An ApiVersions answer always has the old header: its reader does not know yet what the broker speaks (KIP-511).
constexpr bool flexible_response_header(api_range api, std::int16_t version) {
  return api.flexible(version) && api.key != api_key::api_versions;
}

void write_request_header(writer& out, api_range api, std::int16_t version, std::int32_t correlation_id, std::string_view client_id);
request_header read_request_header(reader& in);
void write_response_header(writer& out, api_range api, std::int16_t version, std::int32_t correlation_id);
void read_response_header(reader& in, api_range api, std::int16_t version, std::int32_t expected_correlation_id);
// The version that an ApiVersions answer is written in, given the one that was asked for and the bytes of its body.
std::int16_t api_versions_answer_version(std::span<const std::byte> body, std::int16_t asked);

}  // namespace detail

template <class Request>
encoded_frame encode_request(const Request& request, std::int16_t version, std::int32_t correlation_id, std::string_view client_id) {
  detail::check_version<Request>(version);
  writer out;
  detail::write_request_header(out, Request::api, version, correlation_id, client_id);
  detail::encode_body(out, request, version);
  return std::move(out).finish_frame();
}

template <class Response>
result<Response> decode_response(std::span<const std::byte> frame, std::int16_t version, std::int32_t expected_correlation_id) {
  detail::check_version<Response>(version);
  reader in(frame);
  detail::read_response_header(in, Response::api, version, expected_correlation_id);
  if constexpr (Response::api.key == api_key::api_versions) version = detail::api_versions_answer_version(frame.last(in.remaining()), version);
  return detail::decode_body<Response>(in, version);
}

template <class Message>
std::string print(const Message& message, std::int16_t version) {
  std::string out = detail::title<Message>(version);
  out += ' ';
  detail::printer(out, version).put(message);
  return out;
}

template <class Request>
result<Request> decode_request(std::span<const std::byte> frame) {
  reader in(frame);
  const request_header header = detail::read_request_header(in);
  if (in.ok() && (header.key != Request::api.key || !Request::api.has(header.version)))
    return fail(errc::unsupported, fmt::format("{} request v{} where {} v{}..{} is expected", name(header.key), header.version, name(Request::api.key),
                                               Request::api.min, Request::api.max));
  if (in.ok() && Request::api.flexible(header.version)) detail::tag_section::read(in);
  return detail::decode_body<Request>(in, header.version);
}

template <class Response>
encoded_frame encode_response(const Response& response, std::int16_t version, std::int32_t correlation_id) {
  detail::check_version<Response>(version);
  writer out;
  detail::write_response_header(out, Response::api, version, correlation_id);
  if constexpr (Response::api.key == api_key::api_versions) {
    if (is(response.error_code, kafka_error::unsupported_version)) version = 0;
  }
  detail::encode_body(out, response, version);
  return std::move(out).finish_frame();
}

#define MIRRORD_WIRE_MESSAGE(Request)                                                                                  \
  template encoded_frame encode_request(const Request&, std::int16_t, std::int32_t, std::string_view);                 \
  template result<Request> decode_request(std::span<const std::byte>);                                                 \
  template std::string print(const Request&, std::int16_t);                                                            \
  template encoded_frame encode_response(const Request::response&, std::int16_t, std::int32_t);                        \
  template result<Request::response> decode_response(std::span<const std::byte>, std::int16_t, std::int32_t);          \
  template std::string print(const Request::response&, std::int16_t)

}  // namespace mirrord::wire
