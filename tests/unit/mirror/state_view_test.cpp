#include "mirror/state_view.hpp"

#include <catch2/catch.hpp>

using namespace mirrord;
using namespace mirrord::mirror;

namespace {

template <class Key>
void put(state_view& view, std::int64_t offset, const Key& key, const typename Key::value_type& value) {
  view.apply(encode_key(key), offset, encode_value(value));
}

topic_id some_topic(std::uint8_t n) {
  topic_id id;
  id.bytes[0] = n;
  return id;
}

}  // namespace

TEST_CASE("the state view keeps the latest value of each key", "[state_view]") {
  state_view view;
  const fill_plan_key key{{"m", some_topic(1), 0}};
  CHECK_FALSE(view.find(key).has_value());
  put(view, 3, key, fill_plan_value{10});
  put(view, 4, key, fill_plan_value{20});
  CHECK(view.find(key) == fill_plan_value{20});
  CHECK(view.size() == 1);
  view.apply(encode_key(key), 5, std::nullopt);
  CHECK_FALSE(view.find(key).has_value());
  CHECK(view.size() == 0);
  view.apply(encode_key(key), 6, std::nullopt);
  put(view, 7, key, fill_plan_value{30});
  CHECK(view.find(key) == fill_plan_value{30});
}

TEST_CASE("the state view lists one kind of one mirror", "[state_view]") {
  state_view view;
  put(view, 0, mirror_topic_key{"m", some_topic(1)}, {"one", {}, "c"});
  put(view, 1, mirror_topic_key{"m", some_topic(2)}, {"two", {}, "c"});
  put(view, 2, mirror_topic_key{"mm", some_topic(3)}, {"other mirror, longer name", {}, "c"});
  put(view, 3, mirror_topic_key{"l", some_topic(3)}, {"other mirror", {}, "c"});
  put(view, 4, mirror_key{"m"}, {"c", 0});
  put(view, 5, open_slot_key{{"m", some_topic(1), 0}, 1}, {source_pid{5}, 6, 0, 0});

  CHECK(view.list_all<mirror_topic_key>().size() == 4);
  CHECK(view.list_all<mirror_key>().size() == 1);
  CHECK(view.list_all<report_key>().empty());
  const auto topics = view.list<mirror_topic_key>("m");
  REQUIRE(topics.size() == 2);
  CHECK(topics[0].first.destination_topic == some_topic(1));
  CHECK(topics[0].second.topic == "one");
  CHECK(topics[1].second.topic == "two");
  CHECK(view.list<fill_plan_key>("m").empty());
  CHECK(view.list<mirror_topic_key>("nobody").empty());
}

TEST_CASE("of several claims of a producer id the one at the lowest offset wins", "[state_view]") {
  state_view view;
  const producer_id_key winner{"m", 0, destination_pid{900}};
  const producer_id_key loser{"m", 0, destination_pid{100}};
  put(view, 10, winner, {"first"});
  put(view, 11, loser, {"second"});
  put(view, 12, producer_id_key{"m", core::writer_index, destination_pid{7}}, {"first"});
  put(view, 13, producer_id_key{"other", 0, destination_pid{8}}, {"first"});
  const std::map<core::slot_index, destination_pid> expected{{core::writer_index, destination_pid{7}}, {0, destination_pid{900}}};
  CHECK(view.producer_ids("m") == expected);

  SECTION("in whatever order keys sort") {
    state_view other;
    put(other, 10, loser, {"first"});
    put(other, 11, winner, {"second"});
    CHECK(other.producer_ids("m").at(0) == destination_pid{100});
  }
  SECTION("also after compaction, which keeps both since their keys differ") {
    CHECK(encode_key(winner) != encode_key(loser));
  }
  SECTION("until it is erased: then the next one") {
    view.apply(encode_key(winner), 20, std::nullopt);
    CHECK(view.producer_ids("m").at(0) == destination_pid{100});
  }
}

TEST_CASE("the state view holds what it cannot read and hides it from typed look-ups", "[state_view]") {
  state_view view;
  const hand_over_key key{{"m", some_topic(1), 0}};
  std::string newer = encode_value(hand_over_value{"i", 1, 2});
  newer[1] = 9;
  view.apply(encode_key(key), 0, newer);
  CHECK_FALSE(view.find(key).has_value());
  CHECK(view.list<hand_over_key>("m").empty());
  CHECK(view.holds_newer_version(encode_key(key)));
  CHECK(view.size() == 1);

  view.apply(encode_key(key), 1, "x");  // malformed
  CHECK_FALSE(view.find(key).has_value());
  CHECK_FALSE(view.holds_newer_version(encode_key(key)));

  view.apply(std::string("\0\1 of a kind to come", 21), 2, "y");
  CHECK(view.size() == 2);
  CHECK_FALSE(view.holds_newer_version("nothing"));
}
