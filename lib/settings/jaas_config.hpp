// The value of Kafka's property `sasl.jaas.config`: a login module of user name and password, as people have it in the
// files of their tools: org.apache.kafka.common.security.plain.PlainLoginModule required username="a" password="b";
#pragma once

#include "base/error.hpp"

#include <string>
#include <string_view>

namespace mirrord {

struct jaas_login {
  bool scram = false;  // ScramLoginModule; otherwise PlainLoginModule
  std::string username;
  std::string password;
};

// Quotes and escapes are those of Java's StreamTokenizer, with which Kafka reads this. An error is errc::invalid and
// never quotes a value, since where the text is broken a password could stand anywhere.
[[nodiscard]] result<jaas_login> parse_jaas_config(std::string_view text);

}  // namespace mirrord
