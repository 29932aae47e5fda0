// What one cluster last said about itself: brokers, controller, topics, partition leaders. No I/O, no clock.
//
// Owned by cluster, which feeds it Metadata answers. Brokers learn of changes at different times, so an answer may be
// older than the one before it: for a partition of the same topic id a lower leader epoch is not taken over. Answers of
// another cluster (its id is pinned by the first answer) are refused as a whole.
#pragma once

#include "base/error.hpp"
#include "base/ids.hpp"
#include "client/endpoint.hpp"
#include "wire/metadata.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace mirrord::client {

struct broker_info {
  endpoint address;
  std::optional<std::string> rack;
};

struct partition_info {
  std::int16_t error_code = 0;
  std::int32_t leader_id = -1;     // -1: none at the moment
  std::int32_t leader_epoch = -1;
  std::vector<std::int32_t> replicas;
  std::vector<std::int32_t> isr;
  bool moved = false;              // somebody found this leader to be out of date, and no newer answer has come since
  std::uint8_t older_answers = 0;  // in a row
};

struct topic_info {
  std::int16_t error_code = 0;  // UNKNOWN_TOPIC_OR_PARTITION (3) also for one that was there and is gone
  topic_id id;                  // zero on clusters before 2.8
  bool is_internal = false;
  std::vector<partition_info> partitions;  // by partition number
};

// The broker and the leader epoch under which it leads.
struct leader {
  broker_id broker;
  std::int32_t epoch = -1;
  friend bool operator==(const leader&, const leader&) = default;
};

class metadata_cache {
 public:
  // `all_topics`: the answer is to a question about all topics, so that a topic it does not hold is gone. Errors:
  // invalid (another cluster's answer), malformed (partition numbers that cannot be). Then nothing has changed.
  [[nodiscard]] result<void> apply(const wire::metadata_response& answer, bool all_topics);

  // not_found: no such topic or partition. broker: no leader at the moment, or no access; with the broker's code.
  [[nodiscard]] result<leader> find_leader(const topic_partition& tp) const;

  // Somebody was refused by the leader of `epoch` or of an older one.
  void leader_moved(const topic_partition& tp, std::int32_t epoch);

  // Whether find_leader() gives an answer that nobody has called out of date.
  [[nodiscard]] bool is_fresh(const topic_partition& tp) const;

  [[nodiscard]] const topic_info* find_topic(const std::string& name) const;
  [[nodiscard]] const std::map<std::string, topic_info>& topics() const noexcept { return topics_; }
  [[nodiscard]] const std::map<broker_id, broker_info>& brokers() const noexcept { return brokers_; }
  [[nodiscard]] std::optional<broker_id> controller() const noexcept { return controller_; }
  [[nodiscard]] const std::string& cluster_id() const noexcept { return cluster_id_; }  // empty: not known yet

  // The cluster asked us to begin at the bootstrap servers again (KIP-1102). Topics and epochs stay.
  void forget_brokers() { brokers_.clear(); }

 private:
  [[nodiscard]] const partition_info* find_partition(const topic_partition& tp) const;

  std::string cluster_id_;
  std::optional<broker_id> controller_;
  std::map<broker_id, broker_info> brokers_;
  std::map<std::string, topic_info> topics_;
};

}  // namespace mirrord::client
