#include "mirror/take_over.hpp"

#include "base/check.hpp"
#include "core/last_record.hpp"
#include "core/sequence.hpp"
#include "mirror/lost_endings.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace mirrord::mirror {
namespace {

constexpr std::int64_t lost_producer_base = -2;  // no producer has a negative id; -1 stands for none
constexpr int source_end_checks = 5;             // a new leader's high watermark may lag for a moment
constexpr auto source_end_check_pause = std::chrono::seconds(1);
constexpr std::int16_t producer_epoch_max = 32'000;  // int16 on the wire; the rest is left for markers that fence

// The source's batch that holds `offset`, by its header; none when it has no such batch any more. An answer that says
// nothing (throttled, or a new leader that lags) is a passing error.
asio::awaitable<result<std::optional<wire::batch_header>>> find_transactional_batch(source_log& source, std::int64_t offset) {
  auto chunk = co_await source.fetch(offset);
  if (!chunk && (chunk.error().code != errc::broker || !is(chunk.error().broker_code, kafka_error::offset_out_of_range))) {
    co_return std::move(chunk.error());
  }
  std::optional<wire::stored_batch> first;
  if (chunk) {
    auto batch = wire::batch_cursor(chunk->records).next();
    if (!batch) co_return std::move(batch.error());
    first = *batch;
  }
  if (!first) {
    auto bounds = co_await source.bounds();
    if (!bounds) co_return std::move(bounds.error());
    if (bounds->start > offset) co_return std::optional<wire::batch_header>{};
    co_return broker_failure(code_of(kafka_error::offset_not_available),
                             fmt::format("the source does not hand out offset {} now", offset));
  }
  const wire::batch_header& header = first->header;
  if (header.is_legacy() || !header.is_transactional() || header.is_control() || header.base_offset > offset ||
      header.last_offset() < offset) {
    co_return std::optional<wire::batch_header>{};
  }
  co_return header;
}

// Somebody may have written between the end of an unclean owner and now: then the last record is neither ours nor the
// source's.
asio::awaitable<result<void>> check_last_record(take_over_ports ports, const proved_end& log) {
  if (log.end <= log.start || ports.journal.fill_plan()) co_return result<void>{};
  const std::int64_t offset = log.end - 1;
  auto last = co_await read_last_batch(ports.destination, ports.producers, log);
  if (!last) co_return std::move(last.error());
  if (last->is_own) co_return result<void>{};

  auto bounds = co_await ports.source.bounds();
  if (!bounds) co_return std::move(bounds.error());
  for (int check = 0; offset >= bounds->high_watermark; ++check) {
    if (check == source_end_checks) {
      co_return fail(errc::diverged, fmt::format("the destination's log ends at offset {}, the source's already at {}, and the last record is not of this mirror",
                                                 log.end, bounds->high_watermark));
    }
    co_await ports.clock.sleep(source_end_check_pause);
    bounds = co_await ports.source.bounds();
    if (!bounds) co_return std::move(bounds.error());
  }
  if (offset < bounds->start) co_return result<void>{};  // nothing to compare with
  auto original = co_await ports.source.fetch(offset);
  if (!original) co_return std::move(original.error());
  if (original->records.empty()) {
    co_return broker_failure(code_of(kafka_error::offset_not_available), fmt::format("the source does not hand out offset {} now", offset));
  }
  auto difference = core::compare_at(offset, original->records, last->read.records);
  if (!difference) co_return std::move(difference.error());
  if (difference->empty()) co_return result<void>{};
  co_return fail(errc::diverged, fmt::format("the destination's log ends with offset {}, which is not the source's ({}): somebody else wrote to it, or the "
                                             "source has lost records since; delete the destination topic, so that it is mirrored anew", offset, *difference));
}

// Whose transaction it is that is open on the destination in `slot` since `first_offset`; none where nothing tells.
asio::awaitable<result<std::optional<remembered_open_slot>>> find_source_transaction(take_over_ports ports, const previous_writer& previous,
                                                                                    slot_index slot, std::int64_t first_offset) {
  const auto is_it = [&](const remembered_open_slot& known) { return known.slot == slot && known.first_offset == first_offset; };
  const auto in_memory = std::find_if(previous.open.begin(), previous.open.end(), is_it);
  if (in_memory != previous.open.end()) co_return *in_memory;

  remembered_open_slot found{slot, {}, first_offset, -1, ports.clock.wall_ms()};
  auto batch = co_await find_transactional_batch(ports.source, first_offset);
  if (!batch) co_return std::move(batch.error());
  if (*batch) {
    found.producer = source_pid{(*batch)->producer_id};
    found.epoch = (*batch)->producer_epoch;
    if ((*batch)->record_count == 0) found.seen_ms = 0;
    co_return found;
  }
  // Compaction can remove the batch; our own record and the source's own list then tell.
  const std::vector<remembered_open_slot> recorded = ports.journal.open_slots();
  const auto in_record = std::find_if(recorded.begin(), recorded.end(), is_it);
  if (in_record != recorded.end()) co_return *in_record;
  auto producers = co_await ports.source.producers();
  if (!producers && producers.error().code != errc::unsupported) co_return std::move(producers.error());
  if (producers) {
    for (const source_producer& producer : *producers) {
      if (producer.open_since != first_offset) continue;
      found.producer = producer.pid;
      found.epoch = producer.epoch;
      co_return found;
    }
  }
  co_return std::optional<remembered_open_slot>{};
}

// Transactions that are open on the destination and of which nothing told whose they are: the first batches are gone.
asio::awaitable<result<void>> restore_unknown(take_over_ports ports, std::vector<remembered_open_slot> unknown, std::int64_t end,
                                              core::producer_slots& slots) {
  auto bounds = co_await ports.source.bounds();
  if (!bounds) co_return std::move(bounds.error());
  std::int64_t from = end;
  for (const remembered_open_slot& one : unknown) from = std::min(from, one.first_offset);
  auto candidates = co_await unended_producers(ports.source, std::max(from, bounds->start), end);
  if (!candidates) co_return std::move(candidates.error());
  std::erase_if(*candidates, [&](const source_producer& producer) { return slots.find(producer.pid).has_value(); });
  if (candidates->size() == 1 && unknown.size() == 1) {
    const core::open_transaction transaction{unknown[0].slot, unknown[0].first_offset, candidates->front().epoch, ports.clock.wall_ms()};
    MIRRORD_CHECK(slots.restore(candidates->front().pid, transaction), "slot {} is taken twice", transaction.slot);
    co_return result<void>{};
  }
  if (!candidates->empty()) {
    co_return fail(errc::outcome_unknown,
                   fmt::format("{} transactions are open on the destination, the first since offset {}, and the source no longer shows whose they are; "
                               "delete the destination topic, so that it is mirrored anew", unknown.size(), from));
  }
  for (const remembered_open_slot& one : unknown) {
    // The source has none of its data any more: nobody needs to know whose it was.
    const core::open_transaction transaction{one.slot, one.first_offset, -1, 0, end};
    MIRRORD_CHECK(slots.restore(source_pid{lost_producer_base - one.slot}, transaction), "slot {} is taken twice", one.slot);
  }
  co_return result<void>{};
}

}  // namespace

result<void> check_issued(const proved_end& log, const issued_writes& issued) {
  if (log.end <= issued.confirmed_end) return {};  // below it: the destination lost its tail, and the source still has it
  const auto foreign = [&] {
    return fail(errc::foreign_write, fmt::format("the destination's log ends at offset {}, which our writes from offset {} on do not explain: "
                                                 "somebody else wrote to it", log.end, issued.confirmed_end));
  };
  for (const issued_write& write : issued.since) {
    if (write.in_parts && write.base_offset < log.end && log.end <= write.next_offset) return {};
    if (write.next_offset != log.end) continue;
    const auto found = std::find_if(log.producers.begin(), log.producers.end(), [&](const auto& p) { return p.pid == write.pid; });
    if (found == log.producers.end()) return {};  // forgotten: producer state expires by the time of its records
    if (write.last_sequence && (found->epoch != write.epoch || found->last_sequence != *write.last_sequence)) continue;
    if (!write.last_sequence && found->open_since) continue;
    return {};
  }
  return foreign();
}

std::int16_t highest_sent_epoch(const previous_writer& previous, const producer_pool& pool) {
  if (!previous.issued) return pool.inherited_epoch();
  std::int16_t highest = -1;
  for (const issued_write& write : previous.issued->since) highest = std::max(highest, write.epoch);
  return highest;
}

asio::awaitable<result<proved_position>> take_over(take_over_ports ports, const previous_writer& previous, std::chrono::milliseconds settle_time) {
  auto reading = co_await prove_end(ports.destination, ports.clock, previous.unclean, settle_time);
  if (!reading) co_return std::move(reading.error());

  // Before open transactions are matched: what somebody else wrote beyond that end the source cannot explain.
  if (const auto left_at = ports.journal.hand_over(); left_at && reading->end > *left_at) {
    co_return fail(errc::foreign_write, fmt::format("the destination's log ends at offset {}, but this mirror left it at {}: somebody else wrote to it",
                                                    reading->end, *left_at));
  }
  if (previous.issued) {
    if (auto ours = check_issued(*reading, *previous.issued); !ours) co_return std::move(ours.error());
  }

  const bool is_cut = previous.issued && reading->end < previous.issued->confirmed_end;
  if (previous.unclean && (!previous.end_proved || is_cut)) {
    if (auto same = co_await check_last_record(ports, *reading); !same) co_return std::move(same.error());
  }

  proved_position position;
  position.epoch = reading->epoch;
  position.end = reading->end;
  position.start = reading->start;

  if (previous.unclean) {
    const std::int16_t newest = highest_own_epoch(ports.producers, reading->producers, highest_sent_epoch(previous, ports.producers));
    if (auto raised = co_await ports.producers.raise_above(newest); !raised) co_return std::move(raised.error());
  }
  position.marker_epoch = ports.producers.epoch();
  if (position.marker_epoch > producer_epoch_max) {
    co_return fail(errc::limit_exceeded, fmt::format("producer epoch {}: the mirror's producer ids are used up", position.marker_epoch));
  }

  std::vector<remembered_open_slot> unknown;
  for (const destination_producer& producer : reading->producers) {
    const auto index = ports.producers.index_of(producer.pid);
    if (producer.open_since && (!index || *index == core::writer_index)) {
      co_return fail(errc::foreign_write,
                     fmt::format("producer id {}, which is not of this mirror, has a transaction open on the destination since offset {}",
                                 producer.pid.value, *producer.open_since));
    }
    if (!index) continue;
    producer_position& known = position.producers[*index];
    known.epoch = producer.epoch;
    known.next_sequence = core::sequence_after(producer.last_sequence, 1);
    known.coordinator_epoch = std::max(0, producer.coordinator_epoch);
    if (!producer.open_since) continue;
    auto owner = co_await find_source_transaction(ports, previous, *index, *producer.open_since);
    if (!owner) co_return std::move(owner.error());
    if (!*owner) {
      unknown.push_back({*index, {}, *producer.open_since});
      continue;
    }
    const core::open_transaction transaction{*index, (*owner)->first_offset, (*owner)->epoch, (*owner)->seen_ms};
    if (!position.slots.restore((*owner)->producer, transaction)) {
      co_return fail(errc::diverged, fmt::format("source producer id {} would have two transactions open at once, the second since offset {}",
                                                 (*owner)->producer.value, (*owner)->first_offset));
    }
  }
  if (!unknown.empty()) {
    if (auto restored = co_await restore_unknown(ports, std::move(unknown), position.end, position.slots); !restored) {
      co_return std::move(restored.error());
    }
  }
  co_return position;
}

}  // namespace mirrord::mirror
