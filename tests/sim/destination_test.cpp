// The simulated destination: leadership, replication, merged marker errors, and requests that outlive their client's
// patience.
#include "tests/sim/batch_bytes.hpp"
#include "tests/sim/destination_client.hpp"

#include <boost/asio/co_spawn.hpp>
#include <catch2/catch.hpp>

namespace mirrord::sim {
namespace {

using std::chrono::milliseconds;

struct cluster {
  asio::io_context context{1};
  sim_clock clock{context};
  sim_trace trace{clock, "destination test"};
  simulated_destination destination{clock, sim_random(5), trace, {}};
  network_faults faults;
  sim_process process{clock};
  mirror::write_lease lease{std::chrono::hours(1), [this] { return clock.now(); }};
  destination_client client{process, lease, sim_random(6), trace, destination, faults};
  std::vector<std::vector<std::byte>> kept;

  mirror::batch_append write(int records, std::int32_t sequence, mirror::acks confirmation = mirror::acks::all, std::int16_t epoch = 0) {
    record_spec record;
    record.key = "k";
    kept.push_back(encode(consecutive(std::vector<record_spec>(static_cast<std::size_t>(records), record))));
    mirror::batch_append append;
    append.batch = *only_batch(kept.back());
    append.pid = destination_pid{1};
    append.epoch = epoch;
    append.sequence = sequence;
    append.confirmation = confirmation;
    return append;
  }

  void run(milliseconds length) { (void)drive(clock, length, [this, until = clock.now() + length] { return clock.now() >= until; }); }

  template <class T>
  result<T> await(asio::awaitable<result<T>> question) {
    std::optional<result<T>> got;
    asio::co_spawn(context, std::move(question), [&got](std::exception_ptr, result<T> answer) { got.emplace(std::move(answer)); });
    REQUIRE(drive(clock, milliseconds(10'000), [&] { return got.has_value(); }) == drive_end::done);
    return std::move(*got);
  }

  result<void> mark(std::vector<std::int16_t> epochs, std::int32_t leader_epoch = 0) {
    std::vector<mirror::end_marker> markers;
    for (const auto epoch : epochs) markers.push_back({destination_pid{1}, epoch, false, 0});
    return await(client.mark(destination_epoch{leader_epoch}, std::move(markers)));
  }
};

TEST_CASE("appends arrive in call order, acks=1 is answered before replication", "[destination]") {
  cluster c;
  const auto first = c.client.append(destination_epoch{0}, c.write(2, 0, mirror::acks::leader));
  const auto second = c.client.append(destination_epoch{0}, c.write(1, 2));
  REQUIRE(drive(c.clock, milliseconds(1'000), [&] { return first->ready(); }) == drive_end::done);
  CHECK(first->value().value().base_offset == 0);
  REQUIRE(drive(c.clock, milliseconds(1'000), [&] { return second->ready(); }) == drive_end::done);
  CHECK(second->value().value().base_offset == 2);
  CHECK(c.destination.high_watermark() == 3);
}

TEST_CASE("several markers of one producer: a success hides refusals", "[destination]") {
  cluster c;
  CHECK(c.mark({5, 0, 5}).has_value());
  CHECK(c.destination.log().end() == 2);
  const auto refused = c.mark({0});
  REQUIRE(!refused);
  CHECK(refused.error().broker_code == 47);
}

TEST_CASE("the end offset is refused under another epoch, a former leader's data is refused", "[destination]") {
  cluster c;
  c.destination.faults.stale_reads = 0;
  while (c.destination.leader_of(c.destination.epoch()) == c.destination.leader_of(0) || c.destination.epoch() == 0)
    c.destination.move_leader(false);
  const auto old_end = c.await(c.client.end_offset(destination_epoch{0}));
  REQUIRE(!old_end);
  CHECK(old_end.error().code == errc::fenced);
  const auto answer = c.client.append(destination_epoch{0}, c.write(1, 0));
  c.run(milliseconds(50));
  REQUIRE(answer->ready());
  CHECK(answer->value().error().code == errc::fenced);
  CHECK(c.destination.log().end() == 0);
  CHECK(c.await(c.client.end_offset(destination_epoch{c.destination.epoch()})).value() == 0);
}

TEST_CASE("a leader that returns takes requests that were meant for its former epoch", "[destination]") {
  cluster c;
  c.destination.move_leader(false);
  while (c.destination.leader_of(c.destination.epoch()) != c.destination.leader_of(0)) c.destination.move_leader(false);
  const auto answer = c.client.append(destination_epoch{0}, c.write(1, 0));
  c.run(milliseconds(1'000));
  REQUIRE(answer->ready());
  CHECK(answer->value().value().base_offset == 0);
}

TEST_CASE("a new leader keeps what is replicated and may lack the rest", "[destination]") {
  cluster c;
  const auto kept = c.client.append(destination_epoch{0}, c.write(3, 0));
  REQUIRE(drive(c.clock, milliseconds(1'000), [&] { return kept->ready(); }) == drive_end::done);
  c.destination.faults.replication_stall = 1;
  (void)c.client.append(destination_epoch{0}, c.write(2, 3, mirror::acks::leader));
  (void)c.client.append(destination_epoch{0}, c.write(2, 5, mirror::acks::leader));
  REQUIRE(drive(c.clock, milliseconds(100), [&] { return c.destination.log().end() == 7; }) == drive_end::done);
  for (int i = 0; i < 20 && c.destination.log().end() > 3; ++i) c.destination.move_leader(true);
  CHECK(c.destination.log().end() == 3);
  CHECK(c.destination.log().producers().entries().at(1).last_sequence() == 2);
}

TEST_CASE("a lost answer leaves the append in place, a lost request does not, a late one comes after the error", "[destination]") {
  cluster c;
  c.faults.lost_answer = 1;
  const auto unheard = c.client.append(destination_epoch{0}, c.write(1, 0));
  REQUIRE(drive(c.clock, milliseconds(3'000), [&] { return unheard->ready(); }) == drive_end::done);
  CHECK(!unheard->value());
  c.run(milliseconds(10));
  CHECK(c.destination.log().end() == 1);

  c.faults = {};
  c.faults.lost_request = 1;
  const auto lost = c.client.append(destination_epoch{0}, c.write(1, 1));
  c.run(milliseconds(4'000));
  CHECK(!lost->value());
  CHECK(c.destination.log().end() == 1);

  c.faults = {};
  c.faults.late_request = 1;
  const auto late = c.client.append(destination_epoch{0}, c.write(1, 1));
  REQUIRE(drive(c.clock, milliseconds(3'000), [&] { return late->ready(); }) == drive_end::done);
  CHECK(!late->value());
  CHECK(c.destination.log().end() == 1);
  c.run(milliseconds(1'000));
  CHECK(c.destination.log().end() == 2);
  CHECK(c.client.under_way() == 0);
}

TEST_CASE("a severed client changes nothing any more", "[destination]") {
  cluster c;
  c.client.sever();
  c.process.kill();
  const auto answer = c.client.append(destination_epoch{0}, c.write(1, 0));
  c.run(milliseconds(10));
  REQUIRE(answer->ready());
  CHECK(answer->value().error().code == errc::connection_lost);
  CHECK(!c.mark({0}));
  CHECK(!c.await(c.client.lead()));
  CHECK(c.destination.log().end() == 0);
}

}  // namespace
}  // namespace mirrord::sim
