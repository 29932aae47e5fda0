#include "settings/config_file.hpp"

#include <fstream>

namespace mirrord {
namespace {

// A configuration of 10,000 mirrors fits; a device or a core file given by mistake does not.
constexpr std::size_t config_file_max = 16 * 1024 * 1024;

}  // namespace

result<std::string> read_config_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) return fail(errc::invalid, "the file cannot be opened");
  std::string text;
  char buffer[16 * 1024];
  while (in.read(buffer, sizeof buffer) || in.gcount() > 0) {
    text.append(buffer, static_cast<std::size_t>(in.gcount()));
    if (text.size() > config_file_max) return fail(errc::invalid, "too large for a configuration file");
  }
  if (in.bad() || !in.eof()) return fail(errc::invalid, "the file cannot be read");
  return text;
}

}  // namespace mirrord
