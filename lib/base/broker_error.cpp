#include "base/broker_error.hpp"

#include "base/error.hpp"

#include <fmt/format.h>

namespace mirrord {
namespace {

// A switch without default: the compiler reports an enumerator that has no name.
std::string_view known_name(kafka_error code) noexcept {
  switch (code) {
    case kafka_error::unknown_server_error: return "UNKNOWN_SERVER_ERROR";
    case kafka_error::none: return "NONE";
    case kafka_error::offset_out_of_range: return "OFFSET_OUT_OF_RANGE";
    case kafka_error::corrupt_message: return "CORRUPT_MESSAGE";
    case kafka_error::unknown_topic_or_partition: return "UNKNOWN_TOPIC_OR_PARTITION";
    case kafka_error::invalid_fetch_size: return "INVALID_FETCH_SIZE";
    case kafka_error::leader_not_available: return "LEADER_NOT_AVAILABLE";
    case kafka_error::not_leader_or_follower: return "NOT_LEADER_OR_FOLLOWER";
    case kafka_error::request_timed_out: return "REQUEST_TIMED_OUT";
    case kafka_error::broker_not_available: return "BROKER_NOT_AVAILABLE";
    case kafka_error::replica_not_available: return "REPLICA_NOT_AVAILABLE";
    case kafka_error::message_too_large: return "MESSAGE_TOO_LARGE";
    case kafka_error::stale_controller_epoch: return "STALE_CONTROLLER_EPOCH";
    case kafka_error::offset_metadata_too_large: return "OFFSET_METADATA_TOO_LARGE";
    case kafka_error::network_exception: return "NETWORK_EXCEPTION";
    case kafka_error::coordinator_load_in_progress: return "COORDINATOR_LOAD_IN_PROGRESS";
    case kafka_error::coordinator_not_available: return "COORDINATOR_NOT_AVAILABLE";
    case kafka_error::not_coordinator: return "NOT_COORDINATOR";
    case kafka_error::invalid_topic_exception: return "INVALID_TOPIC_EXCEPTION";
    case kafka_error::record_list_too_large: return "RECORD_LIST_TOO_LARGE";
    case kafka_error::not_enough_replicas: return "NOT_ENOUGH_REPLICAS";
    case kafka_error::not_enough_replicas_after_append: return "NOT_ENOUGH_REPLICAS_AFTER_APPEND";
    case kafka_error::invalid_required_acks: return "INVALID_REQUIRED_ACKS";
    case kafka_error::illegal_generation: return "ILLEGAL_GENERATION";
    case kafka_error::inconsistent_group_protocol: return "INCONSISTENT_GROUP_PROTOCOL";
    case kafka_error::invalid_group_id: return "INVALID_GROUP_ID";
    case kafka_error::unknown_member_id: return "UNKNOWN_MEMBER_ID";
    case kafka_error::invalid_session_timeout: return "INVALID_SESSION_TIMEOUT";
    case kafka_error::rebalance_in_progress: return "REBALANCE_IN_PROGRESS";
    case kafka_error::invalid_commit_offset_size: return "INVALID_COMMIT_OFFSET_SIZE";
    case kafka_error::topic_authorization_failed: return "TOPIC_AUTHORIZATION_FAILED";
    case kafka_error::group_authorization_failed: return "GROUP_AUTHORIZATION_FAILED";
    case kafka_error::cluster_authorization_failed: return "CLUSTER_AUTHORIZATION_FAILED";
    case kafka_error::invalid_timestamp: return "INVALID_TIMESTAMP";
    case kafka_error::unsupported_sasl_mechanism: return "UNSUPPORTED_SASL_MECHANISM";
    case kafka_error::illegal_sasl_state: return "ILLEGAL_SASL_STATE";
    case kafka_error::unsupported_version: return "UNSUPPORTED_VERSION";
    case kafka_error::topic_already_exists: return "TOPIC_ALREADY_EXISTS";
    case kafka_error::invalid_partitions: return "INVALID_PARTITIONS";
    case kafka_error::invalid_replication_factor: return "INVALID_REPLICATION_FACTOR";
    case kafka_error::invalid_replica_assignment: return "INVALID_REPLICA_ASSIGNMENT";
    case kafka_error::invalid_config: return "INVALID_CONFIG";
    case kafka_error::not_controller: return "NOT_CONTROLLER";
    case kafka_error::invalid_request: return "INVALID_REQUEST";
    case kafka_error::unsupported_for_message_format: return "UNSUPPORTED_FOR_MESSAGE_FORMAT";
    case kafka_error::policy_violation: return "POLICY_VIOLATION";
    case kafka_error::out_of_order_sequence_number: return "OUT_OF_ORDER_SEQUENCE_NUMBER";
    case kafka_error::duplicate_sequence_number: return "DUPLICATE_SEQUENCE_NUMBER";
    case kafka_error::invalid_producer_epoch: return "INVALID_PRODUCER_EPOCH";
    case kafka_error::invalid_txn_state: return "INVALID_TXN_STATE";
    case kafka_error::invalid_producer_id_mapping: return "INVALID_PRODUCER_ID_MAPPING";
    case kafka_error::invalid_transaction_timeout: return "INVALID_TRANSACTION_TIMEOUT";
    case kafka_error::concurrent_transactions: return "CONCURRENT_TRANSACTIONS";
    case kafka_error::transaction_coordinator_fenced: return "TRANSACTION_COORDINATOR_FENCED";
    case kafka_error::transactional_id_authorization_failed: return "TRANSACTIONAL_ID_AUTHORIZATION_FAILED";
    case kafka_error::security_disabled: return "SECURITY_DISABLED";
    case kafka_error::operation_not_attempted: return "OPERATION_NOT_ATTEMPTED";
    case kafka_error::kafka_storage_error: return "KAFKA_STORAGE_ERROR";
    case kafka_error::log_dir_not_found: return "LOG_DIR_NOT_FOUND";
    case kafka_error::sasl_authentication_failed: return "SASL_AUTHENTICATION_FAILED";
    case kafka_error::unknown_producer_id: return "UNKNOWN_PRODUCER_ID";
    case kafka_error::reassignment_in_progress: return "REASSIGNMENT_IN_PROGRESS";
    case kafka_error::delegation_token_auth_disabled: return "DELEGATION_TOKEN_AUTH_DISABLED";
    case kafka_error::delegation_token_not_found: return "DELEGATION_TOKEN_NOT_FOUND";
    case kafka_error::delegation_token_owner_mismatch: return "DELEGATION_TOKEN_OWNER_MISMATCH";
    case kafka_error::delegation_token_request_not_allowed: return "DELEGATION_TOKEN_REQUEST_NOT_ALLOWED";
    case kafka_error::delegation_token_authorization_failed: return "DELEGATION_TOKEN_AUTHORIZATION_FAILED";
    case kafka_error::delegation_token_expired: return "DELEGATION_TOKEN_EXPIRED";
    case kafka_error::invalid_principal_type: return "INVALID_PRINCIPAL_TYPE";
    case kafka_error::non_empty_group: return "NON_EMPTY_GROUP";
    case kafka_error::group_id_not_found: return "GROUP_ID_NOT_FOUND";
    case kafka_error::fetch_session_id_not_found: return "FETCH_SESSION_ID_NOT_FOUND";
    case kafka_error::invalid_fetch_session_epoch: return "INVALID_FETCH_SESSION_EPOCH";
    case kafka_error::listener_not_found: return "LISTENER_NOT_FOUND";
    case kafka_error::topic_deletion_disabled: return "TOPIC_DELETION_DISABLED";
    case kafka_error::fenced_leader_epoch: return "FENCED_LEADER_EPOCH";
    case kafka_error::unknown_leader_epoch: return "UNKNOWN_LEADER_EPOCH";
    case kafka_error::unsupported_compression_type: return "UNSUPPORTED_COMPRESSION_TYPE";
    case kafka_error::stale_broker_epoch: return "STALE_BROKER_EPOCH";
    case kafka_error::offset_not_available: return "OFFSET_NOT_AVAILABLE";
    case kafka_error::member_id_required: return "MEMBER_ID_REQUIRED";
    case kafka_error::preferred_leader_not_available: return "PREFERRED_LEADER_NOT_AVAILABLE";
    case kafka_error::group_max_size_reached: return "GROUP_MAX_SIZE_REACHED";
    case kafka_error::fenced_instance_id: return "FENCED_INSTANCE_ID";
    case kafka_error::eligible_leaders_not_available: return "ELIGIBLE_LEADERS_NOT_AVAILABLE";
    case kafka_error::election_not_needed: return "ELECTION_NOT_NEEDED";
    case kafka_error::no_reassignment_in_progress: return "NO_REASSIGNMENT_IN_PROGRESS";
    case kafka_error::group_subscribed_to_topic: return "GROUP_SUBSCRIBED_TO_TOPIC";
    case kafka_error::invalid_record: return "INVALID_RECORD";
    case kafka_error::unstable_offset_commit: return "UNSTABLE_OFFSET_COMMIT";
    case kafka_error::throttling_quota_exceeded: return "THROTTLING_QUOTA_EXCEEDED";
    case kafka_error::producer_fenced: return "PRODUCER_FENCED";
    case kafka_error::resource_not_found: return "RESOURCE_NOT_FOUND";
    case kafka_error::duplicate_resource: return "DUPLICATE_RESOURCE";
    case kafka_error::unacceptable_credential: return "UNACCEPTABLE_CREDENTIAL";
    case kafka_error::inconsistent_voter_set: return "INCONSISTENT_VOTER_SET";
    case kafka_error::invalid_update_version: return "INVALID_UPDATE_VERSION";
    case kafka_error::feature_update_failed: return "FEATURE_UPDATE_FAILED";
    case kafka_error::principal_deserialization_failure: return "PRINCIPAL_DESERIALIZATION_FAILURE";
    case kafka_error::snapshot_not_found: return "SNAPSHOT_NOT_FOUND";
    case kafka_error::position_out_of_range: return "POSITION_OUT_OF_RANGE";
    case kafka_error::unknown_topic_id: return "UNKNOWN_TOPIC_ID";
    case kafka_error::duplicate_broker_registration: return "DUPLICATE_BROKER_REGISTRATION";
    case kafka_error::broker_id_not_registered: return "BROKER_ID_NOT_REGISTERED";
    case kafka_error::inconsistent_topic_id: return "INCONSISTENT_TOPIC_ID";
    case kafka_error::inconsistent_cluster_id: return "INCONSISTENT_CLUSTER_ID";
    case kafka_error::transactional_id_not_found: return "TRANSACTIONAL_ID_NOT_FOUND";
    case kafka_error::fetch_session_topic_id_error: return "FETCH_SESSION_TOPIC_ID_ERROR";
    case kafka_error::ineligible_replica: return "INELIGIBLE_REPLICA";
    case kafka_error::new_leader_elected: return "NEW_LEADER_ELECTED";
    case kafka_error::offset_moved_to_tiered_storage: return "OFFSET_MOVED_TO_TIERED_STORAGE";
    case kafka_error::fenced_member_epoch: return "FENCED_MEMBER_EPOCH";
    case kafka_error::unreleased_instance_id: return "UNRELEASED_INSTANCE_ID";
    case kafka_error::unsupported_assignor: return "UNSUPPORTED_ASSIGNOR";
    case kafka_error::stale_member_epoch: return "STALE_MEMBER_EPOCH";
    case kafka_error::mismatched_endpoint_type: return "MISMATCHED_ENDPOINT_TYPE";
    case kafka_error::unsupported_endpoint_type: return "UNSUPPORTED_ENDPOINT_TYPE";
    case kafka_error::unknown_controller_id: return "UNKNOWN_CONTROLLER_ID";
    case kafka_error::unknown_subscription_id: return "UNKNOWN_SUBSCRIPTION_ID";
    case kafka_error::telemetry_too_large: return "TELEMETRY_TOO_LARGE";
    case kafka_error::invalid_registration: return "INVALID_REGISTRATION";
    case kafka_error::transaction_abortable: return "TRANSACTION_ABORTABLE";
    case kafka_error::invalid_record_state: return "INVALID_RECORD_STATE";
    case kafka_error::share_session_not_found: return "SHARE_SESSION_NOT_FOUND";
    case kafka_error::invalid_share_session_epoch: return "INVALID_SHARE_SESSION_EPOCH";
    case kafka_error::fenced_state_epoch: return "FENCED_STATE_EPOCH";
    case kafka_error::invalid_voter_key: return "INVALID_VOTER_KEY";
    case kafka_error::duplicate_voter: return "DUPLICATE_VOTER";
    case kafka_error::voter_not_found: return "VOTER_NOT_FOUND";
    case kafka_error::invalid_regular_expression: return "INVALID_REGULAR_EXPRESSION";
    case kafka_error::rebootstrap_required: return "REBOOTSTRAP_REQUIRED";
    case kafka_error::streams_invalid_topology: return "STREAMS_INVALID_TOPOLOGY";
    case kafka_error::streams_invalid_topology_epoch: return "STREAMS_INVALID_TOPOLOGY_EPOCH";
    case kafka_error::streams_topology_fenced: return "STREAMS_TOPOLOGY_FENCED";
    case kafka_error::share_session_limit_reached: return "SHARE_SESSION_LIMIT_REACHED";
    case kafka_error::group_deletion_failed: return "GROUP_DELETION_FAILED";
    case kafka_error::streams_topology_description_update_failed: return "STREAMS_TOPOLOGY_DESCRIPTION_UPDATE_FAILED";
    case kafka_error::controller_id_not_registered: return "CONTROLLER_ID_NOT_REGISTERED";
  }
  return {};
}

}  // namespace

std::string broker_error_name(std::int16_t broker_code) {
  const std::string_view known = known_name(static_cast<kafka_error>(broker_code));
  return known.empty() ? fmt::format("UNKNOWN_CODE_{}", broker_code) : std::string(known);
}

}  // namespace mirrord
