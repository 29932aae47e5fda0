// Structured logging: one line per event, `time level event key=value ...`, values quoted where they need it.
//
// Levels mean what an operator must do: error = act now (a partition FAILED), warn = look when you can,
// info = something changed, debug = for the developers. Secrets never come here.
#pragma once

#include <fmt/format.h>

#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>

namespace mirrord::log {

enum class level { debug, info, warn, error };

struct field {
  std::string_view key;
  std::string value;

  template <class T>
  field(std::string_view k, const T& v) : key(k), value(fmt::format("{}", v)) {}
};

// Called once at start-up, before any other thread exists. Output is stderr (systemd's journal takes it from there).
void start(level threshold);

// The same with `sink` in the place of stderr: it gets each line without its time and level.
void start(level threshold, std::function<void(level, const std::string& line)> sink);

[[nodiscard]] bool enabled(level l) noexcept;

void write(level l, std::string_view event, std::initializer_list<field> fields);

inline void debug(std::string_view event, std::initializer_list<field> fields = {}) { if (enabled(level::debug)) write(level::debug, event, fields); }
inline void info(std::string_view event, std::initializer_list<field> fields = {}) { write(level::info, event, fields); }
inline void warn(std::string_view event, std::initializer_list<field> fields = {}) { write(level::warn, event, fields); }
inline void error(std::string_view event, std::initializer_list<field> fields = {}) { write(level::error, event, fields); }

}  // namespace mirrord::log
