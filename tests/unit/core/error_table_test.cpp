// The error table, whole: every broker code that Kafka has, every code of ours.
#include "core/error_table.hpp"

#include <catch2/catch.hpp>

#include <map>
#include <set>
#include <string>
#include <string_view>

using namespace mirrord;
using namespace mirrord::core;

namespace {

using enum consequence;

struct expected_row {
  kafka_error code;
  consequence then;
  std::string advice;  // a part of it that tells a person what to do; empty where there must be none
};

const expected_row expected_rows[] = {
    {kafka_error::unknown_server_error, count_attempt, "broker's own log"},
    {kafka_error::offset_out_of_range, start_over, ""},
    {kafka_error::corrupt_message, count_attempt, "kafka-dump-log"},
    {kafka_error::unknown_topic_or_partition, start_over, ""},
    {kafka_error::leader_not_available, wait_for_cluster, ""},
    {kafka_error::not_leader_or_follower, start_over, ""},
    {kafka_error::request_timed_out, start_over, ""},
    {kafka_error::broker_not_available, wait_for_cluster, ""},
    {kafka_error::replica_not_available, wait_for_cluster, ""},
    {kafka_error::message_too_large, fail_partition, "max.message.bytes"},
    {kafka_error::network_exception, start_over, ""},
    {kafka_error::coordinator_load_in_progress, wait_for_cluster, ""},
    {kafka_error::coordinator_not_available, wait_for_cluster, ""},
    {kafka_error::not_coordinator, wait_for_cluster, ""},
    {kafka_error::record_list_too_large, fail_partition, "segment.bytes"},
    {kafka_error::not_enough_replicas, wait_for_cluster, "min.insync.replicas"},
    {kafka_error::not_enough_replicas_after_append, wait_for_cluster, "replicas back"},
    {kafka_error::topic_authorization_failed, wait_for_permission, "kafka-acls --bootstrap-server"},
    {kafka_error::cluster_authorization_failed, wait_for_permission, "--operation ClusterAction --operation IdempotentWrite"},
    {kafka_error::transactional_id_authorization_failed, wait_for_permission, "--operation Write --transactional-id kafka-mirrord-"},
    {kafka_error::sasl_authentication_failed, wait_for_permission, "credentials"},
    {kafka_error::unsupported_sasl_mechanism, wait_for_permission, "sasl.mechanism"},
    {kafka_error::invalid_timestamp, fail_partition, "message.timestamp.before.max.ms"},
    {kafka_error::unsupported_version, fail_partition, ""},
    {kafka_error::unsupported_for_message_format, fail_partition, ""},
    {kafka_error::policy_violation, fail_partition, "cleanup.policy"},
    {kafka_error::out_of_order_sequence_number, start_over, ""},
    {kafka_error::duplicate_sequence_number, start_over, ""},
    {kafka_error::unknown_producer_id, start_over, ""},
    {kafka_error::invalid_producer_epoch, start_over, ""},
    {kafka_error::producer_fenced, start_over, ""},
    {kafka_error::invalid_txn_state, wait_for_permission, "transaction.partition.verification.enable=false"},
    {kafka_error::transaction_abortable, wait_for_permission, "transaction.partition.verification.enable=false"},
    // Also what a coordinator that has never heard of our transactional id answers to a leader that verifies.
    {kafka_error::invalid_producer_id_mapping, start_over, "transaction.partition.verification.enable=false"},
    {kafka_error::concurrent_transactions, start_over, ""},
    {kafka_error::transaction_coordinator_fenced, start_over, ""},
    {kafka_error::kafka_storage_error, start_over, ""},
    {kafka_error::fenced_leader_epoch, start_over, ""},
    {kafka_error::unknown_leader_epoch, start_over, ""},
    {kafka_error::offset_not_available, start_over, ""},
    {kafka_error::unsupported_compression_type, fail_partition, ""},
    {kafka_error::invalid_record, fail_partition, "null key"},
    {kafka_error::throttling_quota_exceeded, start_over, ""},
    {kafka_error::unknown_topic_id, start_over, ""},
    {kafka_error::inconsistent_topic_id, start_over, ""},
    {kafka_error::offset_moved_to_tiered_storage, fail_partition, ""},
};

}  // namespace

TEST_CASE("every row of the table", "[error_table]") {
  for (const expected_row& expected : expected_rows) {
    const std::int16_t code = code_of(expected.code);
    CAPTURE(broker_error_name(code));
    const error_row* row = row_of(code);
    REQUIRE(row != nullptr);
    CHECK(row->code == expected.code);
    CHECK(row->then == expected.then);
    CHECK(row->advice.empty() == expected.advice.empty());
    CHECK_THAT(std::string(row->advice), Catch::Contains(expected.advice));
    CHECK(decide_consequence(broker_failure(code, "append orders-3")) == expected.then);
  }
}

TEST_CASE("every broker code without a row, known to Kafka or not, counts attempts and gives no advice", "[error_table]") {
  std::set<int> listed;
  for (const expected_row& expected : expected_rows) listed.insert(code_of(expected.code));
  int without = 0;
  for (int code = -32'768; code <= 32'767; ++code) {
    if (listed.contains(code)) continue;
    ++without;
    const auto narrow = static_cast<std::int16_t>(code);
    const error e = broker_failure(narrow, "fetch orders-3");
    if (row_of(narrow) == nullptr && decide_consequence(e) == count_attempt && explain(e) == e.message()) continue;
    CAPTURE(code);
    REQUIRE(row_of(narrow) == nullptr);
    REQUIRE(decide_consequence(e) == count_attempt);
    REQUIRE(explain(e) == e.message());
  }
  CHECK(without == 65'536 - static_cast<int>(listed.size()));
}

TEST_CASE("every code of ours", "[error_table]") {
  const std::map<errc, consequence> expected{
      {errc::cancelled, start_over},
      {errc::timed_out, start_over},
      {errc::unreachable, wait_for_cluster},
      {errc::connection_lost, start_over},
      {errc::authentication_failed, wait_for_permission},
      {errc::unsupported, fail_partition},
      {errc::malformed, count_attempt},
      {errc::broker, count_attempt},  // with code 0
      {errc::fenced, start_over},
      {errc::foreign_write, fail_partition},
      {errc::diverged, fail_partition},
      {errc::outcome_unknown, fail_partition},
      {errc::limit_exceeded, fail_partition},
      {errc::not_found, count_attempt},
      {errc::invalid, fail_partition},
      {errc::io, count_attempt},
      {errc::recorded, fail_partition},
  };
  int codes = 0;
  for (int code = 0; code <= 255 && name(static_cast<errc>(code)) != "unknown"; ++code, ++codes) {
    CAPTURE(name(static_cast<errc>(code)));
    REQUIRE(expected.contains(static_cast<errc>(code)));
    CHECK(decide_consequence(fail(static_cast<errc>(code), "orders-3")) == expected.at(static_cast<errc>(code)));
  }
  CHECK(codes == static_cast<int>(expected.size()));
  // What is not a code of ours can only be a bug: it must not be retried.
  CHECK(decide_consequence(fail(static_cast<errc>(200), "")) == fail_partition);
}

TEST_CASE("a broker code that explains another error gives its advice, not its consequence", "[error_table]") {
  error refused = fail(errc::authentication_failed, "connect to broker 2");
  refused.broker_code = code_of(kafka_error::sasl_authentication_failed);
  CHECK(decide_consequence(refused) == wait_for_permission);
  CHECK_THAT(explain(refused), Catch::Contains("check the credentials"));

  error fenced = fail(errc::fenced, "append orders-3");
  fenced.broker_code = code_of(kafka_error::message_too_large);
  CHECK(decide_consequence(fenced) == start_over);
}

TEST_CASE("an error is explained by our words, the broker's, and what to do", "[error_table]") {
  CHECK(explain(broker_failure(code_of(kafka_error::invalid_txn_state), "append orders-3", "not in the transaction")) ==
        "append orders-3: INVALID_TXN_STATE (48): not in the transaction; turn partition verification off on the destination: "
        "kafka-configs --bootstrap-server <destination> --alter --entity-type brokers --entity-default --add-config "
        "transaction.partition.verification.enable=false");
  CHECK(explain(broker_failure(code_of(kafka_error::not_leader_or_follower), "fetch orders-3")) == "fetch orders-3: NOT_LEADER_OR_FOLLOWER (6)");
  CHECK(explain(fail(errc::timed_out, "fetch orders-3")) == "fetch orders-3");
  CHECK(explain(fail(errc::connection_lost, "")) == "connection_lost");
}

TEST_CASE("advice that names a command gives one that can be run", "[error_table]") {
  for (const expected_row& expected : expected_rows) {
    const std::string advice(row_of(code_of(expected.code))->advice);
    const bool alters = advice.find("kafka-acls") != std::string::npos || advice.find("kafka-configs") != std::string::npos;
    if (!alters) continue;
    CAPTURE(broker_error_name(code_of(expected.code)));
    CHECK_THAT(advice, Catch::Contains("--bootstrap-server <"));
    CHECK_THAT(advice, Catch::Contains("--add --allow-principal User:<daemon>") || Catch::Contains("--alter --entity-type brokers --entity-default --add-config"));
  }
}
