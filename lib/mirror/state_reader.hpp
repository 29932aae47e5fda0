// Reads a topic from the beginning of each partition, for ever: records, and the news that the end was reached.
//
// Owned by state_store, which decides what records mean. A librdkafka consumer without a group: it commits nothing.
// A partition counts as read when the position has come to the end that the partition had at its first answer.
#pragma once

#include "base/error.hpp"
#include "client/rdkafka_handle.hpp"
#include "client/tasks.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mirrord::mirror {

struct state_topic_record {
  std::int32_t partition = 0;
  std::int64_t offset = 0;
  std::optional<std::string_view> key;
  std::optional<std::string_view> value;
  std::string_view written_by;  // the header of that name; empty: none
};

inline constexpr const char* written_by_header = "written-by";

class state_reader {
 public:
  struct handlers {
    std::function<void(const state_topic_record&)> record;
    std::function<void(std::int32_t partition)> advanced;  // position() has grown
    std::function<void(const error&)> failed;              // for good
  };

  [[nodiscard]] static result<std::unique_ptr<state_reader>> open(const client::asio::any_io_executor& executor,
                                                                  const connection_settings& connection, const std::string& topic,
                                                                  std::int32_t partitions, handlers h);

  // Everything before it has been handed out.
  [[nodiscard]] std::int64_t position(std::int32_t partition) const noexcept { return partitions_[static_cast<std::size_t>(partition)].position; }

  // Partitions that have not been read to the end yet.
  [[nodiscard]] std::int32_t unread() const noexcept { return unread_; }

  // Grows with every record and every end reached: tells a slow load from one that stands still.
  [[nodiscard]] std::uint64_t arrivals() const noexcept { return arrivals_; }

  // `failure` with the reason why connections fail, where it is a timeout.
  [[nodiscard]] error explained(error failure) const { return handle_->explained(std::move(failure)); }

  [[nodiscard]] client::asio::awaitable<void> close(client::steady_time until);

 private:
  struct partition_state {
    std::int64_t position = 0;
    std::optional<std::int64_t> first_seen_end;
    bool read = false;
  };
  struct topic_deleter {
    void operator()(rd_kafka_topic_t* topic) const noexcept { rd_kafka_topic_destroy(topic); }
  };

  state_reader(std::string topic, std::int32_t partitions, handlers h);
  result<void> start(const client::asio::any_io_executor& executor, const connection_settings& connection);
  void handle(client::rdkafka_event event);
  void handle_message(const rd_kafka_message_t& message);
  void handle_error(rd_kafka_event_t& event);
  void advance(std::int32_t partition, std::int64_t position, bool at_end);

  std::string topic_name_;
  handlers handlers_;
  std::vector<partition_state> partitions_;
  std::int32_t unread_;
  std::uint64_t arrivals_ = 0;
  std::unique_ptr<client::rdkafka_handle> handle_;
  std::unique_ptr<rd_kafka_topic_t, topic_deleter> topic_;  // after the handle: librdkafka wants topics destroyed first
};

}  // namespace mirrord::mirror
