// A Java .properties file as Kafka's own tools take it (--command-config and the like) -> connection_settings, through
// the same field table as the YAML file, so that keys, bounds and defaults are the same.
//
// References (${env:..}, ${file:..}) are resolved. A login in sasl.jaas.config and stores of type PEM are taken over;
// JKS and PKCS12 stores are refused with the command that converts them. Everything that is wrong is told at once, each
// with its line, and never with a secret.
#pragma once

#include "settings/connection_settings.hpp"
#include "settings/properties_text.hpp"
#include "settings/settings.hpp"

#include <boost/system/result.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace mirrord {

struct client_properties {
  connection_settings connection;
  // As they are written, references unresolved, in the file's order: what stands in `connection`, and all other keys.
  std::vector<property> connection_properties;
  std::vector<property> other_properties;
};

struct properties_rules {
  connection_settings defaults = {};   // what holds where the file is silent
  bool servers_required = false;       // bootstrap.servers; otherwise the command line gives them
  bool others_allowed = false;         // keys that say nothing about a connection are handed out instead of refused
};

using client_properties_result = boost::system::result<client_properties, config_problems>;

[[nodiscard]] client_properties_result load_client_properties(const std::string& path, const properties_rules& rules);

// The same for a text in memory; `file` is what the problems call it.
[[nodiscard]] client_properties_result load_client_properties_text(std::string_view text, std::string file, const properties_rules& rules);

}  // namespace mirrord
