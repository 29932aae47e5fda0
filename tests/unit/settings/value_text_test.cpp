// Numbers, sizes, durations, references: what is taken, what is refused, and with which words.
#include "settings/value_text.hpp"

#include <catch2/catch.hpp>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>

#include <unistd.h>

using namespace mirrord;

namespace {

std::string error_of(const auto& parsed) { return parsed ? std::string("(accepted)") : parsed.error().context; }

struct temporary_file {
  explicit temporary_file(std::string_view content) : path(std::filesystem::temp_directory_path() / ("mirrord-settings-test-" + std::to_string(::getpid()))) {
    std::ofstream(path, std::ios::binary) << content;
  }
  ~temporary_file() { std::filesystem::remove(path); }
  std::filesystem::path path;
};

}  // namespace

TEST_CASE("whole numbers") {
  CHECK(*parse_integer("0") == 0);
  CHECK(*parse_integer("-1") == -1);
  CHECK(*parse_integer("9223372036854775807") == std::numeric_limits<std::int64_t>::max());
  CHECK(error_of(parse_integer("9223372036854775808")) == "out of range");
  for (const auto* text : {"010", "00", "-01"}) {
    INFO(text);
    CHECK_THAT(error_of(parse_integer(text)), Catch::Contains("leading zero"));
  }
  for (const auto* text : {"", "-", "+1", "0x10", "1e3", "1_000", "1.5", " 1", "1 ", "ten", "--1"}) {
    INFO(text);
    CHECK(error_of(parse_integer(text)) == "not a whole number");
  }
}

TEST_CASE("sizes") {
  CHECK(*parse_size("1048576") == 1048576);
  CHECK(*parse_size("512KiB") == 512 * 1024);
  CHECK(*parse_size("1 MiB") == 1024 * 1024);
  CHECK(*parse_size("3GiB") == 3LL * 1024 * 1024 * 1024);
  CHECK(*parse_size("7B") == 7);
  CHECK(error_of(parse_size("1MB")) == "unknown unit; known are B, KiB, MiB, GiB");
  CHECK(error_of(parse_size("MiB")) == "not a whole number with a unit (B, KiB, MiB, GiB)");
  CHECK_THAT(error_of(parse_size("08KiB")), Catch::Contains("leading zero"));
  CHECK(error_of(parse_size("9223372036854775807KiB")) == "out of range");
  CHECK_FALSE((parse_size("1.5MiB")).has_value());
  CHECK_FALSE((parse_size("")).has_value());
}

TEST_CASE("durations") {
  CHECK(*parse_duration("250ms", false) == 250);
  CHECK(*parse_duration("30s", false) == 30'000);
  CHECK(*parse_duration("5m", false) == 300'000);
  CHECK(*parse_duration("2h", false) == 7'200'000);
  CHECK(*parse_duration("1d", false) == 86'400'000);
  CHECK(*parse_duration("500", true) == 500);
  CHECK(error_of(parse_duration("500", false)) == "a duration needs a unit: ms, s, m, h, d");
  CHECK(error_of(parse_duration("5min", true)) == "unknown unit; known are ms, s, m, h, d");
  CHECK_THAT(error_of(parse_duration("030s", true)), Catch::Contains("leading zero"));
  CHECK_THAT(error_of(parse_duration("010", true)), Catch::Contains("leading zero"));
  CHECK_FALSE((parse_duration("", true)).has_value());
  CHECK_FALSE((parse_duration("s", true)).has_value());
}

TEST_CASE("references to the environment and to files") {
  const temporary_file file("hunter2\r\n");
  ::setenv("MIRRORD_TEST_USER", "alice", 1);
  ::unsetenv("MIRRORD_TEST_MISSING");
  CHECK(*expand_references("plain $ {text}") == "plain $ {text}");
  CHECK(*expand_references("${env:MIRRORD_TEST_USER}") == "alice");
  CHECK(*expand_references("<${env:MIRRORD_TEST_USER}:${file:" + file.path.string() + "}>") == "<alice:hunter2>");
  CHECK(*expand_references("a$${env:X}b") == "a${env:X}b");
  CHECK(error_of(expand_references("${env:MIRRORD_TEST_MISSING}")) == "${env:MIRRORD_TEST_MISSING}: the environment variable is not set");
  CHECK(error_of(expand_references("${file:/nowhere/at/all}")) == "${file:/nowhere/at/all}: the file cannot be opened");
  CHECK(error_of(expand_references("${file:relative}")) == "${file:relative}: the path must start with /");
  CHECK(error_of(expand_references("${file:/tmp}")) == "${file:/tmp}: the file cannot be read");
  CHECK_THAT(error_of(expand_references("${file:/dev/zero}")), Catch::Contains("larger than"));
  CHECK_THAT(error_of(expand_references("${vault:x}")), Catch::Contains("unknown reference"));
  CHECK_THAT(error_of(expand_references("${env:MIRRORD")), Catch::Contains("without its closing }"));
}

TEST_CASE("a value of a reference is not searched for references again") {
  ::setenv("MIRRORD_TEST_NESTED", "${env:HOME}", 1);
  CHECK(*expand_references("${env:MIRRORD_TEST_NESTED}") == "${env:HOME}");
}

TEST_CASE("formatting is the inverse of parsing") {
  const field_rules size{.key = "a.bytes", .kind = value_kind::size, .min = 0, .max = std::numeric_limits<std::int64_t>::max()};
  const field_rules duration{.key = "a.ms", .kind = value_kind::duration, .min = 0, .max = std::numeric_limits<std::int64_t>::max()};
  for (const std::int64_t value : {0LL, 1LL, 999LL, 1024LL, 1048576LL, 1048577LL, 90'000LL, 86'400'000LL, 9'223'372'036'854'775'807LL}) {
    INFO(value);
    CHECK(std::get<std::int64_t>(*parse_scalar(size, format_value(size, value))) == value);
    CHECK(std::get<std::int64_t>(*parse_scalar(duration, format_value(duration, value))) == value);
  }
  CHECK(format_value(size, std::int64_t{1048576}) == "1MiB");
  CHECK(format_value(duration, std::int64_t{90'000}) == "90s");
}

TEST_CASE("the nearest key") {
  const std::vector<std::string_view> known = {"bootstrap.servers", "client.id", "lanes", "fetch.max.bytes", "fetch.min.bytes"};
  CHECK(nearest_key("bootstrap.server", known) == "bootstrap.servers");
  CHECK(nearest_key("bootsrtap.servers", known) == "bootstrap.servers");
  CHECK(nearest_key("fetch.maxbytes", known) == "fetch.max.bytes");
  CHECK(nearest_key("lane", known) == "lanes");
  CHECK(nearest_key("zookeeper.connect", known).empty());
  CHECK(nearest_key("x", known).empty());
}
