#include "mirror/partition_stop.hpp"

#include "base/log.hpp"
#include "mirror/prove_end.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace mirrord::mirror {
namespace {

// The producers of this mirror's pool with a transaction open.
std::vector<destination_producer> open_own_producers(const producer_pool& pool, const std::vector<destination_producer>& all) {
  std::vector<destination_producer> open;
  for (const destination_producer& producer : all) {
    if (producer.open_since && pool.index_of(producer.pid)) open.push_back(producer);
  }
  return open;
}

end_marker abort_of(const destination_producer& producer, std::int16_t epoch) {
  return {producer.pid, epoch, false, std::max(0, producer.coordinator_epoch)};
}

// Where the mirrored log ends: what others wrote behind it is not the source's. Too low does no harm: a failback then says
// that it cannot vouch for the rest.
asio::awaitable<result<std::int64_t>> find_own_end(stop_ports ports, const proved_end& log, std::optional<issued_writes> issued) {
  if (const auto left_at = ports.journal.hand_over()) co_return std::min(*left_at, log.end);
  if (issued) co_return check_issued(log, *issued) ? log.end : std::min(issued->confirmed_end, log.end);
  if (log.end <= log.start) co_return log.end;
  auto last = co_await read_last_batch(ports.destination, ports.producers, log);
  if (!last) co_return std::move(last.error());
  co_return last->is_own ? log.end : std::int64_t{0};
}

asio::awaitable<result<stop_plan>> make_plan(stop_ports ports, const proved_end& log, const stop_circumstances& circumstances) {
  stop_plan plan;
  plan.mirrored_end = log.end;
  for (const destination_producer& producer : log.producers) {
    if (!producer.open_since) continue;
    if (ports.producers.index_of(producer.pid)) {
      plan.open.push_back(producer.pid);
    } else {
      // Its own coordinator must end it: after a marker of ours it would still append one of its own.
      log::warn("foreign_transaction_open", {{"partition", circumstances.partition}, {"producer_id", producer.pid.value},
                                             {"first_offset", *producer.open_since}, {"action", "end it at its producer"}});
    }
  }
  auto own = co_await find_own_end(ports, log, circumstances.issued);
  if (!own) co_return std::move(own.error());
  const std::int64_t own_end = *own;
  if (own_end < log.end) {
    log::warn("foreign_records_kept", {{"partition", circumstances.partition}, {"mirrored_end", own_end}, {"log_end", log.end}});
  }
  if (auto recorded = co_await ports.journal.record_last_mirrored(circumstances.last_source_epoch, own_end); !recorded) {
    co_return std::move(recorded.error());
  }
  const std::int16_t seen = highest_own_epoch(ports.producers, log.producers, circumstances.highest_sent_epoch);
  if (auto raised = co_await ports.producers.raise_above(seen); !raised) co_return std::move(raised.error());
  plan.reset_epoch = ports.producers.epoch();
  if (auto recorded = co_await ports.journal.record_stop_plan(plan); !recorded) co_return std::move(recorded.error());
  co_return plan;
}

}  // namespace

asio::awaitable<result<stopped_log>> stop_partition(stop_ports ports, stop_circumstances circumstances) {
  const std::optional<stop_plan> begun = ports.journal.stop_plan();
  // All is written, and only the state was not recorded.
  if (begun && begun->end_offset >= 0) co_return stopped_log{begun->mirrored_end, static_cast<std::int64_t>(begun->open.size()), begun->end_offset};
  const bool goes_on = begun.has_value();
  auto log = co_await prove_end(ports.destination, ports.clock, circumstances.unclean || goes_on, circumstances.settle_time);
  if (!log) co_return std::move(log.error());

  if (const auto filled = ports.journal.fill_plan()) {  // readers could see it
    if (auto trimmed = co_await ports.destination.trim(log->epoch, std::min(*filled, log->end)); !trimmed) co_return std::move(trimmed.error());
    if (auto cleared = co_await ports.journal.clear_fill_plan(); !cleared) co_return std::move(cleared.error());
  }

  stop_plan plan;
  if (goes_on) {
    plan = *begun;
    // A marker of an earlier try that is still on its way comes under a lower epoch from here on.
    const std::int16_t sent = std::max(plan.reset_epoch, circumstances.highest_sent_epoch);
    const std::int16_t seen = highest_own_epoch(ports.producers, log->producers, sent);
    if (auto raised = co_await ports.producers.raise_above(seen); !raised) co_return std::move(raised.error());
  } else {
    auto made = co_await make_plan(ports, *log, circumstances);
    if (!made) co_return std::move(made.error());
    plan = std::move(*made);
  }
  if (ports.journal.hand_over()) {  // used up before anything is written
    if (auto cleared = co_await ports.journal.clear_hand_over(); !cleared) co_return std::move(cleared.error());
  }

  const std::int16_t epoch = ports.producers.epoch();
  std::vector<end_marker> aborts;
  for (const destination_producer& open : open_own_producers(ports.producers, log->producers)) aborts.push_back(abort_of(open, epoch));
  if (!aborts.empty()) {
    if (auto marked = co_await ports.destination.mark(log->epoch, std::move(aborts)); !marked) co_return std::move(marked.error());
  }

  auto writer_pid = co_await ports.producers.at(core::writer_index);
  if (!writer_pid) co_return std::move(writer_pid.error());
  destination_producer writer{*writer_pid, -1, -1, -1, std::nullopt};
  for (const destination_producer& producer : log->producers) {
    if (producer.pid == *writer_pid) writer = producer;
  }
  if (!goes_on || writer.epoch < plan.reset_epoch) {
    std::vector<end_marker> reset{abort_of(writer, epoch)};
    if (auto marked = co_await ports.destination.mark(log->epoch, std::move(reset)); !marked) co_return std::move(marked.error());
  }

  auto written = co_await prove_end(ports.destination, ports.clock, false, circumstances.settle_time);
  if (!written) co_return std::move(written.error());
  const auto aborted = static_cast<std::int64_t>(plan.open.size());
  if (const std::int64_t expected = plan.mirrored_end + aborted + 1; written->end != expected) {
    // Nothing is out of place by it: all that was mirrored lies before.
    log::warn("stop_end_unexpected", {{"partition", circumstances.partition}, {"expected_end", expected}, {"log_end", written->end}});
  }
  plan.end_offset = written->end;
  if (auto recorded = co_await ports.journal.record_stop_plan(plan); !recorded) co_return std::move(recorded.error());
  co_return stopped_log{plan.mirrored_end, aborted, plan.end_offset};
}

asio::awaitable<result<std::int64_t>> abort_late_transactions(stop_ports ports) {
  auto epoch = co_await ports.destination.lead();
  if (!epoch) co_return std::move(epoch.error());
  auto producers = co_await ports.destination.producers(*epoch);
  if (!producers) co_return std::move(producers.error());
  const std::vector<destination_producer> open = open_own_producers(ports.producers, *producers);
  if (open.empty()) co_return std::int64_t{0};
  if (auto raised = co_await ports.producers.raise_above(highest_own_epoch(ports.producers, open, -1)); !raised) co_return std::move(raised.error());
  std::vector<end_marker> aborts;
  for (const destination_producer& producer : open) aborts.push_back(abort_of(producer, ports.producers.epoch()));
  if (auto marked = co_await ports.destination.mark(*epoch, std::move(aborts)); !marked) co_return std::move(marked.error());
  co_return static_cast<std::int64_t>(open.size());
}

}  // namespace mirrord::mirror
