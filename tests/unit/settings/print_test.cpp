// The printed configuration and the example file: both load again and hold exactly the documented defaults.
#include "settings/sections.hpp"
#include "settings/settings.hpp"

#include <catch2/catch.hpp>

#include <cctype>
#include <fstream>
#include <sstream>

using namespace mirrord;

namespace {

std::string example_text() {
  std::ifstream in(std::string(MIRRORD_GOLDEN_DIR) + "/../../config/kafka-mirrord.yaml");
  std::ostringstream out;
  out << in.rdbuf();
  REQUIRE_FALSE(out.str().empty());
  return out.str();
}

// Every "#key: default" line taken in; "# text" stays a comment.
std::string with_defaults_spelled_out(const std::string& text) {
  std::istringstream in(text);
  std::string out;
  for (std::string line; std::getline(in, line);) {
    const auto hash = line.find_first_not_of(' ');
    if (hash != std::string::npos && line[hash] == '#' && hash + 1 < line.size() && std::islower(static_cast<unsigned char>(line[hash + 1]))) line.erase(hash, 1);
    out += line + '\n';
  }
  return out;
}

// The text of all comments in one line.
std::string comments_of(const std::string& text) {
  std::istringstream in(text);
  std::string out;
  for (std::string line; std::getline(in, line);) {
    const auto hash = line.find("# ");
    if (hash != std::string::npos) out += line.substr(hash + 2) + ' ';
  }
  return out;
}

template <class Section>
void check_documented(const std::vector<field<Section>>& rows, const std::string& text) {
  const std::string comments = comments_of(text);
  for (const auto& row : rows) {
    INFO(row.key);
    const std::string as_key = std::string(row.key) + ": ";
    CHECK((text.find(" " + as_key) != std::string::npos || text.find("#" + as_key) != std::string::npos));
    CHECK(comments.find(row.doc) != std::string::npos);
  }
}

}  // namespace

TEST_CASE("the example file loads, and its commented lines are the defaults") {
  const auto text = example_text();
  const auto plain = load_config_text(text, "kafka-mirrord.yaml");
  REQUIRE((plain ? "" : plain.error().message()) == std::string{});
  const auto spelled_out = load_config_text(with_defaults_spelled_out(text), "kafka-mirrord.yaml");
  REQUIRE((spelled_out ? "" : spelled_out.error().message()) == std::string{});
  CHECK(print_config(*plain) == print_config(*spelled_out));

  settings expected;
  expected.destination.bootstrap_servers = {"localhost:9092"};
  mirror_settings mirror;
  mirror.name = "orders-dr";
  mirror.source.bootstrap_servers = {"source.example.com:9092"};
  mirror.topics_include = {"orders", "payments-.*"};
  expected.mirrors = {mirror};
  CHECK(print_config(*spelled_out) == print_config(expected));
}

TEST_CASE("the example file documents every key in the words of the field tables") {
  const auto text = example_text();
  check_documented(daemon_fields(), text);
  check_documented(mirror_fields(), text);
  check_documented(connection_fields(), text);
}

TEST_CASE("a printed configuration loads again, without its secrets") {
  const auto first = load_config_text(R"(
destination:
  bootstrap.servers: a:1,b:2
  security.protocol: SASL_SSL
  sasl.username: "quote \" backslash \\ tab \t dollar $${x}"
  sasl.password: user-secret
  ssl.certificate.location: /c
  ssl.key.location: /k
  ssl.key.password: key-secret
mirrors:
  - name: one
    source: {bootstrap.servers: c:1, request.timeout.ms: 61001}
    topics.include: [a, 'b\d+']
    topics.exclude: []
  - name: two
    source: {bootstrap.servers: "[::1]:1"}
    topics.include: ["x.*"]
http.listen: "[::1]:0"
lanes: 7
)",
                                      "f.yaml")
                         .value();
  const std::string printed = print_config(first);
  CHECK(printed.find("secret") == std::string::npos);
  CHECK(printed.find("sasl.password: \"[hidden]\"") != std::string::npos);
  const auto second = load_config_text(printed, "printed.yaml");
  REQUIRE((second ? "" : second.error().message()) == std::string{});
  CHECK(print_config(*second) == printed);
  CHECK(second->destination.sasl_username == first.destination.sasl_username);
  CHECK(second->destination.sasl_username == "quote \" backslash \\ tab \t dollar ${x}");
  CHECK(second->mirrors[0].source.request_timeout == std::chrono::milliseconds(61001));
  CHECK(second->mirrors[0].topics_exclude.empty());
  CHECK(second->http.address == "::1");
}

TEST_CASE("every default lies within its own bounds and choices") {
  const auto check = [](const auto& rows, const auto& section) {
    for (const auto& row : rows) {
      INFO(row.key);
      const field_value value = row.get(section);
      if (row.kind == value_kind::choice) CHECK(static_cast<std::size_t>(std::get<std::int64_t>(value)) < row.choices.size());
      if (row.kind == value_kind::integer || row.kind == value_kind::size || row.kind == value_kind::duration) {
        CHECK(std::get<std::int64_t>(value) >= row.min);
        CHECK(std::get<std::int64_t>(value) <= row.max);
      }
      if (row.kind == value_kind::integer) CHECK_FALSE(row.unit.empty());
      CHECK(row.doc.ends_with('.'));
    }
  };
  check(daemon_fields(), settings{});
  check(mirror_fields(), mirror_settings{});
  check(connection_fields(), connection_settings{});
}
