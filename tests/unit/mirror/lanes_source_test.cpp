// Stories of the source's port over a real cluster: how far it follows a leader, and what it leaves to its caller.
#include "lanes_stage.hpp"

#include "mirror/kafka_source.hpp"
#include "wire/offsets.hpp"
#include "wire/transactions.hpp"

#include <algorithm>

using namespace mirrord;
using namespace mirrord::mirror;
using namespace mirrord::mirror::lanes;

namespace {

struct source {
  source(lane_scene& s, client::cluster& c)
      : lanes(std::make_shared<lane_table<fetch_lane>>(1, [&s, &c, budget = std::make_shared<fetch_budget>(s.executor(), 1 << 20)](broker_id broker, int index) {
          return std::make_unique<fetch_lane>(s.executor(), c, broker, index, fetch_settings{}, 5000ms, budget);
        })),
        log(c, *lanes, clock, orders_0, topic_id{{7}}) {
    s.closes(lanes);
  }

  std::shared_ptr<lane_table<fetch_lane>> lanes;
  patient_clock clock;
  kafka_source log;
};

wire::fetch_response fetch_answer(const wire::fetch_request& request, std::int16_t code, std::span<const std::byte> records = {}) {
  wire::fetch_response_partition one;
  one.error_code = code;
  one.high_watermark = 50;
  one.log_start_offset = 3;
  one.records = records;
  wire::fetch_response response;
  response.responses.push_back({"", request.topics.at(0).topic_id, {one}});
  return response;
}

}  // namespace

TEST_CASE("a source follows its leader to another broker", "[lanes][source]") {
  lane_scene s;
  s.broker.lead(orders_0, 1, 5);
  const auto records = source_bytes("x", false);
  s.play([&](client::cluster& c) -> awaitable<void> {
    source from(s, c);
    client::task_group tasks(s.executor());
    const auto f = begin(tasks, s.executor(), from.log.fetch(42));
    auto first = co_await s.broker.next<wire::fetch_request>();
    CHECK(first.body.topics.at(0).partitions.at(0).current_leader_epoch == 5);
    s.broker.lead(orders_0, 2, 6);
    co_await first.answer(fetch_answer(first.body, 6));
    auto second = co_await s.broker.next<wire::fetch_request>();
    CHECK(second.connection != first.connection);
    CHECK(second.body.topics.at(0).partitions.at(0).current_leader_epoch == 6);
    CHECK(second.body.topics.at(0).partitions.at(0).fetch_offset == 42);
    co_await second.answer(fetch_answer(second.body, 0, records));
    const auto chunk = co_await arrived(f);
    REQUIRE(chunk.has_value());
    CHECK(std::ranges::equal(chunk->records, records));
    CHECK(chunk->bounds.start == 3);
    CHECK(chunk->bounds.high_watermark == 50);
    CHECK(from.clock.sleeps == 1);
  });
}

TEST_CASE("a source follows its leader for five seconds and then says why it cannot", "[lanes][source]") {
  lane_scene s;
  s.broker.lead(orders_0, 1, 5);
  s.play([&](client::cluster& c) -> awaitable<void> {
    source from(s, c);
    client::task_group tasks(s.executor());
    const auto f = begin(tasks, s.executor(), from.log.fetch(42));
    for (int i = 0; i < 51; ++i) {
      auto request = co_await s.broker.next<wire::fetch_request>();
      co_await request.answer(fetch_answer(request.body, 6));
    }
    const auto given_up = co_await arrived(f);
    CHECK(code_of_failure(given_up) == errc::broker);
    CHECK(given_up.error().broker_code == 6);
    CHECK(from.clock.sleeps == 50);
    CHECK(s.broker.metadata_requests >= 50);
  });
}

TEST_CASE("a source comes back after a lost connection and a broker that is away for a moment", "[lanes][source]") {
  lane_scene s;
  s.broker.lead(orders_0, 1, 5);
  s.play([&](client::cluster& c) -> awaitable<void> {
    source from(s, c);
    client::task_group tasks(s.executor());
    const auto f = begin(tasks, s.executor(), from.log.fetch(42));
    const auto first = co_await s.broker.next<wire::fetch_request>();
    from.clock.on_sleep = [&] {
      if (from.clock.sleeps == 4) s.broker.accept_again();
    };
    s.broker.refuse();
    auto second = co_await s.broker.next<wire::fetch_request>();
    CHECK(from.clock.sleeps >= 4);
    co_await second.answer(fetch_answer(second.body, 0));
    const auto chunk = co_await arrived(f);
    CHECK(chunk.has_value());
  });
}

TEST_CASE("what is not about leaders is the caller's business at once", "[lanes][source]") {
  lane_scene s;
  s.broker.lead(orders_0, 1, 5);
  s.play([&](client::cluster& c) -> awaitable<void> {
    source from(s, c);
    client::task_group tasks(s.executor());
    const auto f = begin(tasks, s.executor(), from.log.fetch(42));
    auto request = co_await s.broker.next<wire::fetch_request>();
    co_await request.answer(fetch_answer(request.body, 1));
    const auto out_of_range = co_await arrived(f);
    CHECK(code_of_failure(out_of_range) == errc::broker);
    CHECK(out_of_range.error().broker_code == 1);
    CHECK(from.clock.sleeps == 0);
    CHECK(c.metadata().is_fresh(orders_0));
  });
}

TEST_CASE("a source partition without a leader is waited for, one that does not exist is not", "[lanes][source]") {
  lane_scene s;
  s.broker.lead(orders_0, -1, 5);
  s.play([&](client::cluster& c) -> awaitable<void> {
    source from(s, c);
    client::task_group tasks(s.executor());
    from.clock.on_sleep = [&] {
      if (from.clock.sleeps == 3) s.broker.lead(orders_0, 2, 6);
    };
    const auto f = begin(tasks, s.executor(), from.log.fetch(0));
    auto request = co_await s.broker.next<wire::fetch_request>();
    CHECK(request.body.topics.at(0).partitions.at(0).current_leader_epoch == 6);
    co_await request.answer(fetch_answer(request.body, 0));
    const auto chunk = co_await arrived(f);
    CHECK(chunk.has_value());
    CHECK(from.clock.sleeps == 3);

    const topic_partition nowhere{"nowhere", 0};
    kafka_source missing(c, *from.lanes, from.clock, nowhere, topic_id{});
    const auto gone = co_await missing.fetch(0);
    CHECK(code_of_failure(gone) == errc::not_found);
    CHECK(from.clock.sleeps == 3);
  });
}

TEST_CASE("the source's questions go to its leader under its epoch", "[lanes][source]") {
  lane_scene s;
  s.broker.lead(orders_0, 1, 5);
  s.play([&](client::cluster& c) -> awaitable<void> {
    source from(s, c);
    client::task_group tasks(s.executor());
    const auto b = begin(tasks, s.executor(), from.log.bounds());
    for (const std::int64_t offset : {3, 50}) {
      auto question = co_await s.broker.next<wire::list_offsets_request>();
      CHECK(question.body.topics.at(0).partitions.at(0).current_leader_epoch == 5);
      wire::list_offsets_response answer;
      answer.topics.push_back({"orders", {}});
      answer.topics[0].partitions.emplace_back();
      answer.topics[0].partitions[0].offset = offset;
      co_await question.answer(std::move(answer));
    }
    const auto bounds = co_await arrived(b);
    CHECK(bounds.value().start == 3);
    CHECK(bounds.value().high_watermark == 50);

    const auto p = begin(tasks, s.executor(), from.log.producers());
    auto question = co_await s.broker.next<wire::describe_producers_request>();
    wire::producer_state open;
    open.producer_id = 4711;
    open.producer_epoch = 2;
    open.current_txn_start_offset = 0;
    wire::describe_producers_response states;
    states.topics.push_back({"orders", {}});
    states.topics[0].partitions.emplace_back();
    states.topics[0].partitions[0].active_producers = {open};
    co_await question.answer(std::move(states));
    const auto producers = co_await arrived(p);
    REQUIRE(producers.value().size() == 1);
    CHECK(producers.value()[0].pid == source_pid{4711});
    CHECK(producers.value()[0].epoch == 2);
    CHECK(producers.value()[0].open_since == 0);
  });
}
