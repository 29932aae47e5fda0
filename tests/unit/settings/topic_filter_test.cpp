// Which topics belong to a mirror, as a table.
#include "settings/topic_filter.hpp"

#include <catch2/catch.hpp>

using namespace mirrord;

namespace {

topic_filter make(const std::vector<std::string>& include, const std::vector<std::string>& exclude = {"__.*"}) {
  auto filter = topic_filter::compile(include, exclude);
  REQUIRE(filter.has_value());
  return std::move(*filter);
}

}  // namespace

TEST_CASE("verdict by include list, exclude list and topic") {
  using enum topic_verdict;
  struct row {
    std::vector<std::string> include;
    std::vector<std::string> exclude;
    std::string topic;
    topic_verdict verdict;
  };
  const std::vector<row> rows = {
      {{"orders"}, {}, "orders", included},
      {{"orders"}, {}, "orders2", not_included},
      {{"orders"}, {}, "my-orders", not_included},
      {{"orders.eu"}, {}, "orders.eu", included},
      {{"orders.eu"}, {}, "ordersXeu", not_included},  // a name, although '.' would be a pattern
      {{"orders-.*"}, {}, "orders-1", included},
      {{"orders-.*"}, {}, "orders-", included},
      {{"orders-.*"}, {}, "x-orders-1", not_included},  // full match, not a search
      {{"a|b"}, {}, "ab", not_included},
      {{"a|b"}, {}, "b", included},
      {{"a", "b"}, {}, "b", included},
      {{".*"}, {}, "payments", included},
      {{".*"}, {"payments"}, "payments", excluded},
      {{"payments"}, {"pay.*"}, "payments", excluded},
      {{"payments"}, {"payments"}, "payments", excluded},
      {{".*"}, {"pay"}, "payments", included},
      {{"orders"}, {"pay.*"}, "payments", excluded},
      {{".*"}, {"__.*"}, "__mine", excluded},
      {{".*"}, {}, "__mine", included},
      {{"(?i)ORDERS"}, {}, "orders", included},
      {{}, {}, "orders", not_included},
      {{".*"}, {}, "__consumer_offsets", internal},
      {{"__consumer_offsets"}, {}, "__consumer_offsets", internal},
      {{".*"}, {}, "__transaction_state", internal},
      {{".*"}, {}, "__share_group_state", internal},
      {{".*"}, {"__.*"}, "__mirror_state", internal},
  };
  for (const auto& r : rows) {
    INFO(r.topic << " against " << (r.include.empty() ? "nothing" : r.include.front()));
    const auto filter = make(r.include, r.exclude);
    CHECK(filter.decide(r.topic) == r.verdict);
    CHECK(filter.matches(r.topic) == (r.verdict == included));
  }
}

TEST_CASE("the names among the included entries are known, since each must exist") {
  const auto filter = make({"zebra", "orders-.*", "a.b_c-d"});
  CHECK(filter.included_names() == std::vector<std::string>{"a.b_c-d", "zebra"});
}

TEST_CASE("what is no name and no pattern is refused with its list") {
  const auto bad_include = topic_filter::compile({"good", "orders-("}, {});
  REQUIRE_FALSE(bad_include.has_value());
  CHECK(bad_include.error().code == errc::invalid);
  CHECK_THAT(bad_include.error().message(), Catch::StartsWith("topics.include 'orders-(': not an RE2 pattern"));
  const auto bad_exclude = topic_filter::compile({"good"}, {"(?=x)"});
  REQUIRE_FALSE(bad_exclude.has_value());
  CHECK_THAT(bad_exclude.error().message(), Catch::StartsWith("topics.exclude '(?=x)': not an RE2 pattern"));
  CHECK(topic_entry_problem("") == "empty entry");
  CHECK(topic_entry_problem("..") == "not a topic name");
  CHECK(topic_entry_problem(std::string(249, 'a')).empty());
  CHECK_THAT(topic_entry_problem(std::string(250, 'a')), Catch::Contains("249"));
}
