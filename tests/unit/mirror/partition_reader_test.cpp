// Stories of reading one partition to an end that is known: what is waited out, what is told, what an empty answer means.
#include "lanes_stage.hpp"

#include "mirror/partition_reader.hpp"
#include "wire/fetch.hpp"
#include "wire/offsets.hpp"
#include "wire/records.hpp"

using namespace mirrord;
using namespace mirrord::mirror;
using namespace mirrord::mirror::lanes;

namespace {

using chunk_queue = bounded_queue<result<read_chunk>>;

class middle_random final : public random_port {
 public:
  double uniform() override { return 0.5; }
};

struct reading {
  reading(lane_scene& s, client::cluster& c, std::int64_t bytes_per_second = 0)
      : pace(bytes_per_second), queue(s.executor(), 10), tasks(s.executor()),
        reader({c, clock, random, pace, patience, 3, "source", [this](std::string text) { troubles.push_back(std::move(text)); }}, orders_0) {}

  patient_clock clock;
  middle_random random;
  read_pace pace;
  read_patience patience;
  chunk_queue queue;
  client::task_group tasks;
  std::vector<std::string> troubles;
  partition_reader reader;
};

wire::fetch_response fetched(const wire::fetch_request& request, std::span<const std::byte> records, std::int64_t high_watermark = 50, std::int16_t code = 0) {
  wire::fetch_response_partition one;
  one.error_code = code;
  one.high_watermark = high_watermark;
  one.last_stable_offset = high_watermark - 5;
  one.log_start_offset = 3;
  one.records = records;
  wire::fetch_response response;
  response.responses.push_back({"", request.topics.at(0).topic_id, {one}});
  return response;
}

wire::list_offsets_response listed(std::int64_t offset) {
  wire::list_offsets_response answer;
  answer.topics.push_back({"orders", {}});
  answer.topics[0].partitions.emplace_back();
  answer.topics[0].partitions[0].offset = offset;
  return answer;
}

// One record at offset 0.
std::vector<std::byte> first_batch() {
  wire::batch_builder builder(wire::batch_options{});
  builder.add(wire::record_view{});
  return builder.finish({}).value();
}

std::int64_t asked_offset(const wire::fetch_request& request) { return request.topics.at(0).partitions.at(0).fetch_offset; }

}  // namespace

TEST_CASE("start, end and stable offset come out of one answer", "[reader]") {
  lane_scene s;
  s.broker.lead(orders_0, 1, 5);
  s.play([&](client::cluster& c) -> awaitable<void> {
    reading r(s, c);
    const auto b = begin(r.tasks, s.executor(), r.reader.bounds());
    auto question = co_await s.broker.next<wire::list_offsets_request>();
    co_await question.answer(listed(48));
    auto request = co_await s.broker.next<wire::fetch_request>();
    CHECK(asked_offset(request.body) == 48);
    co_await request.answer(fetched(request.body, {}));
    const auto bounds = co_await arrived(b);
    CHECK(bounds.value().start == 3);
    CHECK(bounds.value().high_watermark == 50);
    CHECK(bounds.value().last_stable_offset == 45);
  });
}

TEST_CASE("a partition is read to its end, and an empty answer means that nothing more is there", "[reader]") {
  lane_scene s;
  s.broker.lead(orders_0, 1, 5);
  const auto records = first_batch();
  s.play([&](client::cluster& c) -> awaitable<void> {
    reading r(s, c);
    r.tasks.spawn(r.reader.read(0, 10, r.queue));
    auto first = co_await s.broker.next<wire::fetch_request>();
    CHECK(asked_offset(first.body) == 0);
    CHECK(first.body.topics.size() == 1);
    CHECK(first.body.topics.at(0).partitions.size() == 1);
    co_await first.answer(fetched(first.body, records));
    auto second = co_await s.broker.next<wire::fetch_request>();
    CHECK(asked_offset(second.body) == 1);
    CHECK(second.connection == first.connection);
    co_await second.answer(fetched(second.body, {}));
    const auto with_batch = co_await r.queue.pop();
    REQUIRE((with_batch && with_batch->has_value()));
    CHECK((*with_batch)->batches.size() == 1);
    CHECK((*with_batch)->known_to == 1);
    const auto to_end = co_await r.queue.pop();
    REQUIRE((to_end && to_end->has_value()));
    CHECK((*to_end)->batches.empty());
    CHECK((*to_end)->known_to == 10);
    const auto nothing = co_await r.queue.pop();
    CHECK_FALSE(nothing.has_value());
    CHECK(r.pace.bytes() == static_cast<std::int64_t>(records.size()));
    CHECK(r.troubles.empty());
    (void)co_await r.tasks.join();
  });
}

TEST_CASE("a log that begins later by now is read from there", "[reader]") {
  lane_scene s;
  s.broker.lead(orders_0, 1, 5);
  s.play([&](client::cluster& c) -> awaitable<void> {
    reading r(s, c);
    r.tasks.spawn(r.reader.read(0, 10, r.queue));
    auto request = co_await s.broker.next<wire::fetch_request>();
    co_await request.answer(fetched(request.body, {}, 50, 1));
    auto question = co_await s.broker.next<wire::list_offsets_request>();
    co_await question.answer(listed(7));
    auto again = co_await s.broker.next<wire::fetch_request>();
    CHECK(asked_offset(again.body) == 7);
    co_await again.answer(fetched(again.body, {}));
    const auto moved = co_await r.queue.pop();
    REQUIRE((moved && moved->has_value()));
    CHECK((*moved)->from == 7);
    CHECK((*moved)->known_to == 7);
    (void)co_await r.tasks.join();
  });
}

TEST_CASE("a log that has got shorter is an error, not an end", "[reader]") {
  lane_scene s;
  s.broker.lead(orders_0, 1, 5);
  s.play([&](client::cluster& c) -> awaitable<void> {
    reading r(s, c);
    r.tasks.spawn(r.reader.read(5, 10, r.queue));
    const auto began = r.clock.now();
    while (r.clock.now() - began < 10s) {  // a new leader may be about to catch up
      auto request = co_await s.broker.next<wire::fetch_request>();
      co_await request.answer(fetched(request.body, {}, 8));
      co_await settle(c);
    }
    auto last = co_await s.broker.next<wire::fetch_request>();
    co_await last.answer(fetched(last.body, {}, 8));
    const auto shorter = co_await r.queue.pop();
    REQUIRE((shorter && shorter->has_error()));
    CHECK(shorter->error().code == errc::diverged);
    CHECK_THAT(shorter->error().message(), Catch::Equals("source: orders-0: the log has got shorter since this began: it ends at 8, before 10"));
    const auto nothing = co_await r.queue.pop();
    CHECK_FALSE(nothing.has_value());
    (void)co_await r.tasks.join();
  });
}

TEST_CASE("a new leader that shows less at first is waited for", "[reader]") {
  lane_scene s;
  s.broker.lead(orders_0, 1, 5);
  s.play([&](client::cluster& c) -> awaitable<void> {
    reading r(s, c);
    r.tasks.spawn(r.reader.read(5, 10, r.queue));
    auto first = co_await s.broker.next<wire::fetch_request>();
    co_await first.answer(fetched(first.body, {}, 8));
    auto second = co_await s.broker.next<wire::fetch_request>();
    co_await second.answer(fetched(second.body, {}, 4, 1));
    auto question = co_await s.broker.next<wire::list_offsets_request>();
    co_await question.answer(listed(3));
    auto third = co_await s.broker.next<wire::fetch_request>();
    co_await third.answer(fetched(third.body, {}, 10));
    const auto chunk = co_await r.queue.pop();
    REQUIRE((chunk && chunk->has_value()));
    CHECK((*chunk)->known_to == 10);
    (void)co_await r.tasks.join();
  });
}

TEST_CASE("what passes is waited out and told meanwhile", "[reader]") {
  lane_scene s;
  s.broker.lead(orders_0, 1, 5);
  s.play([&](client::cluster& c) -> awaitable<void> {
    reading r(s, c);
    r.tasks.spawn(r.reader.read(0, 10, r.queue));
    auto first = co_await s.broker.next<wire::fetch_request>();
    s.broker.lead(orders_0, 2, 6);
    co_await first.answer(fetched(first.body, {}, 50, 6));
    auto second = co_await s.broker.next<wire::fetch_request>();
    CHECK(second.body.topics.at(0).partitions.at(0).current_leader_epoch == 6);
    co_await second.answer(fetched(second.body, {}));
    const auto chunk = co_await r.queue.pop();
    CHECK((chunk && chunk->has_value()));
    REQUIRE(r.troubles.size() == 2);
    CHECK_THAT(r.troubles[0], Catch::StartsWith("source: fetch orders-0 at offset 0: NOT_LEADER_OR_FOLLOWER"));
    CHECK(r.troubles[1].empty());
    (void)co_await r.tasks.join();
  });
}

TEST_CASE("after a minute the last error is told, and then sooner", "[reader]") {
  lane_scene s;
  s.broker.lead(orders_0, -1, 5);
  s.play([&](client::cluster& c) -> awaitable<void> {
    reading r(s, c);
    const auto began = r.clock.now();
    co_await r.reader.read(0, 10, r.queue);
    const auto given_up = co_await r.queue.pop();
    REQUIRE((given_up && given_up->has_error()));
    CHECK_THAT(given_up->error().message(), Catch::StartsWith("source: ") && Catch::Contains("orders-0"));
    CHECK(r.clock.now() - began >= 60s);
    CHECK(r.clock.now() - began < 70s);

    const auto later = r.clock.now();
    chunk_queue queue(s.executor(), 10);
    co_await r.reader.read(0, 10, queue);
    CHECK(r.clock.now() - later >= 5s);
    CHECK(r.clock.now() - later < 15s);
  });
}

TEST_CASE("what does not pass is told at once", "[reader]") {
  lane_scene s;
  s.broker.lead(orders_0, 1, 5);
  s.play([&](client::cluster& c) -> awaitable<void> {
    reading r(s, c);
    r.tasks.spawn(r.reader.read(0, 10, r.queue));
    auto request = co_await s.broker.next<wire::fetch_request>();
    co_await request.answer(fetched(request.body, {}, -1, 29));
    const auto refused = co_await r.queue.pop();
    REQUIRE((refused && refused->has_error()));
    CHECK(refused->error().broker_code == 29);
    CHECK(r.clock.sleeps == 0);
    (void)co_await r.tasks.join();
  });
}

TEST_CASE("the pace spreads what is read", "[reader]") {
  lane_scene s;
  s.broker.lead(orders_0, 1, 5);
  s.play([&](client::cluster&) -> awaitable<void> {
    patient_clock clock;
    read_pace pace(1000);
    const auto began = clock.now();
    co_await pace.wait(clock);
    CHECK(clock.now() == began);
    pace.note(3000, clock.now());
    co_await pace.wait(clock);
    CHECK(clock.now() - began == 3s);
    read_pace free(0);
    free.note(1 << 30, clock.now());
    co_await free.wait(clock);
    CHECK(clock.now() - began == 3s);
    CHECK(free.bytes() == 1 << 30);
  });
}
