// Stories of a marker lane: how the markers of many partitions become entries of a request, and whose error is whose.
#include "lanes_stage.hpp"

#include "mirror/marker_lane.hpp"

#include <fmt/format.h>

using namespace mirrord;
using namespace mirrord::mirror;
using namespace mirrord::mirror::lanes;

namespace {

using texts = std::vector<std::string>;
using marker_answer = std::shared_ptr<one_shot<result<void>>>;

std::shared_ptr<marker_lane> lane_of(lane_scene& s, client::cluster& c) {
  auto lane = std::make_shared<marker_lane>(s.executor(), c, broker_id{1}, 4, 5000ms, s.lease);
  s.closes(lane);
  return lane;
}

end_marker abort_of(std::int64_t pid, std::int16_t epoch = 0, std::int32_t coordinator_epoch = 0) {
  return {destination_pid{pid}, epoch, false, coordinator_epoch};
}

end_marker commit_of(std::int64_t pid, std::int16_t epoch = 0) { return {destination_pid{pid}, epoch, true, 0}; }

std::vector<end_marker> times(std::size_t n, end_marker marker) { return std::vector<end_marker>(n, marker); }

// "abort 9/0 c0: orders-0 orders-1", in the order of the entries.
texts entries_of(const wire::write_txn_markers_request& request) {
  texts all;
  for (const auto& marker : request.markers) {
    std::string text = fmt::format("{} {}/{} c{}:", marker.transaction_result ? "commit" : "abort", marker.producer_id, marker.producer_epoch,
                                   marker.coordinator_epoch);
    for (const auto& topic : marker.topics) {
      for (const std::int32_t partition : topic.partition_indexes) text += fmt::format(" {}-{}", topic.name, partition);
    }
    all.push_back(std::move(text));
  }
  return all;
}

using marker_key = std::pair<std::int64_t, topic_partition>;

// As a broker answers: one entry per producer id, whose partitions have the errors of all markers.
wire::write_txn_markers_response answer_to(const wire::write_txn_markers_request& request, const std::map<marker_key, std::int16_t>& error_of = {}) {
  std::map<std::int64_t, std::map<topic_partition, std::int16_t>> merged;
  for (const auto& marker : request.markers) {
    for (const auto& topic : marker.topics) {
      for (const std::int32_t partition : topic.partition_indexes) {
        const topic_partition tp{topic.name, partition};
        const auto bad = error_of.find({marker.producer_id, tp});
        merged[marker.producer_id][tp] = bad == error_of.end() ? std::int16_t{0} : bad->second;
      }
    }
  }
  wire::write_txn_markers_response response;
  for (const auto& [pid, partitions] : merged) {
    wire::write_txn_markers_response_marker entry;
    entry.producer_id = pid;
    for (const auto& [tp, code] : partitions) entry.topics.push_back({tp.topic, {{tp.partition, code}}});
    response.markers.push_back(std::move(entry));
  }
  return response;
}

}  // namespace

TEST_CASE("the same marker of many partitions shares an entry", "[lanes][markers]") {
  lane_scene s;
  s.play([&](client::cluster& c) -> awaitable<void> {
    const auto lane = lane_of(s, c);
    std::vector<marker_answer> answers;
    answers.push_back(lane->mark(orders_0, times(1, abort_of(9))));
    answers.push_back(lane->mark(orders_1, times(1, abort_of(9))));
    answers.push_back(lane->mark(audit_0, times(1, abort_of(9))));
    answers.push_back(lane->mark(orders_2, times(1, commit_of(9))));
    answers.push_back(lane->mark(orders_3, times(1, abort_of(9, 1))));
    auto request = co_await s.broker.next<wire::write_txn_markers_request>();
    CHECK(entries_of(request.body) == texts{"abort 9/0 c0: audit-0 orders-0 orders-1", "commit 9/0 c0: orders-2", "abort 9/1 c0: orders-3"});
    co_await request.answer(answer_to(request.body));
    for (const auto& answer : answers) {
      const auto marked = co_await arrived(answer);
      CHECK(marked.has_value());
    }
  });
}

TEST_CASE("the n-th marker of a partition stands in the n-th round of entries", "[lanes][markers]") {
  lane_scene s;
  s.play([&](client::cluster& c) -> awaitable<void> {
    const auto lane = lane_of(s, c);
    (void)lane->mark(orders_0, times(3, abort_of(9)));
    (void)lane->mark(orders_1, times(2, abort_of(9)));
    std::vector<end_marker> of_two{commit_of(20), abort_of(5)};
    (void)lane->mark(orders_2, of_two);
    const auto request = co_await s.broker.next<wire::write_txn_markers_request>();
    CHECK(entries_of(request.body) == texts{"abort 9/0 c0: orders-0 orders-1", "commit 20/0 c0: orders-2", "abort 5/0 c0: orders-2",
                                            "abort 9/0 c0: orders-0 orders-1", "abort 9/0 c0: orders-0"});
  });
}

TEST_CASE("markers under different coordinator epochs do not share an entry", "[lanes][markers]") {
  lane_scene s;
  s.play([&](client::cluster& c) -> awaitable<void> {
    const auto lane = lane_of(s, c);
    (void)lane->mark(orders_0, times(1, abort_of(9, 0, 3)));
    (void)lane->mark(orders_1, times(1, abort_of(9, 0, 4)));
    (void)lane->mark(orders_2, times(1, abort_of(9, 0, 3)));
    const auto request = co_await s.broker.next<wire::write_txn_markers_request>();
    CHECK(entries_of(request.body) == texts{"abort 9/0 c3: orders-0 orders-2", "abort 9/0 c4: orders-1"});
  });
}

TEST_CASE("a marker's error is that of its producer id and partition", "[lanes][markers]") {
  lane_scene s;
  s.play([&](client::cluster& c) -> awaitable<void> {
    const auto lane = lane_of(s, c);
    std::vector<end_marker> two{abort_of(5), abort_of(6)};
    const auto fine = lane->mark(orders_0, times(1, abort_of(5)));
    const auto bad = lane->mark(orders_1, two);
    const auto other = lane->mark(audit_0, times(1, abort_of(6)));
    auto request = co_await s.broker.next<wire::write_txn_markers_request>();
    const std::map<marker_key, std::int16_t> fenced{{{6, orders_1}, 47}};
    co_await request.answer(answer_to(request.body, fenced));
    const auto marked = co_await arrived(fine);
    const auto refused = co_await arrived(bad);
    const auto marked_too = co_await arrived(other);
    CHECK(marked.has_value());
    CHECK(marked_too.has_value());
    CHECK(code_of_failure(refused) == errc::broker);
    CHECK(refused.error().broker_code == 47);
    CHECK(refused.error().context == "mark orders-1");
  });
}

TEST_CASE("of several answers about one producer id and partition any error counts", "[lanes][markers]") {
  lane_scene s;
  s.play([&](client::cluster& c) -> awaitable<void> {
    const auto lane = lane_of(s, c);
    const auto filler = lane->mark(orders_0, times(3, abort_of(9)));
    auto request = co_await s.broker.next<wire::write_txn_markers_request>();
    wire::write_txn_markers_response response;
    for (const std::int16_t code : {0, 6, 0}) response.markers.push_back({9, {{"orders", {{0, code}}}}});
    co_await request.answer(std::move(response));
    const auto refused = co_await arrived(filler);
    CHECK(code_of_failure(refused) == errc::broker);
    CHECK(refused.error().broker_code == 6);
  });
}

TEST_CASE("a marker that the answer does not mention has failed", "[lanes][markers]") {
  lane_scene s;
  s.play([&](client::cluster& c) -> awaitable<void> {
    const auto lane = lane_of(s, c);
    std::vector<end_marker> two{abort_of(5), abort_of(6)};
    const auto half = lane->mark(orders_0, two);
    const auto whole = lane->mark(orders_1, times(1, abort_of(5)));
    auto request = co_await s.broker.next<wire::write_txn_markers_request>();
    auto response = answer_to(request.body);
    std::erase_if(response.markers, [](const auto& entry) { return entry.producer_id == 6; });
    co_await request.answer(std::move(response));
    const auto missing = co_await arrived(half);
    const auto marked = co_await arrived(whole);
    CHECK(code_of_failure(missing) == errc::malformed);
    CHECK(marked.has_value());
  });
}

TEST_CASE("two marker requests are under way at most, of 10,000 markers at most", "[lanes][markers]") {
  lane_scene s;
  s.play([&](client::cluster& c) -> awaitable<void> {
    const auto lane = lane_of(s, c);
    for (std::int32_t partition = 0; partition < 50; ++partition) (void)lane->mark({"orders", partition}, times(500, abort_of(9)));
    auto first = co_await s.broker.next<wire::write_txn_markers_request>();
    auto second = co_await s.broker.next<wire::write_txn_markers_request>();
    for (const auto* request : {&first, &second}) {
      REQUIRE(request->body.markers.size() == 500);
      CHECK(request->body.markers[0].topics.at(0).partition_indexes.size() == 20);
    }
    co_await settle(c);
    CHECK(s.broker.nothing_came());
    co_await first.answer(answer_to(first.body));
    const auto third = co_await s.broker.next<wire::write_txn_markers_request>();
    CHECK(third.body.markers.at(0).topics.at(0).partition_indexes.size() == 10);
  });
}

TEST_CASE("markers that were under way when the connection ended are not repeated", "[lanes][markers]") {
  lane_scene s;
  s.play([&](client::cluster& c) -> awaitable<void> {
    const auto lane = lane_of(s, c);
    const auto a = lane->mark(orders_0, times(1, abort_of(9)));
    auto first = co_await s.broker.next<wire::write_txn_markers_request>();
    const auto b = lane->mark(orders_1, times(1, abort_of(9)));
    auto second = co_await s.broker.next<wire::write_txn_markers_request>();
    const auto waiting = lane->mark(orders_2, times(1, abort_of(9)));
    s.broker.drop();
    auto anew = co_await s.broker.next<wire::write_txn_markers_request>();
    CHECK(anew.connection > first.connection);
    CHECK(entries_of(anew.body) == texts{"abort 9/0 c0: orders-2"});
    for (const auto& answer : {a, b}) {
      const auto lost = co_await arrived(answer);
      CHECK(code_of_failure(lost) == errc::connection_lost);
    }
    co_await anew.answer(answer_to(anew.body));
    const auto marked = co_await arrived(waiting);
    CHECK(marked.has_value());
    co_await settle(c);
    CHECK(s.broker.nothing_came());
  });
}

TEST_CASE("where no connection can be made all markers fail with the reason", "[lanes][markers]") {
  lane_scene s;
  s.play([&](client::cluster& c) -> awaitable<void> {
    const auto refreshed = co_await c.refresh_all();
    REQUIRE(refreshed.has_value());
    s.broker.refuse();
    const auto lane = lane_of(s, c);
    const auto a = lane->mark(orders_0, times(2, abort_of(9)));
    const auto b = lane->mark(orders_1, times(1, abort_of(9)));
    for (const auto& answer : {a, b}) {
      const auto refused = co_await arrived(answer);
      CHECK(code_of_failure(refused) == errc::unreachable);
      CHECK(refused.error().context.find("mark orders-") == 0);
    }
  });
}

TEST_CASE("a broker without WriteTxnMarkers is told as such", "[lanes][markers]") {
  lane_scene s;
  std::erase_if(s.broker.offered, [](const auto& api) { return api.api_key == 27; });
  s.play([&](client::cluster& c) -> awaitable<void> {
    const auto lane = lane_of(s, c);
    const auto refused = co_await arrived(lane->mark(orders_0, times(1, abort_of(9))));
    CHECK(code_of_failure(refused) == errc::unsupported);
  });
}

TEST_CASE("a marker lane closes when what is under way is answered", "[lanes][markers]") {
  lane_scene s;
  s.play([&](client::cluster& c) -> awaitable<void> {
    const auto lane = lane_of(s, c);
    const auto a = lane->mark(orders_0, times(1, abort_of(9)));
    auto first = co_await s.broker.next<wire::write_txn_markers_request>();
    const auto b = lane->mark(orders_1, times(1, abort_of(9)));
    auto second = co_await s.broker.next<wire::write_txn_markers_request>();
    const auto waiting = lane->mark(orders_2, times(1, abort_of(9)));
    client::task_group tasks(s.executor());
    tasks.spawn(lane->close());
    const auto never = co_await arrived(waiting);
    CHECK(code_of_failure(never) == errc::cancelled);
    CHECK(tasks.running() == 1);
    co_await first.answer(answer_to(first.body));
    co_await second.answer(answer_to(second.body));
    for (const auto& answer : {a, b}) {
      const auto marked = co_await arrived(answer);
      CHECK(marked.has_value());
    }
    const bool ended = co_await tasks.join();
    CHECK(ended);
  });
}
