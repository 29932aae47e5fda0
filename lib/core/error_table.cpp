#include "core/error_table.hpp"

#include <algorithm>
#include <array>

namespace mirrord::core {
namespace {

constexpr std::string_view verification_advice =
    "turn partition verification off on the destination: kafka-configs --bootstrap-server <destination> --alter "
    "--entity-type brokers --entity-default --add-config transaction.partition.verification.enable=false";
constexpr std::string_view cluster_action_advice =
    "grant the daemon's principal on the destination: kafka-acls --bootstrap-server <destination> --add --allow-principal "
    "User:<daemon> --operation ClusterAction --operation IdempotentWrite --operation Describe --operation DescribeConfigs --cluster";
constexpr std::string_view topic_advice =
    "grant the daemon's principal: on the source Read, Describe and DescribeConfigs, on the destination also Create, Write, "
    "Alter, Delete and AlterConfigs: kafka-acls --bootstrap-server <cluster> --add --allow-principal User:<daemon> "
    "--operation <operation> --topic <topic>";
constexpr std::string_view transactional_id_advice =
    "grant the daemon's principal on the destination: kafka-acls --bootstrap-server <destination> --add --allow-principal "
    "User:<daemon> --operation Write --transactional-id kafka-mirrord- --resource-pattern-type prefixed";

using enum consequence;

constexpr std::array rows{
    error_row{kafka_error::unknown_server_error, count_attempt, "see the broker's own log"},
    error_row{kafka_error::offset_out_of_range, start_over, ""},  // the log moved between two reads of it
    // The batch was damaged on the way or on the source's disk; a damaged disk does not pass by itself.
    error_row{kafka_error::corrupt_message, count_attempt, "check the source's log of this partition with kafka-dump-log"},
    error_row{kafka_error::unknown_topic_or_partition, start_over, ""},  // metadata on its way, or deleted: the manager tells
    error_row{kafka_error::leader_not_available, wait_for_cluster, ""},
    error_row{kafka_error::not_leader_or_follower, start_over, ""},
    error_row{kafka_error::request_timed_out, start_over, ""},  // acks=all not reached in time: appended or not
    error_row{kafka_error::broker_not_available, wait_for_cluster, ""},
    error_row{kafka_error::replica_not_available, wait_for_cluster, ""},
    error_row{kafka_error::message_too_large, fail_partition, "raise max.message.bytes of the destination topic"},
    error_row{kafka_error::network_exception, start_over, ""},
    error_row{kafka_error::coordinator_load_in_progress, wait_for_cluster, ""},
    error_row{kafka_error::coordinator_not_available, wait_for_cluster, ""},
    error_row{kafka_error::not_coordinator, wait_for_cluster, ""},
    error_row{kafka_error::record_list_too_large, fail_partition, "raise segment.bytes of the destination topic"},
    error_row{kafka_error::not_enough_replicas, wait_for_cluster, "bring the destination's replicas back, or lower min.insync.replicas"},
    error_row{kafka_error::not_enough_replicas_after_append, wait_for_cluster, "bring the destination's replicas back"},
    error_row{kafka_error::topic_authorization_failed, wait_for_permission, topic_advice},
    error_row{kafka_error::cluster_authorization_failed, wait_for_permission, cluster_action_advice},
    error_row{kafka_error::transactional_id_authorization_failed, wait_for_permission, transactional_id_advice},
    error_row{kafka_error::sasl_authentication_failed, wait_for_permission, "check the credentials"},
    error_row{kafka_error::unsupported_sasl_mechanism, wait_for_permission, "check sasl.mechanism against the broker's listener"},
    error_row{kafka_error::invalid_timestamp, fail_partition,
              "open message.timestamp.before.max.ms and message.timestamp.after.max.ms of the destination topic"},
    error_row{kafka_error::unsupported_version, fail_partition, ""},
    error_row{kafka_error::unsupported_for_message_format, fail_partition, ""},
    error_row{kafka_error::policy_violation, fail_partition, "the destination topic's cleanup.policy needs `delete`"},
    // The broker saw another sequence than we count on: somebody else used the producer id, or its state was lost.
    error_row{kafka_error::out_of_order_sequence_number, start_over, ""},
    error_row{kafka_error::duplicate_sequence_number, start_over, ""},
    error_row{kafka_error::unknown_producer_id, start_over, ""},
    error_row{kafka_error::invalid_producer_epoch, start_over, ""},  // fenced by a higher epoch: read it, go above it
    error_row{kafka_error::producer_fenced, start_over, ""},
    error_row{kafka_error::invalid_txn_state, wait_for_permission, verification_advice},
    error_row{kafka_error::transaction_abortable, wait_for_permission, verification_advice},
    // Two epochs met in one request: regroup. But a coordinator that is asked for verification answers so for ever.
    error_row{kafka_error::invalid_producer_id_mapping, start_over, verification_advice},
    error_row{kafka_error::concurrent_transactions, start_over, ""},
    error_row{kafka_error::transaction_coordinator_fenced, start_over, ""},  // coordinator epoch moved: read it again
    error_row{kafka_error::kafka_storage_error, start_over, ""},
    error_row{kafka_error::fenced_leader_epoch, start_over, ""},
    error_row{kafka_error::unknown_leader_epoch, start_over, ""},  // the broker's metadata is behind ours
    error_row{kafka_error::offset_not_available, start_over, ""},  // a new leader whose high watermark is not there yet
    error_row{kafka_error::unsupported_compression_type, fail_partition, ""},
    error_row{kafka_error::invalid_record, fail_partition,
              "see the broker's text; a null key is refused while the destination topic's cleanup.policy has `compact`"},
    error_row{kafka_error::throttling_quota_exceeded, start_over, ""},
    error_row{kafka_error::unknown_topic_id, start_over, ""},
    error_row{kafka_error::inconsistent_topic_id, start_over, ""},
    error_row{kafka_error::offset_moved_to_tiered_storage, fail_partition, ""},
};

}  // namespace

const error_row* row_of(std::int16_t broker_code) noexcept {
  const auto found = std::find_if(rows.begin(), rows.end(),
                                  [&](const error_row& row) { return static_cast<std::int16_t>(row.code) == broker_code; });
  return found == rows.end() ? nullptr : &*found;
}

consequence decide_consequence(const error& e) noexcept {
  switch (e.code) {
    case errc::cancelled:
    case errc::timed_out:
    case errc::connection_lost:
    case errc::fenced:
      return start_over;
    case errc::unreachable: return wait_for_cluster;
    case errc::authentication_failed: return wait_for_permission;
    case errc::not_found:  // of the metadata, which tells with which code
    case errc::broker: {
      const error_row* row = row_of(e.broker_code);
      return row ? row->then : count_attempt;
    }
    case errc::malformed:
    case errc::io:
      return count_attempt;
    case errc::unsupported:
    case errc::foreign_write:
    case errc::diverged:
    case errc::outcome_unknown:
    case errc::limit_exceeded:
    case errc::invalid:
    case errc::recorded:
      return fail_partition;
  }
  return fail_partition;
}

std::string explain(const error& e, const advice_names& names) {
  std::string text = e.message();
  const error_row* row = e.broker_code == 0 ? nullptr : row_of(e.broker_code);
  if (!row || row->advice.empty()) return text;
  std::string advice(row->advice);
  const auto put = [&](std::string_view placeholder, const std::string& value) {
    for (auto at = advice.find(placeholder); at != std::string::npos; at = advice.find(placeholder, at + value.size())) {
      advice.replace(at, placeholder.size(), value);
    }
  };
  put("<destination>", names.destination);
  put("<daemon>", names.principal);
  return text + "; " + advice;
}

}  // namespace mirrord::core
