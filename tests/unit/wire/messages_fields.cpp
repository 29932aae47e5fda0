// What the golden messages hold: that each field lands where it belongs, in old and new versions.
#include "base/broker_error.hpp"
#include "tests/unit/wire/messages_golden.hpp"
#include "wire/api_versions.hpp"
#include "wire/codec.hpp"
#include "wire/configs.hpp"
#include "wire/fetch.hpp"
#include "wire/metadata.hpp"
#include "wire/offsets.hpp"
#include "wire/produce.hpp"
#include "wire/sasl.hpp"
#include "wire/transactions.hpp"

#include <catch2/catch.hpp>

namespace mirrord::wire::test {
namespace {

constexpr std::int64_t large_offset = std::int64_t{1} << 33;

topic_id orders_id() {
  topic_id id;
  for (std::size_t i = 0; i < id.bytes.size(); ++i) id.bytes[i] = static_cast<std::uint8_t>(i * 0x11);
  return id;
}

template <class Response>
Response response(std::int16_t version, std::string_view variant = "full") {
  return decode_response<Response>(golden(name(Response::api.key), "response", version, variant).frame, version, golden_correlation_id).value();
}

template <class Request>
Request request(std::int16_t version, std::string_view variant = "full") {
  return decode_request<Request>(golden(name(Request::api.key), "request", version, variant).frame).value();
}

}  // namespace

TEST_CASE("metadata response fields") {
  const auto old = response<metadata_response>(4);
  CHECK(old.cluster_id == "cluster");
  CHECK(old.brokers.at(0).rack == "r1");
  CHECK_FALSE(old.brokers.at(1).rack);
  CHECK(old.topics.at(0).partitions.at(0).leader_epoch == -1);
  CHECK(old.topics.at(0).topic_id.is_zero());
  CHECK(old.topics.at(1).name == "gone");

  const auto m = response<metadata_response>(13);
  CHECK(is(m.error_code, kafka_error::rebootstrap_required));
  CHECK(m.topics.at(0).topic_id == orders_id());
  CHECK(m.topics.at(0).is_internal);
  CHECK(m.topics.at(0).topic_authorized_operations == 0x508);
  const auto& partition = m.topics.at(0).partitions.at(0);
  CHECK(partition.partition_index == 3);
  CHECK(partition.leader_id == 1);
  CHECK(partition.leader_epoch == 5);
  CHECK(partition.replica_nodes == std::vector<std::int32_t>{1, 2});
  CHECK(partition.offline_replicas == std::vector<std::int32_t>{2});
  CHECK(m.topics.at(1).name.empty());
  CHECK(is(m.topics.at(1).error_code, kafka_error::unknown_topic_id));
  CHECK(response<metadata_response>(10).cluster_authorized_operations == 0x1f8);
  CHECK(response<metadata_response>(11).cluster_authorized_operations == operations_unknown);
}

TEST_CASE("metadata requests: all topics, none, and auto-creation is forbidden unless somebody asks for it") {
  CHECK_FALSE(request<metadata_request>(9, "bare").topics);
  CHECK(request<metadata_request>(12).topics->at(1).topic_id == orders_id());
  CHECK(request<metadata_request>(12).topics->at(1).name.empty());
  CHECK_FALSE(metadata_request{}.allow_auto_topic_creation);

  metadata_request none;
  none.topics.emplace();
  const auto frame = encode_request(none, 9, 1, "c").flatten();
  const auto again = decode_request<metadata_request>(std::span(frame).subspan(4));
  REQUIRE(again.has_value());
  REQUIRE(again->topics);
  CHECK(again->topics->empty());
}

TEST_CASE("fetch response fields; records are views into the frame") {
  const auto& frame = golden("fetch", "response", 17).frame;
  const auto m = decode_response<fetch_response>(frame, 17, golden_correlation_id).value();
  CHECK(m.session_id == 77);
  CHECK(is(m.error_code, kafka_error::fetch_session_id_not_found));
  CHECK(m.responses.at(0).topic_id == orders_id());
  CHECK(m.responses.at(0).topic.empty());
  const auto& good = m.responses.at(0).partitions.at(0);
  CHECK(good.high_watermark == large_offset);
  CHECK(good.last_stable_offset == 100);
  CHECK(good.log_start_offset == 10);
  CHECK(good.aborted_transactions->at(0).producer_id == 4000);
  CHECK(good.aborted_transactions->at(0).first_offset == 55);
  CHECK(good.preferred_read_replica == 2);
  CHECK_FALSE(good.diverging_epoch);
  CHECK_FALSE(good.current_leader);
  CHECK(to_hex(good.records) == "a0a1a2a3a4a5a6a7a8");
  CHECK(good.records.data() >= frame.data());
  CHECK(good.records.data() + good.records.size() <= frame.data() + frame.size());
  const auto& moved = m.responses.at(0).partitions.at(1);
  CHECK(is(moved.error_code, kafka_error::not_leader_or_follower));
  CHECK(moved.diverging_epoch->epoch == 4);
  CHECK(moved.diverging_epoch->end_offset == 99);
  CHECK(moved.current_leader->leader_id == 2);
  CHECK(moved.current_leader->leader_epoch == 6);
  CHECK_FALSE(moved.aborted_transactions);
  CHECK(moved.records.data() == nullptr);
  CHECK(m.node_endpoints.at(0).host == "two.example");
  CHECK(m.node_endpoints.at(0).rack == "r2");

  const auto old = response<fetch_response>(4);
  CHECK(old.session_id == 0);
  CHECK(old.responses.at(0).topic == "orders");
  CHECK(old.responses.at(0).partitions.at(0).log_start_offset == -1);
  CHECK(old.responses.at(0).partitions.at(0).records.size() == 9);
}

TEST_CASE("fetch request fields") {
  const auto m = request<fetch_request>(12);
  CHECK(m.replica_id == -1);
  CHECK(m.max_wait_ms == 500);
  CHECK(m.isolation_level == 1);
  CHECK(m.session_id == 77);
  CHECK(m.session_epoch == 8);
  CHECK(m.rack_id == "r1");
  CHECK(m.topics.at(0).topic == "orders");
  CHECK(m.topics.at(0).partitions.at(0).current_leader_epoch == 5);
  CHECK(m.topics.at(0).partitions.at(0).last_fetched_epoch == 4);
  CHECK(m.topics.at(0).partitions.at(0).fetch_offset == large_offset);
  CHECK(m.forgotten_topics_data.at(0).partitions == std::vector<std::int32_t>{6, 7});
  CHECK(request<fetch_request>(13).topics.at(0).topic_id == orders_id());
}

TEST_CASE("produce: fields of requests and answers") {
  const auto m = request<produce_request>(9);
  CHECK(m.transactional_id == "kafka-mirrord-m");
  CHECK(m.acks == -1);
  CHECK(m.topic_data.at(0).partition_data.at(1).records.size() == 200);
  CHECK(m.topic_data.at(1).partition_data.at(0).records.pieces.empty());

  const auto answer = response<produce_response>(10);
  const auto& good = answer.responses.at(0).partition_responses.at(0);
  CHECK(good.base_offset == large_offset);
  CHECK(good.log_start_offset == 10);
  const auto& bad = answer.responses.at(0).partition_responses.at(1);
  CHECK(is(bad.error_code, kafka_error::invalid_record));
  CHECK(bad.error_message == "bad batch");
  CHECK(bad.record_errors.at(0).batch_index_error_message == "bad record");
  CHECK_FALSE(bad.record_errors.at(1).batch_index_error_message);
  CHECK(bad.current_leader->leader_id == 2);
  CHECK(answer.node_endpoints.at(0).port == 9093);
}

TEST_CASE("records made of several pieces are borrowed and equal the same bytes in one piece") {
  const auto bytes = from_hex("a0a1a2a3a4a5a6a7a8");
  produce_request split = request<produce_request>(9);
  auto& records = split.topic_data.at(0).partition_data.at(0).records;
  REQUIRE(records.size() == bytes.size());
  records.pieces = {std::span(bytes).first(3), std::span(bytes).subspan(3, 0), std::span(bytes).subspan(3)};
  const encoded_frame frame = encode_request(split, 9, golden_correlation_id, golden_client_id);
  REQUIRE(frame.borrowed.size() == 4);
  CHECK(frame.borrowed.at(0).data.data() == bytes.data());
  CHECK(frame.borrowed.at(0).at == frame.borrowed.at(2).at);
  CHECK(frame.gather().size() == 6);  // own, 3 bytes, 6 bytes, own, 200 bytes, own; the empty piece is left out
  const auto flat = frame.flatten();
  CHECK(to_hex(std::span(flat).subspan(4)) == to_hex(golden("produce", "request", 9).frame));
  CHECK(frame.total() == flat.size());
}

TEST_CASE("offset APIs: fields") {
  const auto epoch = response<offset_for_leader_epoch_response>(4).topics.at(0).partitions.at(0);
  CHECK(is(epoch.error_code, kafka_error::fenced_leader_epoch));
  CHECK(epoch.partition == 3);
  CHECK(epoch.leader_epoch == 4);
  CHECK(epoch.end_offset == large_offset);
  const auto asked = request<offset_for_leader_epoch_request>(2).topics.at(0).partitions.at(0);
  CHECK(asked.current_leader_epoch == 5);
  CHECK(asked.leader_epoch == 4);

  const auto listed = response<list_offsets_response>(4).topics.at(0).partitions.at(0);
  CHECK(listed.offset == large_offset);
  CHECK(listed.leader_epoch == 5);
  CHECK(request<list_offsets_request>(2).topics.at(0).partitions.at(0).timestamp == earliest_timestamp);

  const auto deleted = response<delete_records_response>(1).topics.at(0).partitions.at(0);
  CHECK(deleted.low_watermark == large_offset);
  CHECK(is(deleted.error_code, kafka_error::offset_out_of_range));
  CHECK(request<delete_records_request>(2).topics.at(0).partitions.at(0).offset == large_offset);
}

TEST_CASE("transaction APIs: fields") {
  CHECK_FALSE(request<init_producer_id_request>(4, "bare").transactional_id);
  CHECK(request<init_producer_id_request>(4).producer_epoch == 12);
  CHECK(response<init_producer_id_response>(0).producer_id == 4000);

  const auto described = response<describe_producers_response>(0).topics.at(0);
  const auto& producer = described.partitions.at(0).active_producers.at(0);
  CHECK(producer.producer_epoch == 12);
  CHECK(producer.last_sequence == 99);
  CHECK(producer.current_txn_start_offset == 55);
  CHECK(described.partitions.at(0).active_producers.at(1).current_txn_start_offset == -1);
  CHECK(described.partitions.at(1).error_message == "moved");

  const auto marker = request<write_txn_markers_request>(2).markers.at(0);
  CHECK(marker.transaction_result);
  CHECK(marker.coordinator_epoch == 3);
  CHECK(marker.transaction_version == 2);
  CHECK(marker.topics.at(0).partition_indexes == std::vector<std::int32_t>{3, 4});
  CHECK(request<write_txn_markers_request>(1).markers.at(0).transaction_version == 0);
  CHECK(is(response<write_txn_markers_response>(1).markers.at(0).topics.at(0).partitions.at(0).error_code, kafka_error::transaction_coordinator_fenced));
}

TEST_CASE("configs, cluster and SASL: fields") {
  const auto altered = request<incremental_alter_configs_request>(1).resources.at(0);
  CHECK(altered.resource_type == topic_resource);
  CHECK(altered.configs.at(0).value == "-1");
  CHECK(altered.configs.at(1).config_operation == config_delete);
  CHECK_FALSE(altered.configs.at(1).value);
  CHECK(response<incremental_alter_configs_response>(0).responses.at(0).error_message == "unknown key");

  CHECK(response<describe_cluster_response>(0).cluster_authorized_operations == 0x1f8);
  CHECK(response<describe_cluster_response>(0).brokers.at(1).port == 9093);

  CHECK(request<sasl_handshake_request>(1).mechanism == "SCRAM-SHA-512");
  CHECK(response<sasl_handshake_response>(1).mechanisms == std::vector<std::string>{"PLAIN", "SCRAM-SHA-256"});
  CHECK(response<sasl_authenticate_response>(2).session_lifetime_ms == 3600000);
  CHECK(request<sasl_authenticate_request>(0).auth_bytes.size() == 17);
}

TEST_CASE("record and SASL bytes are printed as their length only") {
  CHECK(print(request<sasl_authenticate_request>(2), 2) == "sasl_authenticate request v2 {auth_bytes=<17 bytes>}");
  CHECK(print(request<produce_request>(9), 9) ==
        "produce request v9 {transactional_id=kafka-mirrord-m acks=-1 timeout_ms=30000 topic_data=[{name=orders partition_data=[{index=3 records=<9 bytes>} "
        "{index=4 records=<200 bytes>}]} {name=bills partition_data=[{index=0 records=<0 bytes>}]}]}");
}

}  // namespace mirrord::wire::test
