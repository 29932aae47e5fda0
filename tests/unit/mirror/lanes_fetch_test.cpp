// Stories of a fetch lane and of its budget: who shares a request, who stands first in it, and who holds an answer's bytes.
#include "lanes_stage.hpp"

#include "mirror/fetch_lane.hpp"

#include <algorithm>

using namespace mirrord;
using namespace mirrord::mirror;
using namespace mirrord::mirror::lanes;

namespace {

using texts = std::vector<std::string>;
using fetch_answer = std::shared_ptr<one_shot<result<source_chunk>>>;

constexpr topic_id orders_id{{7}};
constexpr topic_id audit_id{{8}};

struct fetching {
  explicit fetching(lane_scene& s, client::cluster& c, std::size_t budget_bytes = 1 << 20)
      : budget(std::make_shared<fetch_budget>(s.executor(), budget_bytes)),
        lane(std::make_shared<fetch_lane>(s.executor(), c, broker_id{1}, 0, settings(), 5000ms, budget)) {
    s.closes(lane);
  }

  static fetch_settings settings() {
    fetch_settings f;
    f.max_bytes = 1000;
    f.response_max_bytes = 5000;
    f.wait_max = 500ms;
    f.min_bytes = 1;
    return f;
  }

  [[nodiscard]] fetch_answer ask(const topic_partition& from, std::int64_t offset = 0, std::int32_t epoch = 5) {
    return lane->fetch({from, from.topic == "orders" ? orders_id : audit_id, source_epoch{epoch}, offset});
  }

  std::shared_ptr<fetch_budget> budget;
  std::shared_ptr<fetch_lane> lane;
};

texts asked(const wire::fetch_request& request) {
  texts all;
  for (const auto& topic : request.topics) {
    const std::string name = !topic.topic.empty() ? topic.topic : topic.topic_id == orders_id ? "orders" : "audit";
    for (const auto& partition : topic.partitions) all.push_back(topic_partition{name, partition.partition}.text());
  }
  return all;
}

// The answer with these record bytes per partition, and none for the others that were asked for.
wire::fetch_response answer_to(const wire::fetch_request& request, const std::map<topic_partition, std::span<const std::byte>>& data = {}) {
  wire::fetch_response response;
  for (const auto& topic : request.topics) {
    const std::string name = !topic.topic.empty() ? topic.topic : topic.topic_id == orders_id ? "orders" : "audit";
    response.responses.push_back({topic.topic, topic.topic_id, {}});
    for (const auto& partition : topic.partitions) {
      wire::fetch_response_partition one;
      one.partition_index = partition.partition;
      one.high_watermark = 100;
      one.last_stable_offset = 90;
      one.log_start_offset = 10;
      const auto found = data.find({name, partition.partition});
      if (found != data.end()) one.records = found->second;
      response.responses.back().partitions.push_back(std::move(one));
    }
  }
  return response;
}

awaitable<void> give(received<wire::fetch_request>& request, std::vector<topic_partition> to, std::span<const std::byte> records) {
  std::map<topic_partition, std::span<const std::byte>> data;
  for (const auto& tp : to) data.emplace(tp, records);
  co_await request.answer(answer_to(request.body, data));
}

}  // namespace

TEST_CASE("one request carries all asks of a turn; those that come meanwhile make the next", "[lanes][fetch]") {
  lane_scene s;
  s.play([&](client::cluster& c) -> awaitable<void> {
    fetching f(s, c);
    const auto a = f.ask(orders_0, 11, 5);
    const auto b = f.ask(orders_1, 12, 6);
    const auto d = f.ask(audit_0, 13, -1);
    auto first = co_await s.broker.next<wire::fetch_request>();
    CHECK(asked(first.body) == texts{"orders-0", "orders-1", "audit-0"});
    CHECK(first.body.replica_id == -1);
    CHECK(first.body.isolation_level == 0);
    CHECK(first.body.session_epoch == -1);
    CHECK(first.body.max_wait_ms == 500);
    CHECK(first.body.min_bytes == 1);
    CHECK(first.body.max_bytes == 5000);
    const auto& second_ask = first.body.topics[0].partitions[1];
    CHECK(second_ask.fetch_offset == 12);
    CHECK(second_ask.current_leader_epoch == 6);
    CHECK(second_ask.partition_max_bytes == 1000);
    CHECK(second_ask.last_fetched_epoch == -1);
    CHECK(first.body.topics[1].partitions[0].current_leader_epoch == -1);

    const auto e = f.ask(orders_2);
    const auto g = f.ask(orders_3);
    co_await settle(c);
    CHECK(s.broker.nothing_came());
    co_await first.answer(answer_to(first.body));
    auto second = co_await s.broker.next<wire::fetch_request>();
    CHECK(asked(second.body) == texts{"orders-2", "orders-3"});
    for (const auto& answer : {a, b, d}) {
      const auto chunk = co_await arrived(answer);
      REQUIRE(chunk.has_value());
      CHECK(chunk->records.empty());
      CHECK_FALSE(chunk->owner);
      CHECK(chunk->bounds.start == 10);
      CHECK(chunk->bounds.high_watermark == 100);
    }
    CHECK_FALSE(e->ready());
    CHECK_FALSE(g->ready());
  });
}

TEST_CASE("topics go by id where the broker knows ids, by name before", "[lanes][fetch]") {
  const std::int16_t newest = GENERATE(std::int16_t{4}, std::int16_t{12}, std::int16_t{13}, std::int16_t{18});
  lane_scene s;
  for (auto& api : s.broker.offered) {
    if (api.api_key == 1) api.max_version = newest;
  }
  const auto records = source_bytes("x", false);
  s.play([&](client::cluster& c) -> awaitable<void> {
    fetching f(s, c);
    const auto a = f.ask(orders_0);
    const auto b = f.ask(audit_0);
    auto request = co_await s.broker.next<wire::fetch_request>();
    CHECK(request.header.version == std::min(newest, std::int16_t{17}));
    REQUIRE(request.body.topics.size() == 2);
    if (newest < wire::fetch_by_topic_id_since) {
      CHECK(request.body.topics[0].topic == "orders");
      CHECK(request.body.topics[0].topic_id.is_zero());
    } else {
      CHECK(request.body.topics[0].topic.empty());
      CHECK(request.body.topics[0].topic_id == orders_id);
    }
    std::vector<topic_partition> only_audit{audit_0};
    co_await give(request, std::move(only_audit), records);
    const auto empty = co_await arrived(a);
    const auto full = co_await arrived(b);
    REQUIRE(empty.has_value());
    REQUIRE(full.has_value());
    CHECK(empty->records.empty());
    CHECK(std::ranges::equal(full->records, records));
    CHECK(full->bounds.high_watermark == 100);
    CHECK(full->bounds.start == (newest < 5 ? -1 : 10));
  });
}

TEST_CASE("who got data longest ago stands first in the next request", "[lanes][fetch]") {
  lane_scene s;
  const auto records = source_bytes("x", false);
  s.play([&](client::cluster& c) -> awaitable<void> {
    fetching f(s, c);
    const auto round = [&](std::vector<topic_partition> served) -> awaitable<texts> {
      std::vector<fetch_answer> answers;
      for (const auto& tp : {orders_0, orders_1, orders_2}) answers.push_back(f.ask(tp));
      auto request = co_await s.broker.next<wire::fetch_request>();
      co_await give(request, std::move(served), records);
      for (const auto& answer : answers) co_await answer->wait();
      co_return asked(request.body);
    };
    std::vector<topic_partition> zero{orders_0}, one{orders_1}, two_and_zero{orders_2, orders_0}, nobody;
    const auto first = co_await round(zero);
    CHECK(first == texts{"orders-0", "orders-1", "orders-2"});
    const auto second = co_await round(one);
    CHECK(second == texts{"orders-1", "orders-2", "orders-0"});
    const auto third = co_await round(two_and_zero);
    CHECK(third == texts{"orders-2", "orders-0", "orders-1"});
    const auto fourth = co_await round(nobody);
    CHECK(fourth == texts{"orders-1", "orders-0", "orders-2"});
    const auto fifth = co_await round(nobody);
    CHECK(fifth == fourth);
  });
}

TEST_CASE("while somebody is busy with his data the others wait at the broker only briefly", "[lanes][fetch]") {
  lane_scene s;
  const auto records = source_bytes("x", false);
  s.play([&](client::cluster& c) -> awaitable<void> {
    fetching f(s, c);
    (void)f.ask(orders_0);
    (void)f.ask(orders_1);
    auto first = co_await s.broker.next<wire::fetch_request>();
    CHECK(first.body.max_wait_ms == 500);
    std::vector<topic_partition> zero{orders_0};
    co_await give(first, std::move(zero), records);
    const auto idle = f.ask(orders_1);
    auto second = co_await s.broker.next<wire::fetch_request>();
    CHECK(asked(second.body) == texts{"orders-1"});
    CHECK(second.body.max_wait_ms == 20);
    (void)f.ask(orders_0);
    co_await second.answer(answer_to(second.body));
    const auto nothing = co_await arrived(idle);
    CHECK(nothing.has_value());
    const auto third = co_await s.broker.next<wire::fetch_request>();
    CHECK(asked(third.body) == texts{"orders-0"});
    CHECK(third.body.max_wait_ms == 500);
  });
}

TEST_CASE("an error stays with its partition, and so does a missing one", "[lanes][fetch]") {
  lane_scene s;
  const auto records = source_bytes("x", false);
  s.play([&](client::cluster& c) -> awaitable<void> {
    fetching f(s, c);
    const auto a = f.ask(orders_0, 77);
    const auto b = f.ask(orders_1);
    const auto d = f.ask(orders_2);
    auto request = co_await s.broker.next<wire::fetch_request>();
    const std::map<topic_partition, std::span<const std::byte>> data{{orders_1, records}};
    auto response = answer_to(request.body, data);
    auto& partitions = response.responses[0].partitions;
    partitions[0].error_code = 1;
    partitions.pop_back();
    partitions.push_back(partitions.front());
    partitions.erase(partitions.begin());
    co_await request.answer(std::move(response));
    const auto out_of_range = co_await arrived(a);
    const auto chunk = co_await arrived(b);
    const auto missing = co_await arrived(d);
    CHECK(code_of_failure(out_of_range) == errc::broker);
    CHECK(out_of_range.error().broker_code == 1);
    CHECK(out_of_range.error().context == "fetch orders-0 at offset 77");
    REQUIRE(chunk.has_value());
    CHECK(std::ranges::equal(chunk->records, records));
    CHECK(code_of_failure(missing) == errc::malformed);
  });
}

TEST_CASE("an error of the whole answer is everybody's", "[lanes][fetch]") {
  lane_scene s;
  s.play([&](client::cluster& c) -> awaitable<void> {
    fetching f(s, c);
    const auto a = f.ask(orders_0);
    const auto b = f.ask(audit_0);
    auto request = co_await s.broker.next<wire::fetch_request>();
    wire::fetch_response response;
    response.error_code = 29;
    co_await request.answer(std::move(response));
    for (const auto& answer : {a, b}) {
      const auto refused = co_await arrived(answer);
      CHECK(code_of_failure(refused) == errc::broker);
      CHECK(refused.error().broker_code == 29);
    }
  });
}

TEST_CASE("with the connection fails the fetch under way, and what was asked meanwhile goes over the next one", "[lanes][fetch]") {
  lane_scene s;
  s.play([&](client::cluster& c) -> awaitable<void> {
    fetching f(s, c);
    const auto a = f.ask(orders_0);
    const auto first = co_await s.broker.next<wire::fetch_request>();
    const auto b = f.ask(orders_1);
    s.broker.drop();
    auto second = co_await s.broker.next<wire::fetch_request>();
    CHECK(second.connection > first.connection);
    CHECK(asked(second.body) == texts{"orders-1"});
    const auto lost = co_await arrived(a);
    CHECK(code_of_failure(lost) == errc::connection_lost);
    co_await second.answer(answer_to(second.body));
    const auto chunk = co_await arrived(b);
    CHECK(chunk.has_value());
  });
}

TEST_CASE("where no connection can be made all asks fail with the reason", "[lanes][fetch]") {
  lane_scene s;
  s.play([&](client::cluster& c) -> awaitable<void> {
    const auto refreshed = co_await c.refresh_all();
    REQUIRE(refreshed.has_value());
    s.broker.refuse();
    fetching f(s, c);
    const auto a = f.ask(orders_0);
    const auto b = f.ask(orders_1);
    for (const auto& answer : {a, b}) {
      const auto refused = co_await arrived(answer);
      CHECK(code_of_failure(refused) == errc::unreachable);
      CHECK(refused.error().context.find("fetch orders-") == 0);
    }
  });
}

TEST_CASE("a full budget keeps the next request back until somebody lets go of his data", "[lanes][fetch]") {
  lane_scene s;
  const auto records = source_bytes("x", false);
  s.play([&](client::cluster& c) -> awaitable<void> {
    fetching f(s, c, 100);  // less than one answer
    const auto a = f.ask(orders_0);
    const auto b = f.ask(orders_1);
    auto first = co_await s.broker.next<wire::fetch_request>();
    std::vector<topic_partition> both{orders_0, orders_1};
    co_await give(first, std::move(both), records);
    auto held_0 = co_await arrived(a);
    auto held_1 = co_await arrived(b);
    REQUIRE(held_0.has_value());
    REQUIRE(held_1.has_value());
    a->value() = fail(errc::cancelled, "taken");
    b->value() = fail(errc::cancelled, "taken");
    CHECK(held_0->owner == held_1->owner);

    const auto next = f.ask(orders_2);
    co_await settle(c);
    CHECK(s.broker.nothing_came());
    held_0->owner.reset();
    co_await settle(c);
    CHECK(s.broker.nothing_came());  // the other one holds the whole answer
    held_1->owner.reset();
    auto second = co_await s.broker.next<wire::fetch_request>();
    CHECK(asked(second.body) == texts{"orders-2"});
    co_await second.answer(answer_to(second.body));
    const auto empty = co_await arrived(next);
    CHECK(empty.has_value());

    // An answer without data is nobody's and fills nothing.
    (void)f.ask(orders_3);
    (void)co_await s.broker.next<wire::fetch_request>();
  });
}

TEST_CASE("lanes share the budget", "[lanes][fetch]") {
  lane_scene s;
  const auto records = source_bytes("x", false);
  s.play([&](client::cluster& c) -> awaitable<void> {
    fetching f(s, c, 100);
    auto other = std::make_shared<fetch_lane>(s.executor(), c, broker_id{2}, 0, fetching::settings(), 5000ms, f.budget);
    s.closes(other);
    const auto a = f.ask(orders_0);
    auto first = co_await s.broker.next<wire::fetch_request>();
    std::vector<topic_partition> zero{orders_0};
    co_await give(first, std::move(zero), records);
    co_await a->wait();
    (void)other->fetch({orders_1, orders_id, source_epoch{1}, 0});
    co_await settle(c);
    CHECK(s.broker.nothing_came());
    a->value() = fail(errc::cancelled, "taken");
    const auto second = co_await s.broker.next<wire::fetch_request>();
    CHECK(second.connection != first.connection);
  });
}

TEST_CASE("a chunk outlives the connection, the lane and the budget's other owners", "[lanes][fetch]") {
  lane_scene s;
  const auto records = source_bytes("kept", false, 5000);
  source_chunk kept;
  s.play([&](client::cluster& c) -> awaitable<void> {
    fetching f(s, c);
    const auto a = f.ask(orders_0);
    auto request = co_await s.broker.next<wire::fetch_request>();
    std::vector<topic_partition> zero{orders_0};
    co_await give(request, std::move(zero), records);
    const auto chunk = co_await arrived(a);
    REQUIRE(chunk.has_value());
    kept = *chunk;
    s.broker.drop();
    co_await f.lane->close();
  });
  s.at_end.clear();
  CHECK(std::ranges::equal(kept.records, records));
}

TEST_CASE("a fetch lane closes when its fetch is answered", "[lanes][fetch]") {
  lane_scene s;
  s.play([&](client::cluster& c) -> awaitable<void> {
    fetching f(s, c);
    const auto a = f.ask(orders_0);
    auto request = co_await s.broker.next<wire::fetch_request>();
    const auto waiting = f.ask(orders_1);
    client::task_group tasks(s.executor());
    tasks.spawn(f.lane->close());
    const auto never = co_await arrived(waiting);
    CHECK(code_of_failure(never) == errc::cancelled);
    CHECK(tasks.running() == 1);
    co_await request.answer(answer_to(request.body));
    const auto chunk = co_await arrived(a);
    CHECK(chunk.has_value());
    const bool ended = co_await tasks.join();
    CHECK(ended);
  });
}
