// The records of the topic `__mirror_state` as structs, and their bytes.
//
// Layout as in Kafka's coordinator topics. Key: int16 kind, then the key's fields (not flexible). Value: int16 version,
// then the value's fields, strings compact, and tagged fields last, so that a field can be added without a new version
// (KIP-482). A kind that we do not know, and a value of a newer version than ours, is no error: a later release wrote
// it; we skip it and never write over it. Kinds 1 and 2 belong to KIP-1279, in the schema of its newest public version.
//
// Pure: no I/O. Who reads and writes these records is state_store; what they add up to is state_view.
#pragma once

#include "base/error.hpp"
#include "base/ids.hpp"
#include "core/partition_state.hpp"
#include "core/producer_slots.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mirrord::mirror {

enum class record_kind : std::int16_t {
  mirror_partition_state = 1,  // KIP-1279 MirrorPartitionState; its number is provisional there too
  last_mirror_epochs = 2,      // KIP-1279 LastMirrorEpochs
  mirror = 100,
  producer_id = 101,
  mirror_topic = 102,
  fill_plan = 103,
  hand_over = 104,
  open_slot = 105,
  producer_epoch = 106,
  desired_state = 107,
  source_config = 108,
  stop_plan = 109,
  request = 110,
  report = 111,
};

// A partition of a mirror topic. The destination's topic id, since a name can come back as another topic.
struct mirrored_partition {
  std::string mirror;
  topic_id destination_topic;
  std::int32_t partition = 0;
  friend auto operator<=>(const mirrored_partition&, const mirrored_partition&) = default;
};

// --- mirror_partition_state: where a partition stands (KIP-1279) --------------------------------------------------------

struct partition_state_value {
  core::partition_state state = core::partition_state::unknown;
  std::int32_t leader_epoch = -1;  // of the destination, under which the owner wrote it; -1: not asked yet
  std::int32_t state_epoch = 0;    // one higher with each record
  std::string error_message;       // why it is FAILED; empty otherwise
  std::int16_t retry_attempt = 0;  // -1: not retried
  core::partition_state previous_state = core::partition_state::unknown;  // the state that failed
  friend bool operator==(const partition_state_value&, const partition_state_value&) = default;
};

struct partition_state_key {
  using value_type = partition_state_value;
  static constexpr record_kind kind = record_kind::mirror_partition_state;
  mirrored_partition of;
  friend auto operator<=>(const partition_state_key&, const partition_state_key&) = default;
};

// --- last_mirror_epochs: up to where the source's history was mirrored, as of STOPPING (KIP-1279) -----------------------

struct last_mirror_epochs_value {
  std::int32_t last_mirror_epoch = -1;   // newest source leader epoch in the mirrored log; -1: not known
  std::int64_t last_mirror_offset = -1;  // end of the mirrored log
  friend bool operator==(const last_mirror_epochs_value&, const last_mirror_epochs_value&) = default;
};

struct last_mirror_epochs_key {
  using value_type = last_mirror_epochs_value;
  static constexpr record_kind kind = record_kind::last_mirror_epochs;
  mirrored_partition of;
  friend auto operator<=>(const last_mirror_epochs_key&, const last_mirror_epochs_key&) = default;
};

// --- mirror: which cluster a mirror reads; another one under the same name is refused --------------------------------

struct mirror_value {
  std::string source_cluster_id;
  std::int64_t created_ms = 0;  // Unix time
  friend bool operator==(const mirror_value&, const mirror_value&) = default;
};

struct mirror_key {
  using value_type = mirror_value;
  static constexpr record_kind kind = record_kind::mirror;
  std::string mirror;
  friend auto operator<=>(const mirror_key&, const mirror_key&) = default;
};

// --- producer_id: a destination producer id claimed for an index of the mirror's pool ---------------------------------
//
// Daemons may race for an index; of its records the one at the LOWEST offset wins, so all who read agree. Compaction
// keeps the latest record of a key, which would be the loser's. That is why the producer id is part of the key: every
// claim has a key of its own, is written once, and keeps its offset for ever.

struct producer_id_value {
  std::string claimed_by;  // the daemon's instance id, for people who look
  friend bool operator==(const producer_id_value&, const producer_id_value&) = default;
};

struct producer_id_key {
  using value_type = producer_id_value;
  static constexpr record_kind kind = record_kind::producer_id;
  std::string mirror;
  core::slot_index index = core::writer_index;
  destination_pid producer;
  friend auto operator<=>(const producer_id_key&, const producer_id_key&) = default;
};

// --- mirror_topic: a topic of the mirror, pinned on both sides --------------------------------------------------------

struct mirror_topic_value {
  std::string topic;         // the name on both sides
  topic_id source_topic;     // zero where the source has no topic ids (before 2.8)
  std::string source_cluster_id;
  friend bool operator==(const mirror_topic_value&, const mirror_topic_value&) = default;
};

struct mirror_topic_key {
  using value_type = mirror_topic_value;
  static constexpr record_kind kind = record_kind::mirror_topic;
  std::string mirror;
  topic_id destination_topic;
  friend auto operator<=>(const mirror_topic_key&, const mirror_topic_key&) = default;
};

// --- fill_plan: everything before fill_to is bulk filler and must be trimmed before anything else; erased then ---------

struct fill_plan_value {
  std::int64_t fill_to = 0;
  friend bool operator==(const fill_plan_value&, const fill_plan_value&) = default;
};

struct fill_plan_key {
  using value_type = fill_plan_value;
  static constexpr record_kind kind = record_kind::fill_plan;
  mirrored_partition of;
  friend auto operator<=>(const fill_plan_key&, const fill_plan_key&) = default;
};

// --- hand_over: the end that an owner left in order, with nothing under way; erased by the next owner at its start ------

struct hand_over_value {
  std::string instance;        // who left
  std::int64_t end_offset = 0;
  std::int64_t left_ms = 0;    // Unix time
  friend bool operator==(const hand_over_value&, const hand_over_value&) = default;
};

struct hand_over_key {
  using value_type = hand_over_value;
  static constexpr record_kind kind = record_kind::hand_over;
  mirrored_partition of;
  friend auto operator<=>(const hand_over_key&, const hand_over_key&) = default;
};

// --- open_slot: a transaction that has been open for a while, and the slot that carries it ------------------------------

struct open_slot_value {
  source_pid producer;
  std::int64_t first_offset = 0;
  std::int16_t epoch = -1;   // of the source producer; -1: not known
  std::int64_t seen_ms = 0;  // Unix time at which the source surely held data of it
  friend bool operator==(const open_slot_value&, const open_slot_value&) = default;
};

struct open_slot_key {
  using value_type = open_slot_value;
  static constexpr record_kind kind = record_kind::open_slot;
  mirrored_partition of;
  core::slot_index slot = 0;
  friend auto operator<=>(const open_slot_key&, const open_slot_key&) = default;
};

// --- producer_epoch: the highest producer epoch under which a daemon of the mirror may have sent markers -----------------

struct producer_epoch_value {
  std::int16_t epoch = 0;
  friend bool operator==(const producer_epoch_value&, const producer_epoch_value&) = default;
};

struct producer_epoch_key {
  using value_type = producer_epoch_value;
  static constexpr record_kind kind = record_kind::producer_epoch;
  std::string mirror;
  friend auto operator<=>(const producer_epoch_key&, const producer_epoch_key&) = default;
};

// --- desired_state: what a person wants of a topic --------------------------------------------------------------------
//
// By the topic's name, since it can be wanted before it exists on the destination.

struct desired_state_value {
  std::string mirror_name;  // the value of `mirror.name`: core::parse_mirror_name
  std::string changed_by;   // for people who look
  std::int64_t changed_ms = 0;
  friend bool operator==(const desired_state_value&, const desired_state_value&) = default;
};

struct desired_state_key {
  using value_type = desired_state_value;
  static constexpr record_kind kind = record_kind::desired_state;
  std::string mirror;
  std::string topic;
  friend auto operator<=>(const desired_state_key&, const desired_state_key&) = default;
};

// --- source_config: the source topic's own values of the settings that the mirror overrides; put in place at STOPPED -----

struct config_property {
  std::string key;
  std::string value;
  friend bool operator==(const config_property&, const config_property&) = default;
};

struct source_config_value {
  std::vector<config_property> dynamic;  // what is set on the source topic itself; the rest is left to the brokers' defaults
  friend bool operator==(const source_config_value&, const source_config_value&) = default;
};

struct source_config_key {
  using value_type = source_config_value;
  static constexpr record_kind kind = record_kind::source_config;
  std::string mirror;
  topic_id destination_topic;
  friend auto operator<=>(const source_config_key&, const source_config_key&) = default;
};

// --- stop_plan: what STOPPING writes after the mirrored log, recorded before it is written -------------------------------

struct stop_plan_value {
  std::int64_t mirrored_end = 0;
  std::vector<std::int64_t> open_producers;  // destination producer ids; one ABORT each
  std::int16_t reset_epoch = 0;              // of the writer's ABORT that ends the mirrored log
  std::int64_t end_offset = -1;              // the log's end after it; -1: not written yet
  friend bool operator==(const stop_plan_value&, const stop_plan_value&) = default;
};

struct stop_plan_key {
  using value_type = stop_plan_value;
  static constexpr record_kind kind = record_kind::stop_plan;
  mirrored_partition of;
  friend auto operator<=>(const stop_plan_key&, const stop_plan_key&) = default;
};

// --- request, report: how kafka-mirror and the daemons talk ------------------------------------------------------------
//
// The command line tool writes a request and reads the reports of that id; it erases both when it is done, and a daemon
// erases what was left behind.

struct request_value {
  std::string action;  // "stop": as in control_actions.hpp
  std::vector<std::string> topics;   // names, or patterns that match the full name
  std::vector<std::string> exclude;
  std::vector<std::string> flags;    // "dry-run"
  std::string asked_by;
  std::int64_t asked_ms = 0;
  friend bool operator==(const request_value&, const request_value&) = default;
};

struct request_key {
  using value_type = request_value;
  static constexpr record_kind kind = record_kind::request;
  std::string mirror;  // empty: of all mirrors
  std::string id;
  friend auto operator<=>(const request_key&, const request_key&) = default;
};

struct report_item {
  std::string mirror;
  std::string topic;            // empty: of the mirror as a whole
  std::int32_t partition = -1;  // -1: of the topic as a whole
  bool ok = true;
  std::string state;            // what is, in the KIP's words; empty: not told
  std::int64_t source_end = -1;
  std::int64_t destination_end = -1;
  std::int32_t retry_attempt = 0;
  std::string message;
  std::vector<config_property> details;  // of a mirror as a whole: control_items.hpp names them
  friend bool operator==(const report_item&, const report_item&) = default;
};

struct report_value {
  std::string instance;  // the daemon that answers
  std::int32_t parts = 1;
  std::vector<report_item> items;
  friend bool operator==(const report_value&, const report_value&) = default;
};

struct report_key {
  using value_type = report_value;
  static constexpr record_kind kind = record_kind::report;
  std::string mirror;
  std::string id;         // of the request
  std::int32_t part = 0;  // from 0; a long report has several
  friend auto operator<=>(const report_key&, const report_key&) = default;
};

// --- bytes ------------------------------------------------------------------------------------------------------------
//
// The templates are defined for the keys above and their values.

template <class Key>
[[nodiscard]] std::string encode_key(const Key& key);

template <class Value>
[[nodiscard]] std::string encode_value(const Value& value);

// errc::malformed also for a key of another kind; look at kind_of() first.
template <class Key>
[[nodiscard]] result<Key> decode_key(std::string_view bytes);

// None for a newer version than ours.
template <class Value>
[[nodiscard]] result<std::optional<Value>> decode_value(std::string_view bytes);

// The first two bytes as a number, whether we know that kind or not; none when there are fewer.
[[nodiscard]] std::optional<record_kind> kind_of(std::string_view key) noexcept;

// What every encoded Key begins with, of any mirror, and of that mirror.
template <class Key>
[[nodiscard]] std::string kind_prefix();
template <class Key>
[[nodiscard]] std::string key_prefix(std::string_view mirror);

// --- where a record lives ---------------------------------------------------------------------------------------------

// KIP-1279's routing: Java's String.hashCode of `route`, |h| mod the number of partitions, 0 for the one hash that has
// no absolute value. Names are ASCII, so UTF-16 code units are bytes.
[[nodiscard]] std::int32_t state_partition(std::string_view route, std::int32_t partitions);

// "mirror:topicid:partition" for what belongs to one partition, the mirror's name for what belongs to the mirror.
[[nodiscard]] std::string route_of(const mirrored_partition& p);
[[nodiscard]] inline std::string route_of(const mirror_key& key) { return key.mirror; }
[[nodiscard]] inline std::string route_of(const producer_id_key& key) { return key.mirror; }
[[nodiscard]] inline std::string route_of(const producer_epoch_key& key) { return key.mirror; }
[[nodiscard]] inline std::string route_of(const mirror_topic_key& key) { return key.mirror; }
[[nodiscard]] inline std::string route_of(const fill_plan_key& key) { return route_of(key.of); }
[[nodiscard]] inline std::string route_of(const hand_over_key& key) { return route_of(key.of); }
[[nodiscard]] inline std::string route_of(const open_slot_key& key) { return route_of(key.of); }
[[nodiscard]] inline std::string route_of(const partition_state_key& key) { return route_of(key.of); }
[[nodiscard]] inline std::string route_of(const last_mirror_epochs_key& key) { return route_of(key.of); }
[[nodiscard]] inline std::string route_of(const desired_state_key& key) { return key.mirror; }
[[nodiscard]] inline std::string route_of(const source_config_key& key) { return key.mirror; }
[[nodiscard]] inline std::string route_of(const stop_plan_key& key) { return route_of(key.of); }
[[nodiscard]] inline std::string route_of(const request_key& key) { return key.mirror; }
[[nodiscard]] inline std::string route_of(const report_key& key) { return key.mirror; }

// --- any record ---------------------------------------------------------------------------------------------------------

enum class readability : std::uint8_t {
  readable,
  unknown_kind,
  newer_version,
  malformed,
};

struct inspection {
  readability verdict = readability::readable;
  std::string route;  // of a key that we can read, else empty
  std::string fault;  // of a malformed one: what and where
};

// What we can make of a record that somebody wrote; `value` is none for a tombstone.
[[nodiscard]] inspection inspect(std::string_view key, std::optional<std::string_view> value);

// "MirrorPartitionState", "StopPlan"; "Unknown" for kinds that we do not know.
[[nodiscard]] std::string_view name(record_kind kind) noexcept;

// "name=value name=value", for people; empty where it cannot be read. No record holds a secret.
struct printed_record {
  std::string key;
  std::string value;
};

[[nodiscard]] printed_record print(std::string_view key, std::optional<std::string_view> value);

}  // namespace mirrord::mirror
