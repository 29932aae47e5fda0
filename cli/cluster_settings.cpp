#include "cluster_settings.hpp"

#include "settings/client_properties.hpp"

#include <fmt/format.h>

namespace mirrord::cli {
namespace {

constexpr std::string_view client_name = "kafka-mirror";

connection_settings load(const std::string& path, bool servers_required) {
  properties_rules rules;
  rules.defaults.client_id = client_name;
  rules.servers_required = servers_required;
  if (path.empty()) return rules.defaults;
  auto loaded = load_client_properties(path, rules);
  if (!loaded) throw usage_error(fmt::format("these settings cannot be used:\n{}", loaded.error().message()));
  return std::move(loaded->connection);
}

}  // namespace

connection_settings destination_settings(const options& o) {
  connection_settings settings = load(o.command_config, false);
  settings.bootstrap_servers = o.bootstrap_servers;  // as in Kafka's tools, the command line wins
  return settings;
}

connection_settings source_settings(const options& o) { return load(o.source_config, true); }

}  // namespace mirrord::cli
