#include "base/check.hpp"

#include <cstdio>
#include <cstdlib>

namespace mirrord::detail {

void check_failed(std::string_view condition, std::string_view values, const char* file, int line) {
  fmt::print(stderr, "invariant broken: {} ({}) at {}:{}\n", condition, values, file, line);
  std::fflush(stderr);
  std::abort();
}

}  // namespace mirrord::detail
