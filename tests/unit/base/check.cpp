#include "base/check.hpp"

#include <catch2/catch.hpp>

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <string>

namespace mirrord {

TEST_CASE("a broken invariant prints its values and aborts") {
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    std::signal(SIGABRT, SIG_DFL);  // Catch's own handler would report it as a test failure
    ::dup2(ends[1], 2);
    const int next = 7;
    MIRRORD_CHECK(next == 8, "next {} expected {}", next, 8);
    ::_exit(0);
  }
  ::close(ends[1]);
  std::string text;
  char byte = 0;
  while (::read(ends[0], &byte, 1) == 1) text += byte;
  ::close(ends[0]);
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(WIFSIGNALED(status));
  CHECK(WTERMSIG(status) == SIGABRT);
  CHECK_THAT(text, Catch::StartsWith("invariant broken: next == 8 (next 7 expected 8) at "));
}

}  // namespace mirrord
