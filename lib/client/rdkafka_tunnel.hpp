// Carries librdkafka's connections over our own streams, for brokers that refuse librdkafka's way of logging in.
//
// librdkafka before 2.6.1 repeats its nonce in the last SCRAM message, and brokers from 4.0 on compare nonces exactly
// (CVE-2024-56128), so Debian's 2.0.2 cannot log in there. With a tunnel librdkafka believes in plaintext: when it wants
// to connect, it gets one end of a socket pair, and our loop connects the other end to the broker, with the TLS and
// SASL of our wire client, and passes bytes to and fro. Nothing listens, so nobody else can come in.
//
// Owned by an rdkafka_handle. librdkafka's threads reach it through a socket alone, which stays open as long as they
// live; everything else belongs to the loop's thread.
#pragma once

#include "base/error.hpp"
#include "client/tasks.hpp"
#include "settings/connection_settings.hpp"

#include <librdkafka/rdkafka.h>

#include <functional>
#include <memory>

namespace mirrord::client {

[[nodiscard]] bool needs_tunnel(const connection_settings& connection) noexcept;

class rdkafka_tunnel {
 public:
  using failure_handler = std::function<void(error)>;

  // `on_failure` hears, on the loop's thread, why a connection could not be made.
  [[nodiscard]] static result<std::unique_ptr<rdkafka_tunnel>> open(const asio::any_io_executor& executor, connection_settings connection,
                                                                    failure_handler on_failure);
  ~rdkafka_tunnel();
  rdkafka_tunnel(const rdkafka_tunnel&) = delete;
  rdkafka_tunnel& operator=(const rdkafka_tunnel&) = delete;

  // Makes the client of this conf use the tunnel.
  void install(rd_kafka_conf_t& conf) const;

  // The socket that librdkafka's threads use. Whoever takes it closes it after rd_kafka_destroy.
  [[nodiscard]] int release_client_end() noexcept;

  // Ends all connections; librdkafka sees them closed.
  void close();

 private:
  struct state;
  explicit rdkafka_tunnel(std::shared_ptr<state> s) : state_(std::move(s)) {}

  std::shared_ptr<state> state_;
};

}  // namespace mirrord::client
