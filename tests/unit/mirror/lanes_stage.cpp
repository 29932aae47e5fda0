#include "lanes_stage.hpp"

#include "wire/records.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/system/system_error.hpp>

#include <algorithm>

namespace mirrord::mirror::lanes {

lane_broker::lane_broker(asio::io_context& io) : offered(fake::usual_versions()), listener_(io), changed_(io.get_executor()) {
  offered.push_back({21, 0, 2});
}

awaitable<void> lane_broker::run() {
  while (!stopped_) {
    if (refusing_) {
      (void)co_await changed_.wait();
      continue;
    }
    std::shared_ptr<fake::peer> p;
    try {
      p = co_await listener_.accept();
    } catch (const boost::system::system_error&) {
      continue;
    }
    peers_.push_back(p);
    auto ended = [](std::exception_ptr failure) {
      try {
        if (failure) std::rethrow_exception(failure);
      } catch (const boost::system::system_error&) {
        // The connection's end.
      }
    };
    asio::co_spawn(co_await asio::this_coro::executor, serve(p, ++connections_), std::move(ended));
  }
}

void lane_broker::stop() {
  stopped_ = true;
  refuse();
}

void lane_broker::drop() {
  for (const auto& p : peers_) p->close();
  peers_.clear();
}

void lane_broker::refuse() {
  refusing_ = true;
  listener_.shut();
  drop();
  changed_.notify();
}

void lane_broker::accept_again() {
  listener_.open();
  refusing_ = false;
  changed_.notify();
}

void lane_broker::release_set_up() {
  hold_set_up = false;
  changed_.notify();
}

void lane_broker::lead(const topic_partition& tp, std::int32_t broker, std::int32_t epoch, topic_id id) {
  auto& topic = topics_[tp.topic];
  topic.name = tp.topic;
  topic.topic_id = id;
  while (topic.partitions.size() <= static_cast<std::size_t>(tp.partition)) {
    topic.partitions.emplace_back();
    topic.partitions.back().partition_index = static_cast<std::int32_t>(topic.partitions.size()) - 1;
  }
  auto& partition = topic.partitions[static_cast<std::size_t>(tp.partition)];
  partition.leader_id = broker;
  partition.leader_epoch = epoch;
}

wire::metadata_response lane_broker::metadata(const wire::metadata_request& asked) const {
  wire::metadata_response answer;
  answer.cluster_id = "one";
  answer.controller_id = 1;
  for (const std::int32_t id : {1, 2}) answer.brokers.push_back({id, listener_.address().host, listener_.address().port, {}});
  for (const auto& [name, topic] : topics_) {
    const bool named = !asked.topics || std::ranges::any_of(*asked.topics, [&](const auto& wanted) { return wanted.name == topic.name; });
    if (named) answer.topics.push_back(topic);
  }
  return answer;
}

awaitable<void> lane_broker::serve(std::shared_ptr<fake::peer> p, int number) {
  for (;;) {
    auto frame = std::make_shared<const std::vector<std::byte>>(co_await p->read_frame());
    const auto header = wire::decode_request_header(*frame).value();
    if (header.key == wire::api_key::api_versions) {
      while (hold_set_up) (void)co_await changed_.wait();
      wire::api_versions_response answer;
      answer.api_keys = offered;
      co_await p->answer(header, std::move(answer));
    } else if (header.key == wire::api_key::metadata) {
      ++metadata_requests;
      const auto request = wire::decode_request<wire::metadata_request>(*frame).value();
      co_await p->answer(header, metadata(request));
    } else {
      inbox_.push_back({p, number, header, std::move(frame)});
      changed_.notify();
    }
  }
}

awaitable<incoming> lane_broker::next_of_any_kind() {
  while (inbox_.empty()) (void)co_await changed_.wait();
  incoming first = std::move(inbox_.front());
  inbox_.pop_front();
  co_return first;
}

void lane_scene::play(std::function<awaitable<void>(client::cluster&)> story) {
  client::cluster c(executor(), settings, [] { return 0.5; });
  auto tell = [&]() -> awaitable<void> {
    std::exception_ptr failure;
    try {
      co_await story(c);
    } catch (...) {
      failure = std::current_exception();
    }
    broker.stop();
    for (const auto& step : at_end) co_await step();
    co_await c.close();
    if (failure) std::rethrow_exception(failure);
  };
  std::vector<awaitable<void>> parts;
  parts.push_back(tell());
  parts.push_back(broker.run());
  stage.play(std::move(parts));
}

awaitable<void> settle(client::cluster& c) {
  for (int i = 0; i < 3; ++i) {
    const auto refreshed = co_await c.refresh_all();
    REQUIRE(refreshed.has_value());
  }
}

std::vector<std::byte> source_bytes(const std::string& value, bool transactional, std::size_t padding) {
  std::string text = value + std::string(padding, '.');
  wire::record_view record;
  record.offset = 0;
  record.timestamp = 1'700'000'000'000;
  record.value = std::as_bytes(std::span(text));
  wire::batch_builder builder({wire::codec::none, transactional});
  builder.add(record);
  auto bytes = builder.finish({4711, 3, 99}).value();
  bytes[6] = std::byte{0x12};  // base offset 0x1234, which the checksum does not cover
  bytes[7] = std::byte{0x34};
  return bytes;
}

batch_append batch(const std::string& value, batch_kind kind) {
  const auto bytes = std::make_shared<const std::vector<std::byte>>(source_bytes(value, kind.transactional, kind.padding));
  batch_append write;
  write.batch = *wire::batch_cursor(*bytes).next().value();
  write.owner = bytes;
  write.pid = destination_pid{kind.pid};
  write.epoch = kind.epoch;
  write.sequence = kind.sequence;
  write.confirmation = kind.confirmation;
  return write;
}

std::vector<produced> batches_of(const wire::produce_request& request) {
  std::vector<produced> all;
  for (const auto& topic : request.topic_data) {
    for (const auto& partition : topic.partition_data) {
      REQUIRE(partition.records.pieces.size() == 1);
      wire::batch_cursor cursor(partition.records.pieces[0]);
      const auto found = cursor.next().value();
      REQUIRE(found.has_value());
      CHECK(wire::verify_crc(*found).has_value());
      CHECK_FALSE(cursor.next().value().has_value());
      CHECK(cursor.partial_tail_bytes() == 0);
      auto reader = wire::record_reader::open(*found).value();
      const auto record = reader.next().value();
      REQUIRE((record && record->value));
      std::string value(reinterpret_cast<const char*>(record->value->data()), record->value->size());
      value.erase(std::min(value.find('.'), value.size()));
      all.push_back({{topic.name, partition.index}, found->header, std::move(value)});
    }
  }
  return all;
}

std::vector<std::string> contents(const wire::produce_request& request) {
  std::vector<std::string> all;
  for (const auto& one : batches_of(request)) all.push_back(one.to.text() + " " + one.value);
  return all;
}

wire::produce_response appended(const wire::produce_request& request, std::int64_t base_offset,
                                const std::map<topic_partition, std::int16_t>& error_of) {
  wire::produce_response response;
  for (const auto& topic : request.topic_data) {
    response.responses.push_back({topic.name, {}});
    for (const auto& partition : topic.partition_data) {
      wire::produce_response_partition answer;
      answer.index = partition.index;
      answer.base_offset = base_offset;
      if (const auto bad = error_of.find({topic.name, partition.index}); bad != error_of.end()) {
        answer.error_code = bad->second;
        answer.base_offset = -1;
      }
      response.responses.back().partition_responses.push_back(std::move(answer));
    }
  }
  return response;
}

}  // namespace mirrord::mirror::lanes
