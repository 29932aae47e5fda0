#include "mirror/state_reader.hpp"

#include "base/log.hpp"

#include <array>

namespace mirrord::mirror {
namespace {

namespace asio = client::asio;

struct setting {
  const char* property;
  const char* value;
};

constexpr std::array reader_settings{
    setting{"enable.partition.eof", "true"},
    setting{"isolation.level", "read_uncommitted"},
    setting{"auto.offset.reset", "error"},
    setting{"enable.auto.commit", "false"},
    setting{"enable.auto.offset.store", "false"},
    setting{"check.crcs", "true"},
    setting{"fetch.wait.max.ms", "100"},  // a partition that joins waits for the end of the Fetch under way
    setting{"fetch.error.backoff.ms", "100"},
    setting{"queued.max.messages.kbytes", "16384"},  // its default holds 64 MB for a topic that has a few
};

std::optional<std::string_view> bytes_of(const void* data, std::size_t size) {
  if (data == nullptr) return std::nullopt;
  return std::string_view(static_cast<const char*>(data), size);
}

std::string_view header_of(const rd_kafka_message_t& message, const char* wanted) {
  rd_kafka_headers_t* headers = nullptr;
  const void* value = nullptr;
  std::size_t size = 0;
  if (rd_kafka_message_headers(&message, &headers) != RD_KAFKA_RESP_ERR_NO_ERROR) return {};
  if (rd_kafka_header_get_last(headers, wanted, &value, &size) != RD_KAFKA_RESP_ERR_NO_ERROR || value == nullptr) return {};
  return {static_cast<const char*>(value), size};
}

struct topic_partition_deleter {
  void operator()(rd_kafka_topic_partition_t* p) const noexcept { rd_kafka_topic_partition_destroy(p); }
};

}  // namespace

state_reader::state_reader(std::string topic, std::int32_t partitions, handlers h)
    : topic_name_(std::move(topic)), handlers_(std::move(h)), partitions_(static_cast<std::size_t>(partitions)), unread_(partitions) {}

result<std::unique_ptr<state_reader>> state_reader::open(const asio::any_io_executor& executor, const connection_settings& connection,
                                                         const std::string& topic, std::int32_t partitions, handlers h) {
  std::unique_ptr<state_reader> reader(new state_reader(topic, partitions, std::move(h)));
  if (auto started = reader->start(executor, connection); !started) return std::move(started).error().within("reader of " + topic);
  return reader;
}

result<void> state_reader::start(const asio::any_io_executor& executor, const connection_settings& connection) {
  auto conf = client::make_rdkafka_conf(connection);
  if (!conf) return std::move(conf).error();
  for (const setting& s : reader_settings) {
    if (auto set = client::set_property(**conf, s.property, s.value); !set) return set;
  }
  auto handle = client::rdkafka_handle::open(executor, RD_KAFKA_CONSUMER, std::move(*conf), connection, "reader of " + topic_name_,
                                             [this](client::rdkafka_event event) { this->handle(std::move(event)); });
  if (!handle) return std::move(handle).error();
  handle_ = std::move(*handle);
  topic_.reset(rd_kafka_topic_new(handle_->client(), topic_name_.c_str(), nullptr));
  if (!topic_) return client::rdkafka_failure(rd_kafka_last_error(), nullptr, "topic " + topic_name_);
  for (std::int32_t p = 0; p < static_cast<std::int32_t>(partitions_.size()); ++p) {
    if (rd_kafka_consume_start_queue(topic_.get(), p, RD_KAFKA_OFFSET_BEGINNING, handle_->queue()) != 0) {
      return client::rdkafka_failure(rd_kafka_last_error(), nullptr, "read " + topic_name_ + '-' + std::to_string(p));
    }
  }
  return {};
}

void state_reader::handle(client::rdkafka_event event) {
  switch (rd_kafka_event_type(event.get())) {
    case RD_KAFKA_EVENT_FETCH:
      ++arrivals_;
      handle_->connection_works();
      while (const rd_kafka_message_t* message = rd_kafka_event_message_next(event.get())) handle_message(*message);
      return;
    case RD_KAFKA_EVENT_ERROR:
      handle_error(*event);
      return;
    default:
      return;
  }
}

void state_reader::handle_message(const rd_kafka_message_t& message) {
  state_topic_record record;
  record.partition = message.partition;
  record.offset = message.offset;
  record.key = bytes_of(message.key, message.key_len);
  record.value = bytes_of(message.payload, message.len);
  record.written_by = header_of(message, written_by_header);
  handlers_.record(record);
  advance(message.partition, message.offset + 1, false);
}

void state_reader::handle_error(rd_kafka_event_t& event) {
  const rd_kafka_resp_err_t code = rd_kafka_event_error(&event);
  const std::unique_ptr<rd_kafka_topic_partition_t, topic_partition_deleter> at(rd_kafka_event_topic_partition(&event));
  if (!at) {
    if (code == RD_KAFKA_RESP_ERR__FATAL) handlers_.failed(client::rdkafka_failure(code, rd_kafka_event_error_string(&event), "read " + topic_name_));
    return;  // trouble with a connection; librdkafka goes on trying
  }
  if (code == RD_KAFKA_RESP_ERR__PARTITION_EOF) {
    ++arrivals_;
    handle_->connection_works();
    advance(at->partition, at->offset, true);
    return;
  }
  // librdkafka reports for a partition only what does not pass by itself: no such topic, no permission, a lost position.
  handlers_.failed(client::rdkafka_failure(code, rd_kafka_event_error_string(&event), "read " + topic_name_ + '-' + std::to_string(at->partition)));
}

void state_reader::advance(std::int32_t partition, std::int64_t position, bool at_end) {
  partition_state& p = partitions_.at(static_cast<std::size_t>(partition));
  if (position > p.position) {
    p.position = position;
    handlers_.advanced(partition);
  }
  if (p.read) return;
  if (!p.first_seen_end && !at_end) {
    // Of the newest Fetch answer, so at or beyond the end that the partition had when reading began. An end alone would
    // not do: somebody who writes all the time can keep the position from ever standing exactly there.
    std::int64_t low = 0;
    std::int64_t high = 0;
    if (rd_kafka_get_watermark_offsets(handle_->client(), topic_name_.c_str(), partition, &low, &high) == RD_KAFKA_RESP_ERR_NO_ERROR && high >= 0) {
      p.first_seen_end = high;
    }
  }
  if (at_end || (p.first_seen_end && p.position >= *p.first_seen_end)) {
    p.read = true;
    --unread_;
    handlers_.advanced(partition);
  }
}

asio::awaitable<void> state_reader::close(client::steady_time until) {
  // Each stop waits for an answer of librdkafka's main thread; the last reference to the topic must go before the client.
  std::function<void()> stop = [topic = topic_.release(), count = static_cast<std::int32_t>(partitions_.size())] {
    for (std::int32_t p = 0; p < count; ++p) rd_kafka_consume_stop(topic, p);
    rd_kafka_topic_destroy(topic);
  };
  co_await handle_->close(std::move(stop), until);
}

}  // namespace mirrord::mirror
