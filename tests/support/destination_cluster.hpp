// What the integration tests of the admin client and the state store share: the cluster under test, and clients of it.
//
// MIRRORD_TEST_DESTINATION is its bootstrap string; a secured cluster also needs MIRRORD_TEST_DESTINATION_PROTOCOL
// (SASL_SSL, ...), _CA, _MECHANISM, _USER and _PASSWORD. MIRRORD_TEST_DESTINATION_STRANGER is "user:password" of somebody
// who may do nothing there. MIRRORD_TEST_DESTINATION_KILL and _RESTART are commands that end and start its one broker.
// What is not set is skipped.
#pragma once

#include "client/admin.hpp"
#include "client/rdkafka_settings.hpp"
#include "mirror/state_store.hpp"
#include "mirror/state_topic.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <catch2/catch.hpp>
#include <librdkafka/rdkafka.h>

#include <chrono>
#include <cstdlib>
#include <exception>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace mirrord::test {

using namespace mirror;
using client::steady_time;
using std::chrono::milliseconds;
using std::chrono::seconds;
namespace asio = boost::asio;

inline std::string environment(const char* variable) {
  const char* value = std::getenv(variable);
  return value != nullptr ? value : "";
}

inline bool available() {
  if (!environment("MIRRORD_TEST_DESTINATION").empty()) return true;
  WARN("MIRRORD_TEST_DESTINATION is not set: skipped");
  return false;
}

inline connection_settings destination() {
  connection_settings c;
  std::string list = environment("MIRRORD_TEST_DESTINATION");
  while (!list.empty()) {
    const std::size_t comma = list.find(',');
    c.bootstrap_servers.push_back(list.substr(0, comma));
    list = comma == std::string::npos ? "" : list.substr(comma + 1);
  }
  for (const auto p : {security_protocol::plaintext, security_protocol::ssl, security_protocol::sasl_plaintext, security_protocol::sasl_ssl}) {
    if (environment("MIRRORD_TEST_DESTINATION_PROTOCOL") == name(p)) c.security_protocol = p;
  }
  for (const auto m : {sasl_mechanism::plain, sasl_mechanism::scram_sha_256, sasl_mechanism::scram_sha_512}) {
    if (environment("MIRRORD_TEST_DESTINATION_MECHANISM") == name(m)) c.sasl_mechanism = m;
  }
  c.ssl_ca_location = environment("MIRRORD_TEST_DESTINATION_CA");
  c.sasl_username = environment("MIRRORD_TEST_DESTINATION_USER");
  c.sasl_password = environment("MIRRORD_TEST_DESTINATION_PASSWORD");
  return c;
}

// A port on which nobody listens.
inline connection_settings nobody() {
  connection_settings c;
  c.bootstrap_servers = {"127.0.0.1:1"};
  return c;
}

inline std::string fresh_topic() {
  static std::random_device random;
  return "state_test_" + std::to_string(random()) + std::to_string(random());
}

inline steady_time in(milliseconds length) { return std::chrono::steady_clock::now() + length; }

// Runs a test's coroutine to its end; an exception of Catch2 comes out of here.
template <class Test, class... Arguments>
void run(Test test, Arguments... arguments) {
  asio::io_context loop(1);
  std::exception_ptr failure;
  asio::co_spawn(loop, test(loop.get_executor(), arguments...), [&](std::exception_ptr e) { failure = e; });
  loop.run();
  if (failure) std::rethrow_exception(failure);
}

struct client_deleter {
  void operator()(rd_kafka_t* c) const { rd_kafka_destroy(c); }
};
using raw_client = std::unique_ptr<rd_kafka_t, client_deleter>;

inline raw_client make_raw_client(rd_kafka_type_t type, std::vector<std::pair<const char*, std::string>> settings) {
  connection_settings connection = destination();
  connection.sasl_mechanism = sasl_mechanism::plain;  // what librdkafka can do by itself
  auto conf = client::make_rdkafka_conf(connection).value();
  client::set_property(*conf, "log.queue", "false").value();
  for (const auto& [property, value] : settings) client::set_property(*conf, property, value).value();
  char reason[512] = "";
  rd_kafka_t* made = rd_kafka_new(type, conf.release(), reason, sizeof reason);
  INFO(reason);
  REQUIRE(made != nullptr);
  return raw_client(made);
}

// Metadata through librdkafka's blocking call, which does for a test.
inline cluster_shape ask_shape(const std::string& topic) {
  const raw_client c = make_raw_client(RD_KAFKA_CONSUMER, {});
  const struct rd_kafka_metadata* m = nullptr;
  REQUIRE(rd_kafka_metadata(c.get(), 1, nullptr, &m, 10'000) == RD_KAFKA_RESP_ERR_NO_ERROR);
  cluster_shape shape;
  shape.brokers = m->broker_cnt;
  for (int i = 0; i < m->topic_cnt; ++i) {
    if (m->topics[i].topic == topic && m->topics[i].partition_cnt > 0) {
      shape.topic = topic_shape{m->topics[i].partition_cnt, m->topics[i].partitions[0].replica_cnt};
    }
  }
  rd_kafka_metadata_destroy(m);
  return shape;
}

inline asio::awaitable<result<cluster_shape>> shape_of(std::string topic, steady_time) { co_return ask_shape(topic); }

// The number of data records of one partition, as an ordinary consumer finds them.
inline int count_records(const std::string& topic, std::int32_t partition) {
  const raw_client c = make_raw_client(RD_KAFKA_CONSUMER, {{"group.id", "state-test"}, {"enable.partition.eof", "true"}, {"enable.auto.commit", "false"}});
  rd_kafka_topic_partition_list_t* list = rd_kafka_topic_partition_list_new(1);
  rd_kafka_topic_partition_list_add(list, topic.c_str(), partition)->offset = RD_KAFKA_OFFSET_BEGINNING;
  rd_kafka_assign(c.get(), list);
  rd_kafka_topic_partition_list_destroy(list);
  int count = 0;
  for (;;) {
    rd_kafka_message_t* message = rd_kafka_consumer_poll(c.get(), 10'000);
    REQUIRE(message != nullptr);
    const bool end = message->err == RD_KAFKA_RESP_ERR__PARTITION_EOF;
    if (message->err == RD_KAFKA_RESP_ERR_NO_ERROR) ++count;
    rd_kafka_message_destroy(message);
    if (end) break;
  }
  rd_kafka_consumer_close(c.get());
  return count;
}

inline void delete_topic(const std::string& topic) {
  const raw_client c = make_raw_client(RD_KAFKA_PRODUCER, {});
  rd_kafka_queue_t* queue = rd_kafka_queue_new(c.get());
  rd_kafka_DeleteTopic_t* request = rd_kafka_DeleteTopic_new(topic.c_str());
  rd_kafka_DeleteTopics(c.get(), &request, 1, nullptr, queue);
  rd_kafka_event_t* answer = rd_kafka_queue_poll(queue, 20'000);
  REQUIRE(answer != nullptr);
  CHECK(rd_kafka_event_error(answer) == RD_KAFKA_RESP_ERR_NO_ERROR);
  rd_kafka_event_destroy(answer);
  rd_kafka_DeleteTopic_destroy(request);
  rd_kafka_queue_destroy(queue);
}

inline constexpr std::int32_t partitions = 5;

inline std::unique_ptr<client::admin> open_admin(const asio::any_io_executor& executor) {
  return client::admin::open(executor, destination(), "destination").value();
}

inline std::unique_ptr<state_store> open_store(const asio::any_io_executor& executor, const std::string& topic, std::string instance) {
  state_store_options options;
  options.topic = topic;
  options.partitions = partitions;
  options.instance = std::move(instance);
  return state_store::open(executor, destination(), std::move(options)).value();
}

inline asio::awaitable<void> create_compacted(const asio::any_io_executor& executor, std::string topic, std::map<std::string, std::string> more = std::map<std::string, std::string>()) {
  const auto admin = open_admin(executor);
  client::topic_creation creation;
  creation.name = topic;
  creation.partitions = partitions;
  creation.config = std::move(more);
  creation.config.emplace("cleanup.policy", "compact");
  const auto created = co_await admin->create_topic(std::move(creation), in(seconds(20)));
  INFO((created ? std::string() : created.error().message()));
  REQUIRE(created.has_value());
  co_await admin->close();
}

inline topic_id numbered_topic(int n) {
  topic_id id;
  id.bytes[14] = static_cast<std::uint8_t>(n >> 8);
  id.bytes[15] = static_cast<std::uint8_t>(n & 255);
  return id;
}

inline fill_plan_key numbered_key(int n) { return {{"a-to-b", numbered_topic(n), n}}; }

inline void require_ok(const result<void>& r) {
  INFO((r ? std::string() : r.error().message()));
  REQUIRE(r.has_value());
}

inline asio::awaitable<void> write_plan(state_store& store, int n, std::int64_t fill_to, std::shared_ptr<int> left, std::shared_ptr<result<void>> outcome) {
  const auto written = co_await store.write(numbered_key(n), fill_plan_value{fill_to});
  if (!written) *outcome = written;
  --*left;
}

// Writes `count` records with all of them under way at once.
inline asio::awaitable<void> write_many(const asio::any_io_executor& executor, state_store& store, int count, int keys, std::int64_t first_value) {
  const auto left = std::make_shared<int>(count);
  const auto outcome = std::make_shared<result<void>>();
  for (int i = 0; i < count; ++i) {
    asio::co_spawn(executor, write_plan(store, i % keys, first_value + i, left, outcome), [](std::exception_ptr e) {
      if (e) std::rethrow_exception(e);
    });
  }
  while (*left > 0) REQUIRE(co_await client::sleep_for(milliseconds(2)));
  require_ok(*outcome);
}

}  // namespace mirrord::test
