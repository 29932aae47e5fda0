#include "base/log.hpp"

#include "base/error.hpp"

#include <catch2/catch.hpp>

#include <unistd.h>

#include <cstdio>
#include <string>

namespace mirrord {
namespace {

// What is written to file descriptor 2 while `body` runs.
template <class Body>
std::string captured_stderr(Body body) {
  std::FILE* const file = std::tmpfile();
  REQUIRE(file != nullptr);
  std::fflush(stderr);
  const int saved = ::dup(2);
  ::dup2(::fileno(file), 2);
  body();
  std::fflush(stderr);
  ::dup2(saved, 2);
  ::close(saved);
  std::rewind(file);
  std::string text;
  for (int c = std::fgetc(file); c != EOF; c = std::fgetc(file)) text += static_cast<char>(c);
  std::fclose(file);
  return text;
}

void start_once() {
  static const bool started = (log::start(log::level::info), true);
  CHECK(started);
}

}  // namespace

TEST_CASE("a log line: time, level, event, fields, quoted where they need it") {
  start_once();
  const std::string text = captured_stderr([] {
    log::warn("partition_failed", {{"partition", "orders-3"}, {"offset", 17}, {"text", "two words"}, {"empty", ""}, {"odd", "a\"b\\c\nd=e\x01"}});
  });
  CHECK_THAT(text, Catch::Matches("\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d\\.\\d{3}Z warning partition_failed .*\n"));
  CHECK_THAT(text, Catch::EndsWith(" partition_failed partition=orders-3 offset=17 text=\"two words\" empty=\"\" odd=\"a\\\"b\\\\c\\nd=e\\x01\"\n"));
}

TEST_CASE("an error's message stays one log field, whatever the broker put into it") {
  start_once();
  const std::string text = captured_stderr([] { log::error("fetch_failed", {{"error", broker_failure(6, "fetch orders-3", "moved\nlevel=info fake=line").message()}}); });
  CHECK_THAT(text, Catch::EndsWith(" error fetch_failed error=\"fetch orders-3: NOT_LEADER_OR_FOLLOWER (6): moved\\nlevel=info fake=line\"\n"));
}

TEST_CASE("lines below the threshold are not written") {
  start_once();
  CHECK_FALSE(log::enabled(log::level::debug));
  CHECK(log::enabled(log::level::info));
  CHECK(captured_stderr([] { log::debug("noise", {{"n", 1}}); }).empty());
}

TEST_CASE("another sink gets the lines in the place of stderr") {
  std::string got;
  log::start(log::level::warn, [&got](log::level, const std::string& line) { got += line + "|"; });
  const std::string text = captured_stderr([] {
    log::info("quiet");
    log::warn("loud", {{"n", 1}});
  });
  log::start(log::level::info, {});
  CHECK(text.empty());
  CHECK(got == "loud n=1|");
}

}  // namespace mirrord
