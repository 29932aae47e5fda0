// Every message that we speak, with a function that decodes one, encodes it again and prints it: so that a test or
// a fuzzer can run over all of them.
#pragma once

#include "wire/api_versions.hpp"
#include "wire/codec.hpp"
#include "wire/configs.hpp"
#include "wire/fetch.hpp"
#include "wire/metadata.hpp"
#include "wire/offsets.hpp"
#include "wire/produce.hpp"
#include "wire/sasl.hpp"
#include "wire/transactions.hpp"

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace mirrord::wire::test {

// What the messages below are framed with, and the golden ones too.
inline constexpr std::int32_t golden_correlation_id = 0x01020304;
inline constexpr std::string_view golden_client_id = "golden";

struct round_trip {
  std::vector<std::byte> frame;  // encoded again, without the length
  std::size_t announced = 0;     // the length that the frame announced
  std::string printed;
};

struct message_type {
  api_range api;
  std::string kind;  // "request" or "response"
  std::function<result<round_trip>(std::span<const std::byte> frame, std::int16_t version)> decode_and_encode;
};

inline round_trip round_trip_of(const encoded_frame& frame, std::string printed) {
  std::vector<std::byte> bytes = frame.flatten();
  const auto announced = static_cast<std::size_t>(reader(bytes).int32());
  bytes.erase(bytes.begin(), bytes.begin() + 4);
  return {std::move(bytes), announced, std::move(printed)};
}

template <class Request>
void add_message(std::vector<message_type>& types) {
  using response = typename Request::response;
  types.push_back({Request::api, "request", [](std::span<const std::byte> frame, std::int16_t version) -> result<round_trip> {
                     const auto message = decode_request<Request>(frame);
                     if (!message) return message.error();
                     return round_trip_of(encode_request(*message, version, golden_correlation_id, golden_client_id), print(*message, version));
                   }});
  types.push_back({response::api, "response", [](std::span<const std::byte> frame, std::int16_t version) -> result<round_trip> {
                     const auto message = decode_response<response>(frame, version, golden_correlation_id);
                     if (!message) return message.error();
                     return round_trip_of(encode_response(*message, version, golden_correlation_id), print(*message, version));
                   }});
}

inline const std::vector<message_type>& message_types() {
  static const std::vector<message_type> types = [] {
    std::vector<message_type> all;
    add_message<api_versions_request>(all);
    add_message<metadata_request>(all);
    add_message<describe_cluster_request>(all);
    add_message<fetch_request>(all);
    add_message<produce_request>(all);
    add_message<offset_for_leader_epoch_request>(all);
    add_message<list_offsets_request>(all);
    add_message<delete_records_request>(all);
    add_message<init_producer_id_request>(all);
    add_message<describe_producers_request>(all);
    add_message<write_txn_markers_request>(all);
    add_message<incremental_alter_configs_request>(all);
    add_message<sasl_handshake_request>(all);
    add_message<sasl_authenticate_request>(all);
    return all;
  }();
  return types;
}

}  // namespace mirrord::wire::test
