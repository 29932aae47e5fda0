#include "base/ids.hpp"

#include <catch2/catch.hpp>

#include <type_traits>
#include <unordered_set>

namespace mirrord {

TEST_CASE("ids of different kinds do not meet") {
  STATIC_REQUIRE_FALSE(std::is_convertible_v<source_pid, destination_pid>);
  STATIC_REQUIRE_FALSE(std::is_convertible_v<std::int64_t, source_pid>);
  CHECK(source_pid{1} < source_pid{2});
  CHECK(broker_id{3} == broker_id{3});
  CHECK(std::unordered_set<source_pid>{source_pid{1}, source_pid{1}, source_pid{2}}.size() == 2);
}

TEST_CASE("topic ids: Kafka's text form and back") {
  topic_id id;
  for (std::size_t i = 0; i < id.bytes.size(); ++i) id.bytes[i] = static_cast<std::uint8_t>(i * 0x11);
  CHECK(id.text() == "ABEiM0RVZneImaq7zN3u_w");  // what org.apache.kafka.common.Uuid prints
  CHECK(topic_id::parse(id.text()) == id);
  CHECK(topic_id{}.is_zero());
  CHECK(topic_id{}.text() == "AAAAAAAAAAAAAAAAAAAAAA");
  topic_id ones;
  ones.bytes.fill(0xff);
  CHECK(ones.text() == "_____________________w");
  CHECK(topic_id::parse(ones.text()) == ones);
}

TEST_CASE("topic ids: what is not one") {
  CHECK_FALSE(topic_id::parse(""));
  CHECK_FALSE(topic_id::parse("ABEiM0RVZneImaq7zN3u_"));
  CHECK_FALSE(topic_id::parse("ABEiM0RVZneImaq7zN3u_w="));
  CHECK_FALSE(topic_id::parse("ABEiM0RVZneImaq7zN3u/w"));
  CHECK_FALSE(topic_id::parse("ABEiM0RVZneImaq7zN3u_x"));  // bits beyond the 128th
}

TEST_CASE("topic partitions") {
  const topic_partition a{"orders", 3};
  CHECK(a.text() == "orders-3");
  CHECK(a < topic_partition{"orders", 4});
  CHECK(std::unordered_set<topic_partition>{a, a, {"orders", 4}}.size() == 2);
}

}  // namespace mirrord
