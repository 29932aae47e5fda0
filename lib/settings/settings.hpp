// The whole configuration as plain values: what the YAML file says, with every default filled in and every
// reference (${env:..}, ${file:..}) resolved.
//
// Loaded once at start by load_config; the daemon owns the result and hands out copies of the parts. A value that
// load_config returned is complete and in bounds, so nobody checks it again. Keys, defaults, bounds and documentation
// stand in one field table per section (sections.hpp).
#pragma once

#include "base/log.hpp"
#include "settings/connection_settings.hpp"

#include <boost/system/result.hpp>

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace mirrord {

// Which daemon works on which partition. `all`: this one works on all of them.
enum class ownership_mode : std::uint8_t { all };

struct mirror_settings {
  std::string name;
  connection_settings source;
  std::vector<std::string> topics_include;           // names, or RE2 patterns that match the full name
  std::vector<std::string> topics_exclude{"__.*"};   // wins over topics_include
};

struct http_settings {
  std::string address = "127.0.0.1";  // numeric IPv4 or IPv6
  std::uint16_t port = 8489;          // 0: any free port
};

// Of `__mirror_state`. Never changed after its creation.
struct state_topic_settings {
  std::int32_t partitions = 50;
  std::int16_t replication_factor = -1;  // -1: min(3, number of brokers)
};

// Of each Fetch request to a source; KIP-1279's names. It proposes 1000 ms for wait_max; 500 halves the time in which a
// stopping daemon waits for an idle fetch.
struct fetch_settings {
  std::int32_t max_bytes = 1024 * 1024;                // per partition
  std::int32_t response_max_bytes = 10 * 1024 * 1024;  // per response
  std::chrono::milliseconds wait_max{500};
  std::int32_t min_bytes = 1;
};

struct settings {
  connection_settings destination;
  std::vector<mirror_settings> mirrors;
  ownership_mode ownership = ownership_mode::all;
  http_settings http;
  log::level log_level = log::level::info;
  state_topic_settings state_topic;
  std::int64_t hole_fill_max = 100'000'000;          // offsets per partition
  std::int32_t lanes = 2;                            // append connections per destination broker
  fetch_settings fetch;
  std::chrono::milliseconds metadata_refresh_interval{30'000};
  std::int16_t topic_replication_factor = -1;        // of created mirror topics; -1: the broker's default
};

struct config_problem {
  std::string file;
  int line = 0;      // from 1
  int column = 0;    // from 1
  std::string key;   // "mirrors[0].source.bootstrap.servers"; empty: the file as a whole
  std::string text;  // never holds a secret or a resolved reference

  // "FILE:LINE: key: problem"
  [[nodiscard]] std::string message() const;
};

// Everything that is wrong with a file, in the order of its lines.
struct config_problems {
  std::vector<config_problem> list;
  [[nodiscard]] std::string message() const;  // one line per problem
};

[[noreturn]] void throw_exception_from_error(const config_problems& e, const boost::source_location& where);

using config_result = boost::system::result<settings, config_problems>;

[[nodiscard]] config_result load_config(const std::string& path);

// The same for a text in memory; `file` is what the problems call it.
[[nodiscard]] config_result load_config_text(std::string_view text, std::string file);

// The effective configuration as YAML that load_config accepts again, with every secret replaced by `masked_secret`.
[[nodiscard]] std::string print_config(const settings& s);

inline constexpr std::string_view masked_secret = "[hidden]";

}  // namespace mirrord
