#include "wire/codec.hpp"

#include "wire/codec_impl.hpp"

#include <limits>

namespace mirrord::wire {
namespace detail {

tag_section tag_section::read(reader& in) {
  tag_section section;
  const std::uint32_t count = in.uvarint();
  for (std::uint32_t i = 0; i < count && in.ok(); ++i) {
    const std::uint32_t tag = in.uvarint();
    const std::uint32_t size = in.uvarint();
    const auto data = in.take(size);
    if (!section.entries.empty() && tag <= section.entries.back().tag) in.fault("tagged fields out of order");
    section.entries.push_back({tag, data});
  }
  return section;
}

const tag_section::entry* tag_section::find(std::uint32_t tag) const {
  for (const entry& e : entries) {
    if (e.tag == tag) return &e;
  }
  return nullptr;
}

void write_request_header(writer& out, api_range api, std::int16_t version, std::int32_t correlation_id, std::string_view client_id) {
  out.int32(0);  // the frame's length, known at the end
  out.int16(static_cast<std::int16_t>(api.key));
  out.int16(version);
  out.int32(correlation_id);
  // The client id keeps its old two-byte length in flexible headers too: brokers read it before they know the version.
  MIRRORD_CHECK(client_id.size() <= static_cast<std::size_t>(std::numeric_limits<std::int16_t>::max()), "client id of {} bytes", client_id.size());
  out.int16(static_cast<std::int16_t>(client_id.size()));
  out.text(client_id);
  if (api.flexible(version)) out.uvarint(0);
}

request_header read_request_header(reader& in) {
  request_header header;
  header.key = static_cast<api_key>(in.int16());
  header.version = in.int16();
  header.correlation_id = in.int32();
  decoder(in, 0, false).get(header.client_id);
  return header;
}

void write_response_header(writer& out, api_range api, std::int16_t version, std::int32_t correlation_id) {
  out.int32(0);
  out.int32(correlation_id);
  if (flexible_response_header(api, version)) out.uvarint(0);
}

void read_response_header(reader& in, api_range api, std::int16_t version, std::int32_t expected_correlation_id) {
  const std::int32_t correlation_id = in.int32();
  if (in.ok() && correlation_id != expected_correlation_id)
    in.fault(fmt::format("correlation id {} where {} is expected", correlation_id, expected_correlation_id));
  if (flexible_response_header(api, version)) tag_section::read(in);
}

std::int16_t api_versions_answer_version(std::span<const std::byte> body, std::int16_t asked) {
  reader in(body);
  return is(in.int16(), kafka_error::unsupported_version) ? std::int16_t{0} : asked;
}

}  // namespace detail

result<request_header> decode_request_header(std::span<const std::byte> frame) {
  reader in(frame);
  request_header header = detail::read_request_header(in);
  if (!in.ok()) return fail(errc::malformed, fmt::format("request header: {}", in.fault_text()));
  return header;
}

}  // namespace mirrord::wire
