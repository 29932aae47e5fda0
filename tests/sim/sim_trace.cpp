#include "tests/sim/sim_trace.hpp"

#include "base/log.hpp"

#include <csignal>
#include <cstdio>
#include <cstdlib>

namespace mirrord::sim {

namespace {

sim_trace* current = nullptr;

// The lines of the code under test belong to the run that made them.
void log_into_trace() {
  log::start(log::level::info, [](log::level, const std::string& line) {
    if (current) current->add("log: {}", line);
  });
}

// Not async-signal-safe, and need not be: abort() was called by our own code, and the process ends here.
void print_and_abort(int) {
  std::signal(SIGABRT, SIG_DFL);
  if (current) std::fputs(current->text().c_str(), stderr);
  std::abort();
}

}  // namespace

const std::size_t sim_trace::lines_max = [] {
  const char* text = std::getenv("MIRRORD_SIM_TRACE");
  return text ? std::stoul(text) : 160;
}();

sim_trace::sim_trace(const sim_clock& clock, std::string title) : clock_(clock), title_(std::move(title)) {
  [[maybe_unused]] static const bool is_captured = (log_into_trace(), true);
  current = this;
  std::signal(SIGABRT, print_and_abort);
}

sim_trace::~sim_trace() {
  if (current == this) {
    current = nullptr;
    std::signal(SIGABRT, SIG_DFL);
  }
}

void sim_trace::line(std::string text) {
  const auto micros = std::chrono::duration_cast<std::chrono::microseconds>(clock_.now()).count();
  lines_.push_back(fmt::format("{:>6}.{:06} {}", micros / 1'000'000, micros % 1'000'000, text));
  if (lines_.size() > lines_max && ok()) lines_.pop_front();
}

void sim_trace::violated(std::string text) {
  line("VIOLATION " + text);
  if (violation_.empty()) violation_ = std::move(text);
}

std::string sim_trace::text() const {
  std::string all = "--- " + title_ + "\n";
  for (const auto& text : lines_) all += text + '\n';
  return all;
}

}  // namespace mirrord::sim
