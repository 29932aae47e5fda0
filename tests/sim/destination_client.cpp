#include "tests/sim/destination_client.hpp"

#include "base/broker_error.hpp"
#include "wire/record_batch.hpp"

#include <algorithm>

namespace mirrord::sim {

using mirror::append_answer;
using std::chrono::microseconds;
using std::chrono::milliseconds;

struct destination_client::call {
  std::int32_t epoch;
  mirror::batch_append write;
  std::shared_ptr<mirror::one_shot<result<append_answer>>> answer;
  bool is_deaf = false;       // the broker never reads it
  bool answer_lost = false;
};

struct destination_client::connection {
  std::deque<std::shared_ptr<call>> unread;
  std::deque<std::shared_ptr<call>> unanswered;
  sim_clock::duration last_arrival{0};
  std::size_t arrived = 0;  // of `unread`
  bool busy = false;
  bool deaf = false;
  bool mute = false;
  bool broken = false;
  bool held = false;
  std::int64_t read_after_break = 0;
};

namespace {

result<void> outcome_of(std::int16_t code, const char* what) {
  if (code == 0) return {};
  if (code == simulated_destination::not_leader) return fail(errc::fenced, what);
  return broker_failure(code, what);
}

std::vector<std::byte> bytes_on_the_wire(const mirror::batch_append& write) {
  const auto header = wire::patched_header(write.batch, {write.pid.value, write.epoch, write.sequence});
  std::vector<std::byte> bytes(header.begin(), header.end());
  const auto payload = write.batch.bytes.subspan(header.size());
  bytes.insert(bytes.end(), payload.begin(), payload.end());
  return bytes;
}

}  // namespace

destination_client::destination_client(sim_process& process, mirror::write_lease& lease, sim_random random, sim_trace& trace, simulated_destination& destination,
                                       const network_faults& faults, std::string name)
    : process_(process), lease_(lease), clock_(process.clock()), random_(random), trace_(trace), destination_(destination), faults_(faults), name_(std::move(name)),
      connection_(std::make_shared<connection>()) {}

destination_client::fate destination_client::draw_fate() {
  if (random_.chance(faults_.lost_request)) return fate::request_lost;
  if (random_.chance(faults_.lost_answer)) return fate::answer_lost;
  if (random_.chance(faults_.late_request)) return fate::late;
  return fate::arrives;
}

sim_clock::duration destination_client::latency() { return microseconds(random_.between(50, 2'000)); }

error destination_client::loss(std::string what) {
  return fail(random_.chance(0.5) ? errc::connection_lost : errc::timed_out, std::move(what));
}

void destination_client::before_write() {
  on_write();
  if (told_of_foreign_write_at_ && clock_.now() > *told_of_foreign_write_at_ + milliseconds(5))
    trace_.violation("writes on after an answer that shows a foreign write");
}

void destination_client::answer_call(std::shared_ptr<call> of, result<append_answer> with) {
  process_.when_running([of, with] {
    if (!of->answer->ready()) of->answer->fulfil(with);
  });
}

std::shared_ptr<mirror::one_shot<result<append_answer>>> destination_client::append(destination_epoch epoch, mirror::batch_append write) {
  auto answer = std::make_shared<mirror::one_shot<result<append_answer>>>(clock_.context().get_executor());
  auto request = std::make_shared<call>();
  request->epoch = epoch.value;
  request->write = std::move(write);
  request->answer = answer;
  if (process_.gone() || outlived_lease()) {
    const auto why = process_.gone() ? errc::connection_lost : errc::fenced;
    clock_.after(milliseconds(1), [this, request, why] { answer_call(request, fail(why, "append")); });
    return answer;
  }
  before_write();
  const auto link = connection_;
  const auto what = draw_fate();
  trace_.add("{}: append pid {} epoch {} seq {} count {} acks {}{}", name_, request->write.pid.value, request->write.epoch,
             request->write.sequence, request->write.batch.header.record_count, static_cast<int>(request->write.confirmation),
             what == fate::request_lost ? " (request lost)" : what == fate::answer_lost ? " (answer lost)" : what == fate::late ? " (late)" : "");
  if (what == fate::request_lost) link->deaf = true;
  request->is_deaf = link->deaf;
  if (what == fate::answer_lost) link->mute = true;
  request->answer_lost = link->mute;
  if (what != fate::arrives) {
    const auto patience = milliseconds(random_.between(5, 1'500));
    const auto late = what == fate::late ? milliseconds(random_.between(1, faults_.late_max.count())) : milliseconds(0);
    if (what == fate::late) request->is_deaf = link->deaf = true;
    clock_.after(patience, [this, link, late] { break_connection(link, late); });
  }
  ++under_way_;
  link->unread.push_back(request);
  link->unanswered.push_back(request);
  link->last_arrival = std::max(link->last_arrival, clock_.now() + latency());
  clock_.after(link->last_arrival - clock_.now(), [this, link] {
    ++link->arrived;
    read_next(link);
  });
  return answer;
}

void destination_client::read_next(std::shared_ptr<connection> link) {
  while (!link->busy && !link->held && link->arrived > 0 && !link->unread.empty()) {
    auto request = link->unread.front();
    if (request->is_deaf && !link->broken) return;
    link->unread.pop_front();
    --link->arrived;
    const bool read = link->broken ? link->read_after_break-- > 0 : true;
    if (!read) {
      --under_way_;
      continue;
    }
    link->busy = true;
    auto bytes = bytes_on_the_wire(request->write);
    destination_.produce(request->epoch, std::move(bytes), request->write.confirmation, [this, link, request](append_outcome outcome) {
      --under_way_;
      clock_.after(latency(), [this, link, request, outcome] {
        link->busy = false;
        if (!link->broken && !request->answer_lost) {
          std::erase(link->unanswered, request);
          if (destination_.foreign_offset() && outcome.base_offset > *destination_.foreign_offset() && !told_of_foreign_write_at_)
            told_of_foreign_write_at_ = clock_.now();
          if (auto told = outcome_of(outcome.code, "append"); told) answer_call(request, append_answer{outcome.base_offset});
          else answer_call(request, std::move(told.error()));
        }
        read_next(link);
      });
    });
  }
}

void destination_client::break_connection(std::shared_ptr<connection> link, milliseconds late) {
  if (link->broken) return;
  link->broken = true;
  trace_.add("network: the connection of {} appends broke{}", link->unanswered.size(), late.count() > 0 ? ", they arrive late" : "");
  if (connection_ == link) connection_ = std::make_shared<connection>();
  for (const auto& request : link->unanswered) answer_call(request, loss("append"));
  link->unanswered.clear();
  // What was lost on the way stays lost; what was only held back, or lies in the broker's buffers, can still be read.
  const auto held_back = static_cast<std::int64_t>(link->unread.size());
  link->read_after_break = late.count() > 0 ? held_back : link->deaf ? 0 : random_.between(0, held_back);
  clock_.after(late, [this, link] {
    link->arrived = link->unread.size();
    read_next(link);
  });
}

void destination_client::hold() { connection_->held = true; }

void destination_client::release() {
  connection_->held = false;
  read_next(connection_);
}

void destination_client::sever() {
  if (connection_->held) release();
  break_connection(connection_, random_.chance(0.5) ? milliseconds(random_.between(1, faults_.late_max.count())) : milliseconds(0));
}

struct destination_client::marking {
  std::shared_ptr<mirror::one_shot<result<void>>> answer;
};

asio::awaitable<result<void>> destination_client::mark(destination_epoch epoch, std::vector<mirror::end_marker> markers) {
  if (process_.gone() || outlived_lease()) {
    co_await process_.sleep(milliseconds(1));
    co_return fail(process_.gone() ? errc::connection_lost : errc::fenced, "mark");
  }
  before_write();
  const auto what = draw_fate();
  trace_.add("{}: {} markers, first pid {} epoch {} {}{}", name_, markers.size(), markers.front().pid.value, markers.front().epoch,
             markers.front().commit ? "COMMIT" : "ABORT",
             what == fate::request_lost ? " (request lost)" : what == fate::answer_lost ? " (answer lost)" : what == fate::late ? " (late)" : "");
  auto state = std::make_shared<marking>();
  state->answer = std::make_shared<mirror::one_shot<result<void>>>(clock_.context().get_executor());
  const auto answer = [this, state](result<void> with) {
    process_.when_running([state, with] {
      if (!state->answer->ready()) state->answer->fulfil(with);
    });
  };
  auto delay = latency();
  if (what != fate::arrives) {
    const auto patience = milliseconds(random_.between(5, 1'500));
    clock_.after(patience, [this, answer] { answer(loss("mark")); });
    if (what == fate::late) delay = patience + milliseconds(random_.between(1, faults_.late_max.count()));
  }
  if (what != fate::request_lost) {
    ++under_way_;
    const bool arrives_after_the_end = random_.chance(0.5);
    const auto arrive = [this, answer, what, arrives_after_the_end, epoch, markers] {
      if (process_.gone() && !arrives_after_the_end) {
        --under_way_;
        return;
      }
      destination_.mark(epoch.value, markers, [this, answer, what](append_outcome outcome) {
        --under_way_;
        if (what != fate::arrives) return;
        clock_.after(latency(), [answer, outcome] { answer(outcome_of(outcome.code, "mark")); });
      });
    };
    clock_.after(delay, [this, arrive] {
      if (connection_->held) process_.when_running(arrive);
      else arrive();
    });
  }
  if (what == fate::arrives) clock_.after(std::chrono::seconds(3), [answer] { answer(fail(errc::timed_out, "mark")); });
  co_await state->answer->wait();
  if (process_.gone()) co_return fail(errc::connection_lost, "mark");
  co_return std::move(state->answer->value());
}

asio::awaitable<result<void>> destination_client::question(std::string what) {
  co_await process_.sleep(latency());
  if (process_.gone()) co_return fail(errc::connection_lost, what);
  if (outlived_lease()) co_return fail(errc::fenced, what);
  if (random_.chance(faults_.lost_question)) {
    co_await process_.sleep(milliseconds(random_.between(1, 500)));
    co_return loss(what);
  }
  co_return result<void>{};
}

asio::awaitable<result<destination_epoch>> destination_client::lead() {
  term_ = lease_.term();
  if (auto asked = co_await question("lead"); !asked) co_return std::move(asked.error());
  destination_.on_interest(interest::leadership_asked);
  if (destination_.leaderless()) co_return broker_failure(code_of(kafka_error::leader_not_available), "lead");
  const bool is_stale = destination_.epoch() > 0 && random_.chance(faults_.stale_lead);
  const destination_epoch told{destination_.epoch() - (is_stale ? 1 : 0)};
  co_await process_.sleep(latency());
  co_return told;
}

asio::awaitable<result<std::int64_t>> destination_client::end_offset(destination_epoch epoch) {
  if (auto asked = co_await question("end offset"); !asked) co_return std::move(asked.error());
  if (epoch.value != destination_.epoch() || destination_.leaderless()) co_return fail(errc::fenced, "end offset");
  const auto end = destination_.log().end();
  destination_.on_interest(interest::log_end_asked);
  co_await process_.sleep(latency());
  trace_.add("{}: hears end offset {} epoch {}", name_, end, epoch.value);
  co_return end;
}

asio::awaitable<result<std::vector<mirror::destination_producer>>> destination_client::producers(destination_epoch epoch) {
  if (auto asked = co_await question("producers"); !asked) co_return std::move(asked.error());
  const bool is_leader = epoch.value == destination_.epoch() && !destination_.leaderless();
  const bool is_stale = !is_leader && epoch.value + 1 == destination_.epoch() && random_.chance(destination_.faults.stale_reads);
  if (!is_leader && !is_stale) co_return fail(errc::fenced, "producers");
  std::vector<mirror::destination_producer> all;
  for (const auto& [pid, entry] : (is_leader ? destination_.log().producers() : destination_.stale_producers()).entries())
    all.push_back({destination_pid{pid}, entry.epoch, entry.last_sequence(), entry.coordinator_epoch, entry.open_since});
  co_await process_.sleep(latency());
  co_return all;
}

asio::awaitable<result<mirror::destination_bounds>> destination_client::bounds(destination_epoch epoch) {
  if (auto asked = co_await question("bounds"); !asked) co_return std::move(asked.error());
  const bool is_leader = epoch.value == destination_.epoch() && !destination_.leaderless();
  const bool is_stale = !is_leader && epoch.value + 1 == destination_.epoch() && random_.chance(destination_.faults.stale_reads);
  if (!is_leader && !is_stale) co_return fail(errc::fenced, "bounds");
  const auto bounds = is_leader ? mirror::destination_bounds{destination_.log().start(), destination_.high_watermark()} : destination_.stale_bounds();
  co_await process_.sleep(latency());
  co_return bounds;
}

asio::awaitable<result<mirror::stored_batches>> destination_client::read(destination_epoch epoch, std::int64_t offset) {
  if (auto asked = co_await question("read"); !asked) co_return std::move(asked.error());
  if (epoch.value != destination_.epoch() || destination_.leaderless()) co_return fail(errc::fenced, "read");
  const auto& log = destination_.log();
  if (offset < log.start() || offset > log.end()) co_return broker_failure(code_of(kafka_error::offset_out_of_range), "read");
  auto bytes = std::make_shared<std::vector<std::byte>>();
  auto entry = log.entries().upper_bound(offset);
  if (entry != log.entries().begin() && std::prev(entry)->second.header.next_offset() > offset) --entry;
  if (entry != log.entries().end() && offset < destination_.high_watermark()) *bytes = entry->second.bytes;
  co_await process_.sleep(latency());
  mirror::stored_batches found;
  found.records = *bytes;
  found.owner = std::move(bytes);
  co_return found;
}

asio::awaitable<result<void>> destination_client::trim(destination_epoch epoch, std::int64_t offset) {
  if (auto asked = co_await question("trim"); !asked) co_return std::move(asked.error());
  const auto code = destination_.trim(epoch.value, offset);
  if (random_.chance(faults_.lost_answer)) {
    co_await process_.sleep(milliseconds(500));
    co_return loss("trim");
  }
  co_await process_.sleep(latency());
  co_return outcome_of(code, "trim");
}

}  // namespace mirrord::sim
