// Reports: what a topic's view becomes, how long reports are split, which topics a request means.
#include "mirror/control_items.hpp"

#include <catch2/catch.hpp>

#include <fmt/format.h>

using namespace mirrord;
using namespace mirrord::mirror;
using core::partition_state;

namespace {

partition_view partition(partition_state state, std::int64_t source_end = 10, std::int64_t destination_end = 8) {
  partition_view view;
  view.state = state;
  view.source_end = source_end;
  view.destination_end = destination_end;
  return view;
}

topic_view topic(std::vector<partition_view> partitions) {
  topic_view view;
  view.topic = "orders";
  for (std::size_t i = 0; i < partitions.size(); ++i) view.partitions.emplace(static_cast<std::int32_t>(i), std::move(partitions[i]));
  return view;
}

std::vector<std::string> entries(const meant_topics& meant) {
  std::vector<std::string> list;
  for (const auto& item : meant.unmatched) list.push_back(item.topic + ": " + item.message);
  return list;
}

}  // namespace

TEST_CASE("a topic's situation is what its partitions are", "[control_items]") {
  using enum partition_state;
  CHECK(situation_of(topic({partition(stopped), partition(stopped)})).all_stopped);
  CHECK_FALSE(situation_of(topic({partition(stopped), partition(stopping)})).all_stopped);
  CHECK_FALSE(situation_of(topic({})).all_stopped);
  CHECK_FALSE(situation_of(topic({partition(mirroring)})).some_failed);
  CHECK(situation_of(topic({partition(mirroring), partition(failed)})).some_failed);
  topic_view unprepared = topic({});
  unprepared.last_error = fail(errc::not_found, "no such topic");
  CHECK(situation_of(unprepared).some_failed);

  CHECK(state_of(topic({})) == unknown);
  CHECK(state_of(topic({partition(mirroring), partition(mirroring)})) == mirroring);
  CHECK(state_of(topic({partition(mirroring), partition(paused)})) == preparing);
  CHECK(state_of(topic({partition(mirroring), partition(failed)})) == failed);
  CHECK(state_of(unprepared) == failed);
}

TEST_CASE("a topic's item sums its ends and quotes its first failure", "[control_items]") {
  partition_view failed = partition(partition_state::failed);
  failed.retry_attempt = -1;
  failed.last_error = fail(errc::foreign_write, "somebody wrote");
  const auto item = item_of("m", topic({partition(partition_state::mirroring, 5, 5), failed}), {});
  CHECK(item.mirror == "m");
  CHECK(item.state == "FAILED");
  CHECK(item.source_end == 15);
  CHECK(item.destination_end == 13);
  CHECK(item.retry_attempt == -1);
  CHECK(item.message.starts_with("partition 1: somebody wrote"));
  CHECK(item_of("m", topic({partition(partition_state::mirroring, -1, 5)}), {}).source_end == -1);
  CHECK(item_of("m", topic({}), {}).destination_end == -1);
}

TEST_CASE("a partition's item tells an error only while it explains the state", "[control_items]") {
  for (const auto state : core::all_partition_states) {
    partition_view view = partition(state);
    view.last_error = fail(errc::timed_out, "late");
    const auto items = partition_items("m", topic({view}), {});
    REQUIRE(items.size() == 1);
    CHECK(items[0].partition == 0);
    CHECK(items[0].state == core::name(state));
    const bool settled = state == partition_state::mirroring || state == partition_state::paused || state == partition_state::stopped;
    CHECK(items[0].message.empty() == settled);
  }
  const auto none = partition_items("m", topic({}), {});
  REQUIRE(none.size() == 1);
  CHECK(none[0].partition == -1);
  topic_view refused = topic({partition(partition_state::stopped)});
  refused.last_error = fail(errc::diverged, "has records of its own");
  const auto both = partition_items("m", refused, {});
  REQUIRE(both.size() == 2);
  CHECK(both[0].partition == -1);
  CHECK(both[0].state == "FAILED");
  CHECK(both[0].message.starts_with("has records of its own"));
  CHECK(both[1].state == "STOPPED");
}

TEST_CASE("a mirror's item tells its topics and its source", "[control_items]") {
  mirror_view view;
  view.name = "m";
  view.source_cluster_id = "abc";
  view.topics.push_back(topic({partition(partition_state::mirroring)}));
  const auto item = item_of(view, {"a:1", "b:2"}, {});
  CHECK(item.state == "MIRRORING");
  CHECK(item.details == std::vector<config_property>{{"topics", "1"}, {"source.cluster.id", "abc"}, {"source.bootstrap.servers", "a:1,b:2"}});
  view.last_error = fail(errc::unreachable, "source is down");
  CHECK(item_of(view, {}, {}).state == "FAILED");
}

TEST_CASE("texts are cut between characters to what a record holds", "[control_items]") {
  std::string text;
  while (text.size() < 2 * report_text_max) text += "\xc3\xa4";
  const auto item = failed_item("m", text, text + "x");
  CHECK(item.message.size() <= report_text_max);
  CHECK(item.message.ends_with("\xc3\xa4..."));
  CHECK(item.topic.size() <= report_text_max);
}

TEST_CASE("long reports are split by count and by bytes, in order", "[control_items]") {
  CHECK(split_report("i", {}).size() == 1);
  std::vector<report_item> items;
  for (int n = 1'200; n-- > 0;) items.push_back(failed_item("m", fmt::format("topic-{:04}", n), "why"));
  auto parts = split_report("i", items);
  REQUIRE(parts.size() == 3);
  for (const auto& part : parts) {
    CHECK(part.instance == "i");
    CHECK(part.parts == 3);
  }
  CHECK(parts[0].items.size() == report_items_max);
  CHECK(parts[0].items.front().topic == "topic-0000");
  CHECK(parts[2].items.back().topic == "topic-1199");

  for (auto& item : items) item.message = std::string(report_text_max, 'x');
  std::size_t total = 0;
  for (const auto& part : split_report("i", items)) {
    CHECK(encode_value(part).size() <= report_bytes_max);
    total += part.items.size();
  }
  CHECK(total == items.size());
}

TEST_CASE("a request means topics by name or pattern, and tells what means none", "[control_items]") {
  const std::vector<std::string> known{"orders.eu", "orders.us", "ordersXeu", "users"};
  const auto meant = [&](std::vector<std::string> topics, std::vector<std::string> exclude = {}) {
    request_value request;
    request.topics = std::move(topics);
    request.exclude = std::move(exclude);
    return find_meant_topics("m", request, known);
  };
  CHECK(meant({"orders.eu"}).names == std::vector<std::string>{"orders.eu"});  // a name: its dot is a dot
  CHECK(meant({"orders\\..*"}).names == std::vector<std::string>{"orders.eu", "orders.us"});
  CHECK(meant({"orders\\..*", "users", "users"}).names == std::vector<std::string>{"orders.eu", "orders.us", "users"});
  CHECK(meant({".*"}, {"users", "orders\\..*"}).names == std::vector<std::string>{"ordersXeu"});
  CHECK(meant({"users"}, {"users"}).names.empty());
  CHECK(meant({"users"}, {"users"}).unmatched.empty());
  CHECK(entries(meant({"user", "x.*", "users"})) == std::vector<std::string>{"user: no topic of mirror m is called user", "x.*: no topic of mirror m matches x.*"});
  CHECK(entries(meant({"a("})).front().starts_with("a(: not an RE2 pattern"));
  const auto wrong = meant({".*"}, {"a("});
  CHECK(wrong.names.empty());  // what was to be left out is not known
  CHECK(wrong.unmatched.size() == 1);
}
