// Crashes at every step: small scripted histories, each run again and again with a crash after the first event, after the
// second, and so on until the history is over before the crash comes.
//
// Each step runs under several seeds: what was on its way when the daemon died arrives, is lost, or comes late; in the
// odd ones the next daemon dies as well, while it takes over. MIRRORD_SIM_STRIDE=N tries every N-th step only; a failure
// tells the command that runs its step alone.
#include "tests/sim/scenario.hpp"

#include <catch2/catch.hpp>

#include <cstdlib>
#include <iostream>

namespace mirrord::sim {
namespace {

using std::chrono::milliseconds;

constexpr std::uint64_t seeds = 4;
constexpr std::uint64_t steps_max = 20'000;  // far more than any of these histories has

struct history {
  const char* name;
  void (*begin)(scenario& s);  // the source before the mirror starts
  void (*go_on)(scenario& s);  // and what happens while it runs
  bool fresh = true;
  log_settings settings{};
};

std::vector<std::int64_t> offsets(std::int64_t first, std::int64_t last) {
  std::vector<std::int64_t> all;
  for (auto offset = first; offset <= last; ++offset) all.push_back(offset);
  return all;
}

const std::vector<history> histories{
    {"plain batches, several under way",
     [](scenario& s) {
       for (int i = 0; i < 12; ++i) s.plain(2);
     },
     [](scenario& s) {
       s.pass(milliseconds(40));
       for (int i = 0; i < 6; ++i) s.plain(1);
     }},
    {"interleaved transactions, one left open",
     [](scenario& s) {
       s.transactional(200, 2);
       s.transactional(201, 1);
       s.plain(1);
       s.end(200, true);
       s.transactional(202, 2);
       s.end(201, false);
     },
     [](scenario& s) {
       s.pass(milliseconds(30));
       s.transactional(200, 1);
       s.end(202, true);
       s.transactional(201, 1);
       s.end(200, false);
     }},
    {"holes and lone markers between data",
     [](scenario& s) {
       s.plain(6);
       s.end(300, true);
       s.plain(5);
       s.plain(2);
       s.compact(0, offsets(1, 3));
       s.compact(7, offsets(7, 11), true);
     },
     [](scenario& s) {
       s.pass(milliseconds(20));
       s.end(301, false);
       s.transactional(200, 1);
       s.end(302, false);
       s.end(200, true);
     }},
    {"a leading gap on a new topic, filled in bulk and trimmed",
     [](scenario& s) {
       s.plain(300);
       s.plain(4);
       s.source.settle_high_watermark();
       s.source.move_start(300);
     },
     [](scenario& s) {
       s.pass(milliseconds(20));
       s.plain(2);
     }},
    {"a leading gap on a topic with readers, filled with markers",
     [](scenario& s) {
       s.plain(1'200);
       s.plain(3);
       s.source.settle_high_watermark();
       s.source.move_start(1'200);
     },
     [](scenario& s) {
       s.pass(milliseconds(20));
       s.plain(2);
     },
     false},
    {"the log start moves while a transaction is open",
     [](scenario& s) {
       s.plain(5);
       s.transactional(200, 3);
     },
     [](scenario& s) {
       s.pass(milliseconds(20));
       s.source.move_start(4);
       s.pass(milliseconds(20));
       s.plain(2);
       s.end(200, true);
     }},
    {"an orderly restart with an open transaction",
     [](scenario& s) {
       s.transactional(200, 2);
       s.plain(3);
     },
     [](scenario& s) {
       s.pass(milliseconds(30));
       s.restart_in_order();
       s.transactional(200, 1);
       s.end(200, true);
       s.pass(milliseconds(20));
       s.restart_in_order();
       s.plain(1);
     }},
    {"a leader move in the middle of a run",
     [](scenario& s) {
       for (int i = 0; i < 8; ++i) s.plain(2);
       s.transactional(200, 1);
     },
     [](scenario& s) {
       s.pass(milliseconds(15));
       s.destination.move_leader(true);
       s.pass(milliseconds(200));
       s.end(200, true);
       s.plain(1);
     }},
    {"batches that must be split",
     [](scenario& s) {
       s.plain(30);
       s.transactional(200, 20);
     },
     [](scenario& s) {
       s.pass(milliseconds(20));
       s.end(200, false);
       s.plain(25);
     },
     true,
     log_settings{300, false, true}},
    {"old records, whose producer is forgotten all the time",
     [](scenario& s) {
       s.record_age = std::chrono::hours(48);
       for (int i = 0; i < 5; ++i) s.plain(2);
     },
     [](scenario& s) {
       for (int i = 0; i < 8; ++i) {
         s.pass(milliseconds(4));
         s.destination.expire_producers();
       }
       s.plain(2);
     }},
};

std::uint64_t number_from_environment(const char* name, std::uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text ? std::stoull(text) : otherwise;
}

// Whether the crash came before the end of the history.
bool run_with_crash(std::size_t index, std::uint64_t seed, std::uint64_t step) {
  const history& what = histories[index];
  scenario s(what.settings, seed);
  s.record_source_of_failure("'" + std::string(what.name) + "', replay: MIRRORD_SIM_HISTORY=" + std::to_string(index) + " MIRRORD_SIM_FIRST=" +
                             std::to_string(seed) + " MIRRORD_SIM_STEP=" + std::to_string(step) + " build/release/tests/sim '[steps]'");
  what.begin(s);
  bool crashed = false;
  s.clock.after_events(step, [&] {
    crashed = true;
    s.crash_and_restart();
    if (seed % 2 == 1) s.clock.after_events(3 + step * 7 % 40, [&] { s.crash_and_restart(); });
  });
  s.start(what.fresh);
  what.go_on(s);
  s.expect_equal();
  if (!crashed) return false;
  s.pass(std::chrono::seconds(2));  // a late request must not find its place now
  s.expect_equal();
  return true;
}

TEST_CASE("a crash after any event leaves the destination equal", "[steps]") {
  if (const auto step = number_from_environment("MIRRORD_SIM_STEP", 0); step > 0) {
    CHECK(run_with_crash(number_from_environment("MIRRORD_SIM_HISTORY", 0), number_from_environment("MIRRORD_SIM_FIRST", 0), step));
    return;
  }
  const auto stride = number_from_environment("MIRRORD_SIM_STRIDE", 1);
  std::uint64_t crashes = 0;
  for (std::size_t index = 0; index < histories.size(); ++index) {
    for (std::uint64_t seed = 0; seed < seeds; ++seed) {
      std::uint64_t step = 1;
      while (run_with_crash(index, seed, step)) {
        ++crashes;
        step += stride;
        REQUIRE(step < steps_max);
      }
      INFO(histories[index].name);
      CHECK(step > 30);
    }
  }
  std::cout << histories.size() << " histories, a crash at every step: " << crashes << " runs\n";
}

}  // namespace
}  // namespace mirrord::sim
