#include "progress_line.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace mirrord::cli {
namespace {

using namespace std::chrono_literals;

constexpr auto plain_interval = 10s;
constexpr int bar_cells = 24;
constexpr std::string_view clear_line = "\r\x1b[K";

std::string duration_text(double seconds) {
  const auto whole = static_cast<std::int64_t>(seconds + 0.5);
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 3600) return fmt::format("{} min {} s", whole / 60, whole % 60);
  return fmt::format("{} h {} min", whole / 3600, whole % 3600 / 60);
}

std::string numbers(const mirror::verify_progress& p, double seconds, double fraction) {
  const double megabytes = static_cast<double>(p.bytes) / 1e6 / std::max(seconds, 0.001);
  std::string text = fmt::format("{} of {} offsets ({:.0f} %), {} of {} partitions, {:.1f} MB/s", p.compared, p.total, fraction * 100,
                                 p.partitions_done, p.partitions, megabytes);
  if (fraction > 0 && fraction < 1 && seconds >= 1) text += fmt::format(", {} left", duration_text(seconds / fraction - seconds));
  return text;
}

}  // namespace

std::string progress_line::update(const mirror::verify_progress& p, clock::time_point now) {
  if (p.total > 0 && !compares_since_) compares_since_ = now;
  if (!terminal_ && now - last_ < plain_interval) return {};
  last_ = now;
  std::string text;
  if (p.total == 0) {
    text = p.partitions == 0 ? "looking for the topics" : fmt::format("reading the ends of {} partitions", p.partitions);
  } else {
    const double seconds = std::chrono::duration<double>(now - *compares_since_).count();
    const double fraction = std::min(1.0, static_cast<double>(p.compared) / static_cast<double>(p.total));
    if (terminal_) {
      const int full = static_cast<int>(fraction * bar_cells);
      text = fmt::format("[{:#>{}}{:.>{}}] ", "", full, "", bar_cells - full);
    }
    text += numbers(p, seconds, fraction);
  }
  if (!p.trouble.empty()) text += "; waiting: " + p.trouble;
  return terminal_ ? fmt::format("{}{}", clear_line, text) : fmt::format("kafka-mirror: {}\n", text);
}

std::string progress_line::finish() const { return terminal_ ? std::string(clear_line) : std::string{}; }

}  // namespace mirrord::cli
