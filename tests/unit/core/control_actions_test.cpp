#include "core/control_actions.hpp"

#include <catch2/catch.hpp>

#include <string>
#include <vector>

using namespace mirrord::core;

namespace {

enum class failing { no, yes, any };

// A decision in one word: the wish, or the effect and a piece of its text.
std::string told(const control_decision& d) {
  switch (d.effect) {
    case control_effect::want: return "want" + std::string(d.wanted == desired_state::mirroring ? ".mirroring" : suffix_of(d.wanted));
    case control_effect::recover: return "recover";
    case control_effect::nothing: return "nothing: " + std::string(d.text);
    case control_effect::refuse: return "refuse: " + std::string(d.text);
  }
  return {};
}

struct row {
  control_action action;
  desired_state desired;
  bool all_stopped;
  bool some_failed;
  std::string begins;
};

using enum control_action;
constexpr auto on = desired_state::mirroring;
constexpr auto held = desired_state::paused;
constexpr auto off = desired_state::stopped;

const std::vector<row> rows{
    {start, on, false, false, "nothing: is mirrored already"},
    {start, on, false, true, "refuse: is wanted mirrored already, but is FAILED"},
    {start, on, true, false, "nothing: is mirrored already"},
    {start, on, true, true, "refuse: is wanted mirrored already, but is FAILED"},
    {start, held, false, false, "refuse: is paused: --resume it"},
    {start, held, false, true, "refuse: is paused: --resume it"},
    {start, held, true, false, "refuse: is paused: --resume it"},
    {start, held, true, true, "refuse: is paused: --resume it"},
    {start, off, false, false, "want.mirroring"},
    {start, off, false, true, "want.mirroring"},
    {start, off, true, false, "want.mirroring"},
    {start, off, true, true, "want.mirroring"},

    {stop, on, false, false, "want.stopped"},
    {stop, on, false, true, "want.stopped"},
    {stop, on, true, false, "want.stopped"},
    {stop, on, true, true, "want.stopped"},
    {stop, held, false, false, "want.stopped"},
    {stop, held, false, true, "want.stopped"},
    {stop, held, true, false, "want.stopped"},
    {stop, held, true, true, "want.stopped"},
    {stop, off, false, false, "nothing: is being stopped already"},
    {stop, off, false, true, "recover"},
    {stop, off, true, false, "nothing: is stopped already"},
    {stop, off, true, true, "nothing: is stopped already"},

    {pause, on, false, false, "want.paused"},
    {pause, on, false, true, "want.paused"},
    {pause, on, true, false, "want.paused"},
    {pause, on, true, true, "want.paused"},
    {pause, held, false, false, "nothing: is paused already"},
    {pause, held, false, true, "recover"},
    {pause, held, true, false, "nothing: is paused already"},
    {pause, held, true, true, "recover"},
    {pause, off, false, false, "refuse: is stopped: --start it"},
    {pause, off, false, true, "refuse: is stopped: --start it"},
    {pause, off, true, false, "refuse: is stopped: --start it"},
    {pause, off, true, true, "refuse: is stopped: --start it"},

    {resume, on, false, false, "nothing: is mirrored already"},
    {resume, on, false, true, "refuse: is wanted mirrored already, but is FAILED"},
    {resume, on, true, false, "nothing: is mirrored already"},
    {resume, on, true, true, "refuse: is wanted mirrored already, but is FAILED"},
    {resume, held, false, false, "want.mirroring"},
    {resume, held, false, true, "want.mirroring"},
    {resume, held, true, false, "want.mirroring"},
    {resume, held, true, true, "want.mirroring"},
    {resume, off, false, false, "refuse: is stopped: --start it"},
    {resume, off, false, true, "refuse: is stopped: --start it"},
    {resume, off, true, false, "refuse: is stopped: --start it"},
    {resume, off, true, true, "refuse: is stopped: --start it"},

    {recover, on, false, false, "nothing: has nothing that is FAILED"},
    {recover, on, false, true, "recover"},
    {recover, on, true, false, "nothing: has nothing that is FAILED"},
    {recover, on, true, true, "recover"},
    {recover, held, false, false, "nothing: has nothing that is FAILED"},
    {recover, held, false, true, "recover"},
    {recover, held, true, false, "nothing: has nothing that is FAILED"},
    {recover, held, true, true, "recover"},
    {recover, off, false, false, "nothing: has nothing that is FAILED"},
    {recover, off, false, true, "recover"},
    {recover, off, true, false, "nothing: has nothing that is FAILED"},
    {recover, off, true, true, "recover"},
};

}  // namespace

TEST_CASE("each action in each situation does what the table says", "[control_actions]") {
  std::size_t seen = 0;
  for (const auto action : all_control_actions) {
    if (!is_change(action)) continue;
    for (const auto desired : {on, held, off}) {
      for (const bool all_stopped : {false, true}) {
        for (const bool some_failed : {false, true}) {
          INFO(name(action) << " wanted '" << suffix_of(desired) << "' stopped " << all_stopped << " failed " << some_failed);
          REQUIRE(seen < rows.size());
          const row& expected = rows[seen++];
          REQUIRE((expected.action == action && expected.desired == desired && expected.all_stopped == all_stopped && expected.some_failed == some_failed));
          const std::string decided = told(decide_control(action, {desired, all_stopped, some_failed}));
          CHECK(decided.substr(0, expected.begins.size()) == expected.begins);
        }
      }
    }
  }
  CHECK(seen == rows.size());
}

TEST_CASE("list and describe change nothing", "[control_actions]") {
  for (const auto action : {list, describe}) {
    for (const auto desired : {on, held, off}) CHECK(decide_control(action, {desired, true, true}) == control_decision{});
  }
}

TEST_CASE("start asks for a topic of the mirror", "[control_actions]") {
  for (const auto desired : {on, held, off}) {
    const auto decided = decide_control(start, {.desired = desired, .included = false});
    CHECK(decided.effect == control_effect::refuse);
    CHECK(decided.text.find("topics.include") != std::string_view::npos);
  }
}

TEST_CASE("actions are known by their words", "[control_actions]") {
  for (const auto action : all_control_actions) CHECK(control_action_of(name(action)) == action);
  CHECK_FALSE(control_action_of("promote").has_value());
  CHECK_FALSE(control_action_of("").has_value());
  CHECK(aim_of(stop) == partition_state::stopped);
  CHECK(aim_of(control_action::pause) == partition_state::paused);
  CHECK(aim_of(start) == partition_state::mirroring);
  CHECK(aim_of(resume) == partition_state::mirroring);
  CHECK_FALSE(aim_of(recover).has_value());
}
