#include "client/backoff.hpp"

#include <catch2/catch.hpp>

using mirrord::client::backoff;
using std::chrono::milliseconds;

TEST_CASE("back-off doubles from the initial wait to the cap", "[backoff]") {
  backoff b(milliseconds(100), milliseconds(1000));
  for (const int expected : {100, 200, 400, 800, 1000, 1000}) CHECK(b.after_failure(0.5) == milliseconds(expected));
  CHECK(b.failures() == 6);
}

TEST_CASE("back-off starts over after a success", "[backoff]") {
  backoff b(milliseconds(100), milliseconds(1000));
  (void)b.after_failure(0.5);
  (void)b.after_failure(0.5);
  b.succeeded();
  CHECK(b.failures() == 0);
  CHECK(b.after_failure(0.5) == milliseconds(100));
}

TEST_CASE("jitter spreads by a fifth to both sides", "[backoff]") {
  backoff b(milliseconds(100), milliseconds(1000));
  CHECK(b.initial(0) == milliseconds(80));
  CHECK(b.initial(1) == milliseconds(120));
  CHECK(b.initial(7) == milliseconds(120));
}

TEST_CASE("an initial wait above the cap is cut to it", "[backoff]") {
  backoff b(milliseconds(500), milliseconds(200));
  CHECK(b.after_failure(0.5) == milliseconds(200));
}

TEST_CASE("very many failures neither overflow nor exceed the cap", "[backoff]") {
  backoff b(milliseconds(1), milliseconds(10'000));
  for (int i = 0; i < 100'000; ++i) (void)b.after_failure(0.5);
  CHECK(b.after_failure(0.5) == milliseconds(10'000));
}
