#include "base/log.hpp"

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

namespace mirrord::log {
namespace {

std::function<void(level, const std::string&)> other_sink;

spdlog::level::level_enum to_spdlog(level l) {
  switch (l) {
    case level::debug: return spdlog::level::debug;
    case level::info: return spdlog::level::info;
    case level::warn: return spdlog::level::warn;
    case level::error: return spdlog::level::err;
  }
  return spdlog::level::info;
}

bool is_plain(std::string_view value) {
  if (value.empty()) return false;
  for (const char c : value) {
    if (c <= ' ' || c == '"' || c == '=' || c == '\\' || c == 127) return false;
  }
  return true;
}

void append_value(std::string& line, std::string_view value) {
  if (is_plain(value)) {
    line += value;
    return;
  }
  line += '"';
  for (const char c : value) {
    switch (c) {
      case '"': line += "\\\""; break;
      case '\\': line += "\\\\"; break;
      case '\n': line += "\\n"; break;
      case '\r': line += "\\r"; break;
      case '\t': line += "\\t"; break;
      default:
        if (static_cast<unsigned char>(c) < ' ' || c == 127) line += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
        else line += c;
    }
  }
  line += '"';
}

}  // namespace

void start(level threshold) {
  auto logger = spdlog::stderr_logger_st("kafka-mirrord");
  logger->set_pattern("%Y-%m-%dT%H:%M:%S.%eZ %l %v", spdlog::pattern_time_type::utc);
  logger->set_level(to_spdlog(threshold));
  spdlog::set_default_logger(std::move(logger));
}

void start(level threshold, std::function<void(level, const std::string& line)> sink) {
  spdlog::set_level(to_spdlog(threshold));
  other_sink = std::move(sink);
}

bool enabled(level l) noexcept { return spdlog::should_log(to_spdlog(l)); }

void write(level l, std::string_view event, std::initializer_list<field> fields) {
  if (!enabled(l)) return;
  std::string line(event);
  for (const field& f : fields) {
    line += ' ';
    line += f.key;
    line += '=';
    append_value(line, f.value);
  }
  if (other_sink) other_sink(l, line);
  else spdlog::log(to_spdlog(l), "{}", line);
}

}  // namespace mirrord::log
