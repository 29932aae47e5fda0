// Stories of the destination's port over a real cluster: which leader a partition's calls go to, what is fenced, and that
// a table of lanes gives each partition one lane.
#include "lanes_stage.hpp"

#include "mirror/kafka_destination.hpp"
#include "wire/offsets.hpp"
#include "wire/transactions.hpp"

#include <set>

using namespace mirrord;
using namespace mirrord::mirror;
using namespace mirrord::mirror::lanes;

namespace {

using texts = std::vector<std::string>;

struct destination {
  destination(lane_scene& s, client::cluster& c)
      : lanes(std::make_shared<destination_lanes>(destination_lanes{
            {2, [&s, &c](broker_id broker, int index) { return std::make_unique<append_lane>(s.executor(), c, broker, index, "kafka-mirrord-test", 5000ms, s.lease); }},
            {1, [&s, &c](broker_id broker, int index) { return std::make_unique<marker_lane>(s.executor(), c, broker, 2 + index, 5000ms, s.lease); }}})),
        log(s.executor(), c, *lanes, s.lease, orders_0, topic_id{{7}}) {
    s.at_end.push_back([held = lanes]() -> awaitable<void> {
      co_await held->appends.close();
      co_await held->markers.close();
    });
  }

  std::shared_ptr<destination_lanes> lanes;
  kafka_destination log;
};

wire::offset_for_leader_epoch_response end_answer(std::int16_t code, std::int64_t end) {
  wire::offset_for_leader_epoch_response response;
  response.topics.push_back({"orders", {}});
  response.topics[0].partitions.emplace_back();
  response.topics[0].partitions[0].error_code = code;
  response.topics[0].partitions[0].end_offset = end;
  return response;
}

}  // namespace

TEST_CASE("a partition always has the same lane to a broker, and lanes are made when needed", "[lanes][table]") {
  lane_scene s;
  s.play([&](client::cluster& c) -> awaitable<void> {
    std::set<std::pair<std::int32_t, int>> made;
    auto table = std::make_shared<lane_table<marker_lane>>(4, [&](broker_id broker, int index) {
      CHECK(made.emplace(broker.value, index).second);
      return std::make_unique<marker_lane>(s.executor(), c, broker, index, 5000ms, s.lease);
    });
    s.closes(table);
    CHECK(made.empty());
    std::set<marker_lane*> to_1;
    for (std::int32_t partition = 0; partition < 64; ++partition) {
      const topic_partition tp{"orders", partition};
      marker_lane& lane = table->lane_to(broker_id{1}, tp);
      CHECK(&lane == &table->lane_to(broker_id{1}, tp));
      CHECK(lane.broker() == broker_id{1});
      to_1.insert(&lane);
    }
    CHECK(to_1.size() == 4);
    CHECK(made.size() == 4);
    marker_lane& elsewhere = table->lane_to(broker_id{2}, orders_0);
    CHECK(elsewhere.broker() == broker_id{2});
    CHECK_FALSE(to_1.contains(&elsewhere));
    co_return;
  });
}

TEST_CASE("appends and markers go to the leader under the epoch that was given", "[lanes][destination]") {
  lane_scene s;
  s.broker.lead(orders_0, 2, 5);
  s.play([&](client::cluster& c) -> awaitable<void> {
    destination d(s, c);
    const auto epoch = co_await d.log.lead();
    REQUIRE(epoch.value().value == 5);
    const auto a = d.log.append(*epoch, batch("a"));
    auto request = co_await s.broker.next<wire::produce_request>();
    CHECK(contents(request.body) == texts{"orders-0 a"});
    co_await request.answer(appended(request.body, 12));
    const auto placed = co_await arrived(a);
    CHECK(placed.value().base_offset == 12);

    client::task_group tasks(s.executor());
    std::vector<end_marker> markers{{destination_pid{9}, 0, true, 0}};
    const auto m = begin(tasks, s.executor(), d.log.mark(*epoch, markers));
    auto marking = co_await s.broker.next<wire::write_txn_markers_request>();
    CHECK(marking.connection != request.connection);
    wire::write_txn_markers_response done;
    done.markers.push_back({9, {{"orders", {{0, 0}}}}});
    co_await marking.answer(std::move(done));
    const auto marked = co_await arrived(m);
    CHECK(marked.has_value());
    CHECK(s.broker.metadata_requests == 1);
  });
}

TEST_CASE("under an epoch that is not the one of lead() everything is fenced and nothing is sent", "[lanes][destination]") {
  lane_scene s;
  s.broker.lead(orders_0, 1, 5);
  s.play([&](client::cluster& c) -> awaitable<void> {
    destination d(s, c);
    const destination_epoch early{5};
    const auto before_lead = co_await arrived(d.log.append(early, batch("a")));
    CHECK(code_of_failure(before_lead) == errc::fenced);
    const auto epoch = co_await d.log.lead();
    REQUIRE(epoch.has_value());
    for (const destination_epoch other : {destination_epoch{4}, destination_epoch{6}}) {
      const auto write = co_await arrived(d.log.append(other, batch("a")));
      CHECK(code_of_failure(write) == errc::fenced);
      std::vector<end_marker> markers{{destination_pid{9}, 0, true, 0}};
      const auto mark = co_await d.log.mark(other, markers);
      CHECK(code_of_failure(mark) == errc::fenced);
      const auto end = co_await d.log.end_offset(other);
      CHECK(code_of_failure(end) == errc::fenced);
      const auto producers = co_await d.log.producers(other);
      CHECK(code_of_failure(producers) == errc::fenced);
      const auto bounds = co_await d.log.bounds(other);
      CHECK(code_of_failure(bounds) == errc::fenced);
      const auto trim = co_await d.log.trim(other, 4);
      CHECK(code_of_failure(trim) == errc::fenced);
    }
    co_await settle(c);
    CHECK(s.broker.nothing_came());
  });
}

TEST_CASE("a later epoch that anybody has heard of fences the old one", "[lanes][destination]") {
  lane_scene s;
  s.broker.lead(orders_0, 1, 5);
  s.play([&](client::cluster& c) -> awaitable<void> {
    destination d(s, c);
    const auto epoch = co_await d.log.lead();
    REQUIRE(epoch.has_value());
    s.broker.lead(orders_0, 2, 6);
    const auto refreshed = co_await c.refresh_all();
    REQUIRE(refreshed.has_value());
    const auto late = co_await arrived(d.log.append(*epoch, batch("a")));
    CHECK(code_of_failure(late) == errc::fenced);
    const auto end = co_await d.log.end_offset(*epoch);
    CHECK(code_of_failure(end) == errc::fenced);
    co_await settle(c);
    CHECK(s.broker.nothing_came());

    const auto anew = co_await d.log.lead();
    CHECK(anew.value().value == 6);
    (void)d.log.append(*anew, batch("b"));
    const auto request = co_await s.broker.next<wire::produce_request>();
    CHECK(contents(request.body) == texts{"orders-0 b"});
  });
}

TEST_CASE("after any leader error the next lead() asks the cluster", "[lanes][destination]") {
  const std::int16_t code = GENERATE(std::int16_t{3}, std::int16_t{6}, std::int16_t{74}, std::int16_t{75}, std::int16_t{10});
  const bool is_about_leaders = code != 10;
  lane_scene s;
  s.broker.lead(orders_0, 1, 5);
  s.play([&](client::cluster& c) -> awaitable<void> {
    destination d(s, c);
    client::task_group tasks(s.executor());
    const std::map<topic_partition, std::int16_t> refusal{{orders_0, code}};
    auto epoch = co_await d.log.lead();
    REQUIRE(epoch.has_value());
    int asked = s.broker.metadata_requests;
    const auto lead_asks_again = [&]() -> awaitable<bool> {
      epoch = co_await d.log.lead();
      REQUIRE(epoch.has_value());
      const bool did = s.broker.metadata_requests > asked;
      asked = s.broker.metadata_requests;
      co_return did;
    };
    const bool quiet = co_await lead_asks_again();
    CHECK_FALSE(quiet);

    const auto a = d.log.append(*epoch, batch("a"));
    auto produce = co_await s.broker.next<wire::produce_request>();
    co_await produce.answer(appended(produce.body, 1, refusal));
    const auto refused = co_await arrived(a);
    CHECK(refused.error().broker_code == code);
    const bool after_append = co_await lead_asks_again();
    CHECK(after_append == is_about_leaders);

    std::vector<end_marker> markers{{destination_pid{9}, 0, true, 0}};
    const auto m = begin(tasks, s.executor(), d.log.mark(*epoch, markers));
    auto marking = co_await s.broker.next<wire::write_txn_markers_request>();
    wire::write_txn_markers_response bad;
    bad.markers.push_back({9, {{"orders", {{0, code}}}}});
    co_await marking.answer(std::move(bad));
    const auto not_marked = co_await arrived(m);
    CHECK(not_marked.error().broker_code == code);
    const bool after_mark = co_await lead_asks_again();
    CHECK(after_mark == is_about_leaders);

    const auto e = begin(tasks, s.executor(), d.log.end_offset(*epoch));
    auto question = co_await s.broker.next<wire::offset_for_leader_epoch_request>();
    co_await question.answer(end_answer(code, -1));
    const auto no_end = co_await arrived(e);
    CHECK(no_end.error().broker_code == code);
    const bool after_end = co_await lead_asks_again();
    CHECK(after_end == is_about_leaders);
  });
}

TEST_CASE("after a lost connection the next lead() asks the cluster", "[lanes][destination]") {
  lane_scene s;
  s.broker.lead(orders_0, 1, 5);
  s.play([&](client::cluster& c) -> awaitable<void> {
    destination d(s, c);
    const auto epoch = co_await d.log.lead();
    REQUIRE(epoch.has_value());
    const auto a = d.log.append(*epoch, batch("a"));
    const auto request = co_await s.broker.next<wire::produce_request>();
    s.broker.lead(orders_0, 2, 6);
    s.broker.drop();
    const auto lost = co_await arrived(a);
    CHECK(code_of_failure(lost) == errc::connection_lost);
    const auto anew = co_await d.log.lead();
    CHECK(anew.value().value == 6);
  });
}

TEST_CASE("the destination's questions name the leader's epoch and read the answers", "[lanes][destination]") {
  lane_scene s;
  s.broker.lead(orders_0, 1, 5);
  s.play([&](client::cluster& c) -> awaitable<void> {
    destination d(s, c);
    client::task_group tasks(s.executor());
    const auto epoch = co_await d.log.lead();
    REQUIRE(epoch.has_value());

    const auto e = begin(tasks, s.executor(), d.log.end_offset(*epoch));
    auto end_question = co_await s.broker.next<wire::offset_for_leader_epoch_request>();
    const auto& asked = end_question.body.topics.at(0).partitions.at(0);
    CHECK(asked.partition == 0);
    CHECK(asked.current_leader_epoch == 5);
    CHECK(asked.leader_epoch == 5);
    co_await end_question.answer(end_answer(0, 321));
    const auto end = co_await arrived(e);
    CHECK(end.value() == 321);

    const auto p = begin(tasks, s.executor(), d.log.producers(*epoch));
    auto producer_question = co_await s.broker.next<wire::describe_producers_request>();
    wire::producer_state open;
    open.producer_id = 9;
    open.producer_epoch = 3;
    open.last_sequence = 44;
    open.coordinator_epoch = 2;
    open.current_txn_start_offset = 300;
    wire::producer_state idle;
    idle.producer_id = 10;
    wire::describe_producers_response states;
    states.topics.push_back({"orders", {}});
    states.topics[0].partitions.emplace_back();
    states.topics[0].partitions[0].active_producers = {open, idle};
    co_await producer_question.answer(std::move(states));
    const auto producers = co_await arrived(p);
    REQUIRE(producers.value().size() == 2);
    const auto& first = producers.value()[0];
    CHECK(first.pid == destination_pid{9});
    CHECK(first.epoch == 3);
    CHECK(first.last_sequence == 44);
    CHECK(first.coordinator_epoch == 2);
    CHECK(first.open_since == 300);
    CHECK_FALSE(producers.value()[1].open_since.has_value());

    const auto b = begin(tasks, s.executor(), d.log.bounds(*epoch));
    for (const std::int64_t offset : {17, 300}) {
      auto bound_question = co_await s.broker.next<wire::list_offsets_request>();
      const auto& bound = bound_question.body.topics.at(0).partitions.at(0);
      CHECK(bound.current_leader_epoch == 5);
      CHECK(bound.timestamp == (offset == 17 ? wire::earliest_timestamp : wire::latest_timestamp));
      wire::list_offsets_response answer;
      answer.topics.push_back({"orders", {}});
      answer.topics[0].partitions.emplace_back();
      answer.topics[0].partitions[0].offset = offset;
      co_await bound_question.answer(std::move(answer));
    }
    const auto bounds = co_await arrived(b);
    CHECK(bounds.value().start == 17);
    CHECK(bounds.value().high_watermark == 300);

    const auto t = begin(tasks, s.executor(), d.log.trim(*epoch, 20));
    auto deletion = co_await s.broker.next<wire::delete_records_request>();
    CHECK(deletion.body.topics.at(0).partitions.at(0).offset == 20);
    wire::delete_records_response deleted;
    deleted.topics.push_back({"orders", {}});
    deleted.topics[0].partitions.emplace_back();
    co_await deletion.answer(std::move(deleted));
    const auto trimmed = co_await arrived(t);
    CHECK(trimmed.has_value());

    const auto odd = begin(tasks, s.executor(), d.log.end_offset(*epoch));
    auto unanswered = co_await s.broker.next<wire::offset_for_leader_epoch_request>();
    wire::offset_for_leader_epoch_response nothing;
    co_await unanswered.answer(std::move(nothing));
    const auto no_answer = co_await arrived(odd);
    CHECK(code_of_failure(no_answer) == errc::malformed);
  });
}
