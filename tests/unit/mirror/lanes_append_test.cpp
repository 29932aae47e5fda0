// Stories of an append lane: which batches share a request, in which order they leave, and what an error takes along.
#include "lanes_stage.hpp"

#include "mirror/append_lane.hpp"

using namespace mirrord;
using namespace mirrord::mirror;
using namespace mirrord::mirror::lanes;

namespace {

using texts = std::vector<std::string>;

std::shared_ptr<append_lane> lane_of(lane_scene& s, client::cluster& c) {
  auto lane = std::make_shared<append_lane>(s.executor(), c, broker_id{1}, 0, "kafka-mirrord-test", 5000ms, s.lease);
  s.closes(lane);
  return lane;
}

constexpr std::int32_t epoch_5 = 5;

// Six appends of one partition: five requests under way, the sixth has to wait.
struct six_appends {
  std::vector<std::shared_ptr<one_shot<result<append_answer>>>> answers;
  std::vector<received<wire::produce_request>> requests;
};

awaitable<six_appends> send_six(lane_scene& s, std::shared_ptr<append_lane> lane) {
  six_appends six;
  for (const std::string value : {"a", "b", "c", "d", "e", "f"}) {
    batch_kind kind;
    kind.sequence = static_cast<std::int32_t>(six.answers.size());
    six.answers.push_back(lane->append(orders_0, epoch_5, batch(value, kind)));
  }
  for (int i = 0; i < 5; ++i) six.requests.push_back(co_await s.broker.next<wire::produce_request>());
  co_return six;
}

}  // namespace

TEST_CASE("a request has one batch of each partition, and the next batch follows before the answer", "[lanes][append]") {
  lane_scene s;
  s.play([&](client::cluster& c) -> awaitable<void> {
    const auto lane = lane_of(s, c);
    const auto a = lane->append(orders_0, epoch_5, batch("a"));
    const auto b = lane->append(orders_0, epoch_5, batch("b"));
    const auto x = lane->append(orders_1, epoch_5, batch("x"));
    const auto y = lane->append(audit_0, epoch_5, batch("y"));
    auto first = co_await s.broker.next<wire::produce_request>();
    CHECK(contents(first.body) == texts{"orders-0 a", "orders-1 x", "audit-0 y"});
    CHECK(first.body.acks == -1);
    CHECK(first.body.timeout_ms == 5000);
    CHECK_FALSE(first.body.transactional_id.has_value());
    CHECK(first.header.version == 11);
    auto second = co_await s.broker.next<wire::produce_request>();
    CHECK(contents(second.body) == texts{"orders-0 b"});

    co_await first.answer(appended(first.body, 70));
    co_await second.answer(appended(second.body, 71));
    const auto placed_a = co_await arrived(a);
    const auto placed_b = co_await arrived(b);
    const auto placed_x = co_await arrived(x);
    const auto placed_y = co_await arrived(y);
    CHECK(placed_a.value().base_offset == 70);
    CHECK(placed_b.value().base_offset == 71);
    CHECK(placed_x.value().base_offset == 70);
    CHECK(placed_y.value().base_offset == 70);
  });
}

TEST_CASE("five requests are under way at most, and a partition's batches leave in their order", "[lanes][append]") {
  lane_scene s;
  s.play([&](client::cluster& c) -> awaitable<void> {
    const auto lane = lane_of(s, c);
    auto six = co_await send_six(s, lane);
    texts order;
    for (const auto& request : six.requests) order.push_back(contents(request.body).at(0));
    CHECK(order == texts{"orders-0 a", "orders-0 b", "orders-0 c", "orders-0 d", "orders-0 e"});
    co_await settle(c);
    CHECK(s.broker.nothing_came());
    CHECK_FALSE(six.answers[0]->ready());

    co_await six.requests[0].answer(appended(six.requests[0].body, 10));
    auto last = co_await s.broker.next<wire::produce_request>();
    CHECK(contents(last.body) == texts{"orders-0 f"});
    for (std::size_t i = 1; i < 5; ++i) co_await six.requests[i].answer(appended(six.requests[i].body, 10 + static_cast<std::int64_t>(i)));
    co_await last.answer(appended(last.body, 15));
    for (std::size_t i = 0; i < 6; ++i) {
      const auto placed = co_await arrived(six.answers[i]);
      CHECK(placed.value().base_offset == 10 + static_cast<std::int64_t>(i));
    }
  });
}

TEST_CASE("while the lane is busy, work of many partitions gathers for one request", "[lanes][append]") {
  lane_scene s;
  s.play([&](client::cluster& c) -> awaitable<void> {
    const auto lane = lane_of(s, c);
    auto six = co_await send_six(s, lane);
    (void)lane->append(orders_1, epoch_5, batch("x"));
    (void)lane->append(orders_2, epoch_5, batch("y"));
    co_await six.requests[0].answer(appended(six.requests[0].body, 10));
    auto next = co_await s.broker.next<wire::produce_request>();
    CHECK(contents(next.body) == texts{"orders-0 f", "orders-1 x", "orders-2 y"});
  });
}

TEST_CASE("a request has transactional batches of one producer id and epoch, plain ones ride along", "[lanes][append]") {
  lane_scene s;
  s.play([&](client::cluster& c) -> awaitable<void> {
    const auto lane = lane_of(s, c);
    const batch_kind five{5, 0, 0, true};
    const batch_kind six{6, 0, 0, true};
    const batch_kind five_raised{5, 1, 0, true};
    const batch_kind plain{1};
    (void)lane->append(orders_0, epoch_5, batch("p", plain));
    (void)lane->append(orders_1, epoch_5, batch("six", six));
    (void)lane->append(orders_2, epoch_5, batch("five", five));
    (void)lane->append(orders_3, epoch_5, batch("raised", five_raised));
    (void)lane->append(audit_0, epoch_5, batch("six too", six));
    auto first = co_await s.broker.next<wire::produce_request>();
    CHECK(contents(first.body) == texts{"orders-0 p", "orders-1 six", "audit-0 six too"});
    CHECK(first.body.transactional_id == "kafka-mirrord-test");
    co_await first.answer(appended(first.body, 0));
    auto second = co_await s.broker.next<wire::produce_request>();
    CHECK(contents(second.body) == texts{"orders-2 five"});
    co_await second.answer(appended(second.body, 0));
    const auto third = co_await s.broker.next<wire::produce_request>();
    CHECK(contents(third.body) == texts{"orders-3 raised"});
    CHECK(third.body.transactional_id == "kafka-mirrord-test");
  });
}

TEST_CASE("a batch that does not fit keeps the later ones of its partition waiting", "[lanes][append]") {
  lane_scene s;
  s.play([&](client::cluster& c) -> awaitable<void> {
    const auto lane = lane_of(s, c);
    (void)lane->append(orders_0, epoch_5, batch("five", {5, 0, 0, true}));
    (void)lane->append(orders_1, epoch_5, batch("six", {6, 0, 0, true}));
    (void)lane->append(orders_1, epoch_5, batch("plain", {1}));  // would fit, but its turn is later
    const auto first = co_await s.broker.next<wire::produce_request>();
    CHECK(contents(first.body) == texts{"orders-0 five"});
    const auto second = co_await s.broker.next<wire::produce_request>();
    CHECK(contents(second.body) == texts{"orders-1 six"});
    const auto third = co_await s.broker.next<wire::produce_request>();
    CHECK(contents(third.body) == texts{"orders-1 plain"});
    CHECK_FALSE(third.body.transactional_id.has_value());
  });
}

TEST_CASE("the two kinds of acks never meet in a request", "[lanes][append]") {
  lane_scene s;
  s.play([&](client::cluster& c) -> awaitable<void> {
    const auto lane = lane_of(s, c);
    const batch_kind quick{1, 0, 0, false, acks::leader};
    const batch_kind safe{1, 0, 0, false, acks::all};
    (void)lane->append(orders_0, epoch_5, batch("quick", quick));
    (void)lane->append(orders_1, epoch_5, batch("safe", safe));
    (void)lane->append(orders_2, epoch_5, batch("quick too", quick));
    (void)lane->append(orders_0, epoch_5, batch("end of run", safe));
    const auto first = co_await s.broker.next<wire::produce_request>();
    CHECK(first.body.acks == 1);
    CHECK(contents(first.body) == texts{"orders-0 quick", "orders-2 quick too"});
    const auto second = co_await s.broker.next<wire::produce_request>();
    CHECK(second.body.acks == -1);
    CHECK(contents(second.body) == texts{"orders-1 safe", "orders-0 end of run"});
  });
}

TEST_CASE("a producer whose batches of this kind of acks all stand behind others does not get the request", "[lanes][append]") {
  lane_scene s;
  s.play([&](client::cluster& c) -> awaitable<void> {
    const auto lane = lane_of(s, c);
    const batch_kind quick{6, 0, 0, true, acks::leader};
    const batch_kind safe{6, 0, 0, true, acks::all};
    (void)lane->append(orders_0, epoch_5, batch("five", {5, 0, 0, true, acks::all}));
    for (const topic_partition& to : {orders_1, orders_2}) {
      (void)lane->append(to, epoch_5, batch("run", quick));
      (void)lane->append(to, epoch_5, batch("end of run", safe));
    }
    auto first = co_await s.broker.next<wire::produce_request>();
    CHECK(contents(first.body) == texts{"orders-0 five"});
    co_await first.answer(appended(first.body, 0));
    auto second = co_await s.broker.next<wire::produce_request>();
    CHECK(contents(second.body) == texts{"orders-1 run", "orders-2 run"});
    co_await second.answer(appended(second.body, 0));
    const auto third = co_await s.broker.next<wire::produce_request>();
    CHECK(contents(third.body) == texts{"orders-1 end of run", "orders-2 end of run"});
  });
}

TEST_CASE("the header that leaves carries our producer, and its checksum holds", "[lanes][append]") {
  lane_scene s;
  s.play([&](client::cluster& c) -> awaitable<void> {
    const auto lane = lane_of(s, c);
    const auto first = batch("plain", {9000, 7, 123});
    CHECK(first.batch.header.base_offset == 0x1234);
    CHECK(first.batch.header.producer_id == 4711);
    (void)lane->append(orders_0, epoch_5, first);
    (void)lane->append(orders_1, epoch_5, batch("txn", {9001, 8, 2'000'000'000, true}));
    const auto request = co_await s.broker.next<wire::produce_request>();
    const auto sent = batches_of(request.body);
    REQUIRE(sent.size() == 2);
    CHECK(sent[0].value == "plain");
    CHECK(sent[0].header.base_offset == 0);
    CHECK(sent[0].header.producer_id == 9000);
    CHECK(sent[0].header.producer_epoch == 7);
    CHECK(sent[0].header.base_sequence == 123);
    CHECK_FALSE(sent[0].header.is_transactional());
    CHECK(sent[0].header.base_timestamp == 1'700'000'000'000);
    CHECK(sent[1].header.producer_id == 9001);
    CHECK(sent[1].header.producer_epoch == 8);
    CHECK(sent[1].header.base_sequence == 2'000'000'000);
    CHECK(sent[1].header.is_transactional());
  });
}

TEST_CASE("a request stays below 8 MiB, except for a batch that is longer by itself", "[lanes][append]") {
  lane_scene s;
  s.play([&](client::cluster& c) -> awaitable<void> {
    const auto lane = lane_of(s, c);
    batch_kind long_one;
    long_one.padding = 3'500'000;
    batch_kind huge;
    huge.padding = 9'000'000;
    (void)lane->append(orders_0, epoch_5, batch("one", long_one));
    (void)lane->append(orders_1, epoch_5, batch("two", long_one));
    (void)lane->append(orders_2, epoch_5, batch("three", long_one));
    (void)lane->append(orders_3, epoch_5, batch("short"));
    (void)lane->append(audit_0, epoch_5, batch("huge", huge));
    const auto first = co_await s.broker.next<wire::produce_request>();
    CHECK(contents(first.body) == texts{"orders-0 one", "orders-1 two", "orders-3 short"});
    const auto second = co_await s.broker.next<wire::produce_request>();
    CHECK(contents(second.body) == texts{"orders-2 three"});
    const auto third = co_await s.broker.next<wire::produce_request>();
    CHECK(contents(third.body) == texts{"audit-0 huge"});
  });
}

TEST_CASE("an error stays with its partition, in whatever order the answer names them", "[lanes][append]") {
  lane_scene s;
  s.broker.lead(orders_0, 1, epoch_5);
  s.broker.lead(orders_1, 1, epoch_5);
  s.play([&](client::cluster& c) -> awaitable<void> {
    const auto known = co_await c.leader_of(orders_0);
    REQUIRE(known.has_value());
    const auto lane = lane_of(s, c);
    const auto a = lane->append(orders_0, epoch_5, batch("a"));
    const auto b = lane->append(orders_1, epoch_5, batch("b"));
    const auto d = lane->append(audit_0, epoch_5, batch("d"));
    auto request = co_await s.broker.next<wire::produce_request>();

    wire::produce_response_partition failed;
    failed.index = 1;
    failed.error_code = 6;
    failed.error_message = "not me";
    wire::produce_response_partition fine;
    fine.index = 0;
    fine.base_offset = 40;
    wire::produce_response response;  // one topic torn apart, the other between its halves
    response.responses.push_back({"orders", {failed}});
    fine.base_offset = 41;
    response.responses.push_back({"audit", {fine}});
    fine.base_offset = 40;
    response.responses.push_back({"orders", {fine}});
    co_await request.answer(std::move(response));

    const auto placed_a = co_await arrived(a);
    const auto refused = co_await arrived(b);
    const auto placed_d = co_await arrived(d);
    CHECK(placed_a.value().base_offset == 40);
    CHECK(placed_d.value().base_offset == 41);
    CHECK(code_of_failure(refused) == errc::broker);
    CHECK(refused.error().broker_code == 6);
    CHECK(refused.error().broker_text == "not me");
    CHECK(refused.error().context.find("orders-1") != std::string::npos);
    CHECK(c.metadata().is_fresh(orders_0));
    CHECK_FALSE(c.metadata().is_fresh(orders_1));
  });
}

TEST_CASE("a partition that the answer does not mention has failed", "[lanes][append]") {
  lane_scene s;
  s.play([&](client::cluster& c) -> awaitable<void> {
    const auto lane = lane_of(s, c);
    const auto a = lane->append(orders_0, epoch_5, batch("a"));
    const auto b = lane->append(orders_1, epoch_5, batch("b"));
    auto request = co_await s.broker.next<wire::produce_request>();
    auto response = appended(request.body, 3);
    response.responses[0].partition_responses.pop_back();
    co_await request.answer(std::move(response));
    const auto placed = co_await arrived(a);
    const auto missing = co_await arrived(b);
    CHECK(placed.value().base_offset == 3);
    CHECK(code_of_failure(missing) == errc::malformed);
  });
}

TEST_CASE("after a failed append the waiting ones of its partition are never sent", "[lanes][append]") {
  lane_scene s;
  s.play([&](client::cluster& c) -> awaitable<void> {
    const auto lane = lane_of(s, c);
    auto six = co_await send_six(s, lane);
    const auto other = lane->append(orders_1, epoch_5, batch("x"));
    const auto seventh = lane->append(orders_0, epoch_5, batch("g"));
    const std::map<topic_partition, std::int16_t> not_leader{{orders_0, 6}};
    co_await six.requests[0].answer(appended(six.requests[0].body, 10, not_leader));
    auto next = co_await s.broker.next<wire::produce_request>();
    CHECK(contents(next.body) == texts{"orders-1 x"});
    const auto refused = co_await arrived(six.answers[0]);
    CHECK(code_of_failure(refused) == errc::broker);
    for (const auto& waiting : {six.answers[5], seventh}) {
      const auto fenced = co_await arrived(waiting);
      CHECK(code_of_failure(fenced) == errc::fenced);
    }

    // What was under way already gets the broker's own answers.
    const std::map<topic_partition, std::int16_t> out_of_order{{orders_0, 45}};
    for (std::size_t i = 1; i < 5; ++i) {
      CHECK_FALSE(six.answers[i]->ready());
      co_await six.requests[i].answer(appended(six.requests[i].body, -1, out_of_order));
      const auto late = co_await arrived(six.answers[i]);
      CHECK(late.error().broker_code == 45);
    }
    co_await next.answer(appended(next.body, 20));
    const auto placed = co_await arrived(other);
    CHECK(placed.value().base_offset == 20);

    // The lane goes on for whoever has taken the lead anew.
    (void)lane->append(orders_0, epoch_5, batch("h"));
    const auto anew = co_await s.broker.next<wire::produce_request>();
    CHECK(contents(anew.body) == texts{"orders-0 h"});
    co_await settle(c);
    CHECK(s.broker.nothing_came());
  });
}

TEST_CASE("with the connection fails what was under way, and nothing of its partitions leaves on the next one", "[lanes][append]") {
  lane_scene s;
  s.play([&](client::cluster& c) -> awaitable<void> {
    const auto lane = lane_of(s, c);
    auto six = co_await send_six(s, lane);
    const auto waiting = lane->append(orders_1, epoch_5, batch("x"));  // nothing of it is under way: it may go
    s.broker.drop();
    auto next = co_await s.broker.next<wire::produce_request>();
    CHECK(next.connection > six.requests[0].connection);
    CHECK(contents(next.body) == texts{"orders-1 x"});
    for (std::size_t i = 0; i < 5; ++i) {
      const auto lost = co_await arrived(six.answers[i]);
      CHECK(code_of_failure(lost) == errc::connection_lost);
    }
    const auto fenced = co_await arrived(six.answers[5]);
    CHECK(code_of_failure(fenced) == errc::fenced);
    co_await next.answer(appended(next.body, 8));
    const auto placed = co_await arrived(waiting);
    CHECK(placed.value().base_offset == 8);
    co_await settle(c);
    CHECK(s.broker.nothing_came());
  });
}

TEST_CASE("what a throttled connection has kept back fails as never sent when it ends", "[lanes][append]") {
  lane_scene s;
  s.play([&](client::cluster& c) -> awaitable<void> {
    const auto lane = lane_of(s, c);
    const auto a = lane->append(orders_0, epoch_5, batch("a"));
    auto first = co_await s.broker.next<wire::produce_request>();
    auto response = appended(first.body, 1);
    response.throttle_time_ms = 30'000;
    co_await first.answer(std::move(response));
    const auto placed = co_await arrived(a);
    REQUIRE(placed.has_value());
    const auto b = lane->append(orders_0, epoch_5, batch("b"));
    co_await settle(c);
    CHECK(s.broker.nothing_came());
    s.broker.drop();
    const auto kept_back = co_await arrived(b);
    CHECK(code_of_failure(kept_back) == errc::unreachable);
  });
}

TEST_CASE("where no connection can be made all that is collected fails with the reason", "[lanes][append]") {
  lane_scene s;
  s.broker.lead(orders_0, 1, epoch_5);
  s.play([&](client::cluster& c) -> awaitable<void> {
    const auto known = co_await c.leader_of(orders_0);
    REQUIRE(known.has_value());
    s.broker.refuse();
    const auto lane = lane_of(s, c);
    const auto a = lane->append(orders_0, epoch_5, batch("a"));
    const auto b = lane->append(orders_0, epoch_5, batch("b"));
    const auto x = lane->append(orders_1, epoch_5, batch("x"));
    for (const auto& answer : {a, b, x}) {
      const auto refused = co_await arrived(answer);
      CHECK(code_of_failure(refused) == errc::unreachable);
      CHECK(refused.error().context.find("append to orders-") == 0);
      CHECK(refused.error().context.find("broker 1") != std::string::npos);
    }
    // A broker that is gone may have lost the partition: the next lead() has to ask.
    CHECK_FALSE(c.metadata().is_fresh(orders_0));

    s.broker.accept_again();
    while (true) {  // until the back-off is over
      const auto connection = co_await c.connection_to(broker_id{1}, 0);
      if (connection) break;
      const bool slept = co_await client::sleep_for(1ms);
      CHECK(slept);
    }
    const auto again = lane->append(orders_0, epoch_5, batch("again"));
    auto request = co_await s.broker.next<wire::produce_request>();
    CHECK(contents(request.body) == texts{"orders-0 again"});
    co_await request.answer(appended(request.body, 2));
    const auto placed = co_await arrived(again);
    CHECK(placed.has_value());
  });
}

TEST_CASE("a broker that nobody lists fails the append", "[lanes][append]") {
  lane_scene s;
  s.play([&](client::cluster& c) -> awaitable<void> {
    const auto lane = std::make_shared<append_lane>(s.executor(), c, broker_id{9}, 0, "kafka-mirrord-test", 5000ms, s.lease);
    s.closes(lane);
    const auto nobody = co_await arrived(lane->append(orders_0, epoch_5, batch("a")));
    CHECK(code_of_failure(nobody) == errc::unreachable);
  });
}

TEST_CASE("close fails what waits at once, and ends when what is under way is answered", "[lanes][append]") {
  lane_scene s;
  s.play([&](client::cluster& c) -> awaitable<void> {
    const auto lane = lane_of(s, c);
    auto six = co_await send_six(s, lane);
    auto closed = std::make_shared<one_shot<bool>>(s.executor());
    auto close = [lane, closed]() -> awaitable<void> {
      co_await lane->close();
      closed->fulfil(true);
    };
    client::task_group tasks(s.executor());
    tasks.spawn(close());
    const auto waited = co_await arrived(six.answers[5]);
    CHECK(code_of_failure(waited) == errc::cancelled);
    for (std::size_t i = 0; i < 5; ++i) {
      CHECK_FALSE(closed->ready());
      co_await six.requests[i].answer(appended(six.requests[i].body, static_cast<std::int64_t>(i)));
      const auto placed = co_await arrived(six.answers[i]);
      CHECK(placed.value().base_offset == static_cast<std::int64_t>(i));
    }
    co_await closed->wait();
    const bool ended = co_await tasks.join();
    CHECK(ended);
    CHECK(s.broker.nothing_came());
  });
}

TEST_CASE("a lane that is closed while it connects sends nothing", "[lanes][append]") {
  lane_scene s;
  s.play([&](client::cluster& c) -> awaitable<void> {
    const auto refreshed = co_await c.refresh_all();
    REQUIRE(refreshed.has_value());
    co_await settle(c);
    s.broker.hold_set_up = true;
    const auto lane = lane_of(s, c);
    const auto a = lane->append(orders_0, epoch_5, batch("a"));
    co_await settle(c);
    client::task_group tasks(s.executor());
    tasks.spawn(lane->close());
    co_await settle(c);
    s.broker.release_set_up();
    const auto never = co_await arrived(a);
    CHECK(code_of_failure(never) == errc::cancelled);
    const bool ended = co_await tasks.join();
    CHECK(ended);
    co_await settle(c);
    CHECK(s.broker.nothing_came());
  });
}

TEST_CASE("an idle lane closes at once, and twice", "[lanes][append]") {
  lane_scene s;
  s.play([&](client::cluster& c) -> awaitable<void> {
    const auto lane = lane_of(s, c);
    co_await lane->close();
    co_await lane->close();
  });
}
