#include "mirror/state_records.hpp"

#include <catch2/catch.hpp>

#include <array>
#include <string>

using namespace mirrord;
using namespace mirrord::mirror;

namespace {

// "00 64 'ab'" style: hex bytes, and quoted text as it stands.
std::string bytes(std::string_view spelled) {
  std::string out;
  for (std::size_t i = 0; i < spelled.size();) {
    if (spelled[i] == ' ') {
      ++i;
    } else if (spelled[i] == '\'') {
      const std::size_t end = spelled.find('\'', i + 1);
      out += spelled.substr(i + 1, end - i - 1);
      i = end + 1;
    } else {
      out += static_cast<char>(std::stoi(std::string(spelled.substr(i, 2)), nullptr, 16));
      i += 2;
    }
  }
  return out;
}

topic_id counting_id() {
  topic_id id;
  for (std::size_t i = 0; i < id.bytes.size(); ++i) id.bytes[i] = static_cast<std::uint8_t>(i);
  return id;
}

constexpr const char* counting_id_bytes = "00 01 02 03 04 05 06 07 08 09 0a 0b 0c 0d 0e 0f";

mirrored_partition some_partition() { return {"a-to-b", counting_id(), 11}; }
const std::string some_partition_bytes = std::string("00 06 'a-to-b' ") + counting_id_bytes + " 00 00 00 0b";

template <class Key>
void check_record(const Key& key, const std::string& key_bytes, const typename Key::value_type& value, const std::string& value_bytes) {
  using value_type = typename Key::value_type;
  CHECK(encode_key(key) == key_bytes);
  CHECK(encode_value(value) == value_bytes);
  CHECK(decode_key<Key>(key_bytes).value() == key);
  CHECK(decode_value<value_type>(value_bytes).value() == value);
  CHECK(kind_of(key_bytes) == Key::kind);
  CHECK(inspect(key_bytes, value_bytes).verdict == readability::readable);
  CHECK(inspect(key_bytes, std::nullopt).verdict == readability::readable);
  CHECK(inspect(key_bytes, value_bytes).route == route_of(key));

  for (std::size_t cut = 0; cut < key_bytes.size(); ++cut) {
    const auto decoded = decode_key<Key>(std::string_view(key_bytes).substr(0, cut));
    REQUIRE(decoded.has_error());
    CHECK(decoded.error().code == errc::malformed);
    CHECK(inspect(std::string_view(key_bytes).substr(0, cut), std::nullopt).verdict == readability::malformed);
  }
  for (std::size_t cut = 0; cut < value_bytes.size(); ++cut) {
    const auto decoded = decode_value<value_type>(std::string_view(value_bytes).substr(0, cut));
    REQUIRE(decoded.has_error());
    CHECK(decoded.error().code == errc::malformed);
    CHECK(inspect(key_bytes, std::string_view(value_bytes).substr(0, cut)).verdict == readability::malformed);
  }
  CHECK(decode_key<Key>(key_bytes + 'x').error().code == errc::malformed);
  CHECK(decode_value<value_type>(value_bytes + 'x').error().code == errc::malformed);

  std::string newer = value_bytes;
  newer[1] = 1;
  CHECK_FALSE(decode_value<value_type>(newer).value().has_value());
  CHECK_FALSE(decode_value<value_type>(bytes("7f ff")).value().has_value());
  CHECK(inspect(key_bytes, newer).verdict == readability::newer_version);
  CHECK(decode_value<value_type>(bytes("ff ff") + value_bytes.substr(2)).error().code == errc::malformed);
}

}  // namespace

TEST_CASE("state records have the bytes of Kafka's coordinator records", "[state_records]") {
  check_record(mirror_key{"a-to-b"}, bytes("00 64 00 06 'a-to-b'"), mirror_value{"cluster-1", 0x0102030405060708},
               bytes("00 00 0a 'cluster-1' 01 02 03 04 05 06 07 08 00"));
  check_record(producer_id_key{"m", core::writer_index, destination_pid{4711}}, bytes("00 65 00 01 'm' ff ff ff ff 00 00 00 00 00 00 12 67"),
               producer_id_value{"me"}, bytes("00 00 03 'me' 00"));
  check_record(mirror_topic_key{"m", counting_id()}, bytes(std::string("00 66 00 01 'm' ") + counting_id_bytes),
               mirror_topic_value{"orders", counting_id(), "c"}, bytes(std::string("00 00 07 'orders' ") + counting_id_bytes + " 02 'c' 00"));
  check_record(fill_plan_key{some_partition()}, bytes("00 67 " + some_partition_bytes), fill_plan_value{3210},
               bytes("00 00 00 00 00 00 00 00 0c 8a 00"));
  check_record(hand_over_key{some_partition()}, bytes("00 68 " + some_partition_bytes), hand_over_value{"host-1", 7, 1},
               bytes("00 00 07 'host-1' 00 00 00 00 00 00 00 07 00 00 00 00 00 00 00 01 00"));
  check_record(producer_epoch_key{"a-to-b"}, bytes("00 6a 00 06 'a-to-b'"), producer_epoch_value{258}, bytes("00 00 01 02 00"));
  check_record(open_slot_key{some_partition(), 2}, bytes("00 69 " + some_partition_bytes + " 00 00 00 02"),
               open_slot_value{source_pid{-2}, 255, 7, 9}, bytes("00 00 ff ff ff ff ff ff ff fe 00 00 00 00 00 00 00 ff 00 07 00 00 00 00 00 00 00 09 00"));
}

TEST_CASE("records of a partition's life have the bytes of Kafka's coordinator records", "[state_records]") {
  using enum core::partition_state;
  check_record(partition_state_key{some_partition()}, bytes("00 01 " + some_partition_bytes),
               partition_state_value{failed, 3, 2, "no", -1, mirroring}, bytes("00 00 08 00 00 00 03 00 00 00 02 03 'no' ff ff 03 00"));
  check_record(partition_state_key{some_partition()}, bytes("00 01 " + some_partition_bytes), partition_state_value{stopped, -1, 0, "", 0, unknown},
               bytes("00 00 07 ff ff ff ff 00 00 00 00 00 00 00 ff 00"));
  check_record(last_mirror_epochs_key{some_partition()}, bytes("00 02 " + some_partition_bytes), last_mirror_epochs_value{5, 77},
               bytes("00 00 00 00 00 05 00 00 00 00 00 00 00 4d 00"));
  check_record(desired_state_key{"m", "orders"}, bytes("00 6b 00 01 'm' 00 06 'orders'"), desired_state_value{"m.stopped", "ann", 1},
               bytes("00 00 0a 'm.stopped' 04 'ann' 00 00 00 00 00 00 00 01 00"));
  check_record(source_config_key{"m", counting_id()}, bytes(std::string("00 6c 00 01 'm' ") + counting_id_bytes),
               source_config_value{{{"retention.ms", "5"}, {"x", ""}}}, bytes("00 00 03 0d 'retention.ms' 02 '5' 02 'x' 01 00"));
  check_record(stop_plan_key{some_partition()}, bytes("00 6d " + some_partition_bytes), stop_plan_value{9, {7, 8}, 2, 12},
               bytes("00 00 00 00 00 00 00 00 00 09 03 00 00 00 00 00 00 00 07 00 00 00 00 00 00 00 08 00 02 00 00 00 00 00 00 00 0c 00"));
}

TEST_CASE("requests and reports have the bytes of Kafka's coordinator records", "[state_records]") {
  check_record(request_key{"m", "id"}, bytes("00 6e 00 01 'm' 00 02 'id'"), request_value{"stop", {"a", "b.*"}, {}, {"yes"}, "ann", 1},
               bytes("00 00 05 'stop' 03 02 'a' 04 'b.*' 01 02 04 'yes' 04 'ann' 00 00 00 00 00 00 00 01 00"));
  check_record(report_key{"m", "id", 1}, bytes("00 6f 00 01 'm' 00 02 'id' 00 00 00 01"),
               report_value{"host", 2, {{"m", "t", 3, false, "FAILED", 5, 4, 2, "why", {{"topics", "3"}}}}},
               bytes("00 00 05 'host' 00 00 00 02 02 02 'm' 02 't' 00 00 00 03 00 07 'FAILED' 00 00 00 00 00 00 00 05 00 00 00 00 00 00 00 04"
                     " 00 00 00 02 04 'why' 02 07 'topics' 02 '3' 00"));
}

TEST_CASE("records are printed for people", "[state_records]") {
  const partition_state_value value{core::partition_state::failed, 3, 2, "broker 2: no \"leader\"", -1, core::partition_state::mirroring};
  const auto state = print(encode_key(partition_state_key{some_partition()}), encode_value(value));
  CHECK(state.key == "mirror=a-to-b destination_topic=AAECAwQFBgcICQoLDA0ODw partition=11");
  CHECK(state.value == "state=FAILED leader_epoch=3 state_epoch=2 error_message=\"broker 2: no \\\"leader\\\"\" retry_attempt=-1 previous_state=MIRRORING");
  const auto plan = print(encode_key(stop_plan_key{some_partition()}), encode_value(stop_plan_value{9, {7, 8}, 2, 12}));
  CHECK(plan.value == "mirrored_end=9 open_producers=[7 8] reset_epoch=2 end_offset=12");
  const auto config = print(encode_key(source_config_key{"m", counting_id()}), encode_value(source_config_value{{{"retention.ms", "5"}}}));
  CHECK(config.value == "dynamic=[key=retention.ms value=5]");
  CHECK(print(encode_key(mirror_key{"m"}), std::nullopt).value.empty());
  CHECK(print("\x7f\x7f", "x").key.empty());
  CHECK(name(record_kind::stop_plan) == "StopPlan");
  CHECK(name(static_cast<record_kind>(9999)) == "Unknown");
}

TEST_CASE("a state that this version does not know is malformed, and so is an array without end", "[state_records]") {
  CHECK(decode_value<partition_state_value>(bytes("00 00 01 ff ff ff ff 00 00 00 00 00 00 00 ff 00")).error().code == errc::malformed);
  CHECK(decode_value<source_config_value>(bytes("00 00 ff ff ff ff 0f 02 'a' 02 'b' 00")).error().code == errc::malformed);
}

TEST_CASE("long strings in state values take a two-byte length", "[state_records]") {
  const mirror_value value{std::string(200, 'c'), 0};
  const std::string encoded = encode_value(value);
  CHECK(encoded == bytes("00 00 c9 01") + std::string(200, 'c') + std::string(9, '\0'));
  CHECK(decode_value<mirror_value>(encoded).value() == value);
}

TEST_CASE("tagged fields that a later release added to a state value are skipped", "[state_records]") {
  const auto decoded = decode_value<fill_plan_value>(bytes("00 00 00 00 00 00 00 00 00 05 02 00 03 'abc' 09 00"));
  CHECK(decoded.value() == fill_plan_value{5});
}

TEST_CASE("absurd lengths in state records are malformed", "[state_records]") {
  CHECK(decode_value<fill_plan_value>(bytes("00 00 00 00 00 00 00 00 00 05 ff ff ff ff 0f")).error().code == errc::malformed);
  CHECK(decode_value<fill_plan_value>(bytes("00 00 00 00 00 00 00 00 00 05 01 00 ff ff ff ff 0f")).error().code == errc::malformed);
  CHECK(decode_value<mirror_value>(bytes("00 00 ff ff ff ff 0f")).error().code == errc::malformed);
  CHECK(decode_value<mirror_value>(bytes("00 00 00 00 00 00 00 00 00 00 00 00")).error().code == errc::malformed);  // null string
  CHECK(decode_key<mirror_key>(bytes("00 64 ff ff")).error().code == errc::malformed);
}

TEST_CASE("unknown kinds of state records are no errors", "[state_records]") {
  for (const char* key : {"00 00", "00 03", "01 00 00 01 'm'", "7f ff", "ff ff 01"}) {
    CHECK(inspect(bytes(key), "anything").verdict == readability::unknown_kind);
    CHECK(inspect(bytes(key), std::nullopt).verdict == readability::unknown_kind);
  }
  CHECK(inspect("", std::nullopt).verdict == readability::malformed);
  CHECK_FALSE(kind_of("x").has_value());
  CHECK(decode_key<mirror_key>(bytes("00 65 00 01 'm'")).error().code == errc::malformed);
}

TEST_CASE("state records are routed like KIP-1279's", "[state_records]") {
  const auto id_with_last_byte = [](std::uint8_t last) {
    topic_id id;
    id.bytes[15] = last;
    return id;
  };
  CHECK(state_partition("my-mirror", 50) == 12);
  CHECK(state_partition("a-to-b", 50) == 34);
  CHECK(state_partition("my-mirror:AAAAAAAAAAAAAAAAAAAAAQ:0", 50) == 22);
  CHECK(state_partition("my-mirror:AAAAAAAAAAAAAAAAAAAAAQ:1", 50) == 23);
  CHECK(route_of(fill_plan_key{{"my-mirror", id_with_last_byte(1), 1}}) == "my-mirror:AAAAAAAAAAAAAAAAAAAAAQ:1");
  CHECK(state_partition(route_of(hand_over_key{{"a-to-b", counting_id(), 0}}), 50) == 42);
  CHECK(state_partition(route_of(open_slot_key{{"a-to-b", counting_id(), 11}, 7}), 50) == 10);
  CHECK(route_of(mirror_topic_key{"a-to-b", counting_id()}) == "a-to-b");
  CHECK(route_of(producer_id_key{"a-to-b", 3, destination_pid{1}}) == "a-to-b");

  CHECK(state_partition("", 50) == 0);
  CHECK(state_partition("polygenelubricants", 50) == 0);  // its Java hash code is Integer.MIN_VALUE
  CHECK(state_partition("a-to-b", 1) == 0);
}
