// librdkafka's view of our settings and our view of its errors: `connection_settings` -> rd_kafka_conf_t, and
// rd_kafka_resp_err_t -> `error`.
//
// What is here holds for every librdkafka client of this program: it never creates a topic by asking for it, and no
// text that leaves this file holds a secret. librdkafka reads certificates once, when the client is made, so a renewed
// certificate reaches it only with the next client (our wire client reads them for each connection).
#pragma once

#include "base/error.hpp"
#include "settings/connection_settings.hpp"

#include <librdkafka/rdkafka.h>

#include <memory>
#include <string>

namespace mirrord::client {

struct rdkafka_conf_deleter {
  void operator()(rd_kafka_conf_t* conf) const noexcept { rd_kafka_conf_destroy(conf); }
};
using rdkafka_conf = std::unique_ptr<rd_kafka_conf_t, rdkafka_conf_deleter>;

// Everything that depends on the connection; the caller adds what depends on its role. For a connection that
// needs_tunnel() it is a plaintext one, to be used through rdkafka_handle, which makes the tunnel.
[[nodiscard]] result<rdkafka_conf> make_rdkafka_conf(const connection_settings& connection);

// errc::invalid with librdkafka's reason. Not for secrets: the reason may quote the value.
[[nodiscard]] result<void> set_property(rd_kafka_conf_t& conf, const char* property, const std::string& value);

// A broker's code becomes errc::broker with `text` as the broker's words; librdkafka's own codes (all below -1) become
// what they mean to us, with `text` in the context.
[[nodiscard]] error rdkafka_failure(rd_kafka_resp_err_t code, const char* text, std::string context);

}  // namespace mirrord::client
