#include "mirror/partition_round.hpp"

#include "base/log.hpp"
#include "mirror/lost_endings.hpp"

#include <boost/asio/co_spawn.hpp>
#include <fmt/format.h>

#include <algorithm>

namespace mirrord::mirror {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t chunks_ahead = 2;          // one being written, so the next is there when it is done
constexpr std::size_t issued_writes_max = 100;   // remembered over rounds that all fail
constexpr int source_end_checks = 5;             // a new leader's high watermark may lag for a moment
constexpr auto source_end_check_pause = 1s;
constexpr auto long_transaction_age = 5s;        // a transaction that is open for longer is recorded

remembered_open_slot remembered(source_pid producer, const core::open_transaction& transaction) {
  return {transaction.slot, producer, transaction.first_offset, transaction.epoch, transaction.seen_ms};
}

bool is_broker_error(const error& e, kafka_error code) { return e.code == errc::broker && is(e.broker_code, code); }

}  // namespace

partition_round::partition_round(asio::any_io_executor executor, const topic_partition& id, partition_ports ports,
                                 partition_options& options, partition_view& view, const bool& stop_asked)
    : executor_(executor), id_(id), ports_(ports), options_(options), view_(view), stop_asked_(stop_asked),
      term_(ports.lease.term()), recorded_(ports.journal.standing()), queue_(executor, chunks_ahead) {}

asio::awaitable<result<void>> partition_round::run(previous_writer& previous) {
  const take_over_ports taking{ports_.source, ports_.destination, ports_.producers, ports_.journal, ports_.clock};
  auto position = co_await take_over(taking, previous, options_.settle_time);
  if (!position) co_return std::move(position.error()).within(fmt::format("take over {}", id_.text()));
  previous.end_proved = true;
  if (ports_.journal.hand_over()) {  // used up before anything is written
    if (auto cleared = co_await ports_.journal.clear_hand_over(); !cleared) co_return cleared;
  }

  epoch_ = position->epoch;
  view_.destination_start = position->start;
  view_.destination_end = position->end;
  writer_.emplace(id_, ports_.destination, ports_.producers, ports_.clock, *position, [this] { show_progress(); }, stop_asked_);
  planner_.emplace(position->end, std::move(position->slots), core::plan_limits{options_.hole_fill_max, options_.batch_bytes_max});

  late_until_ = previous.late_until;
  possibly_open_ = open_slots();
  auto ended = co_await align();
  if (ended && !stop_asked_) ended = co_await mirror();
  if (!ended) co_await writer_->drain();
  show_progress();
  if (ended) co_return co_await hand_over();
  issued_writes issued = writer_->issued();
  if (previous.issued) {
    // What an earlier round sent beyond the confirmed end may still come, late.
    for (const issued_write& write : previous.issued->since) {
      if (write.base_offset >= issued.confirmed_end && issued.since.size() < issued_writes_max) issued.since.push_back(write);
    }
  }
  previous.unclean = writer_->ended_unclean(previous.unclean);
  if (previous.unclean) previous.late_until = ports_.clock.now() + options_.late_request_time;
  previous.issued = std::move(issued);
  previous.open = std::move(possibly_open_);
  co_return ended;
}

asio::awaitable<result<void>> partition_round::align() {
  auto bounds = co_await ports_.source.bounds();
  if (!bounds) co_return std::move(bounds.error());
  for (int check = 1; bounds->high_watermark < writer_->end(); ++check) {
    if (check > source_end_checks) {
      co_return fail(errc::diverged, fmt::format("{}: the destination's log ends at offset {}, the source's already at {}", id_.text(),
                                                 writer_->end(), bounds->high_watermark));
    }
    co_await ports_.clock.sleep(source_end_check_pause);
    bounds = co_await ports_.source.bounds();
    if (!bounds) co_return std::move(bounds.error());
  }
  view_.source_start = bounds->start;
  view_.source_end = bounds->high_watermark;
  due_before_ = bounds->high_watermark;

  if (const auto planned = ports_.journal.fill_plan()) {
    // Readers may have come since: what is left of the gap is filled with markers, which they never see.
    if (auto trimmed = co_await trim(std::min(*planned, writer_->end())); !trimmed) co_return trimmed;
    if (auto cleared = co_await ports_.journal.clear_fill_plan(); !cleared) co_return cleared;
  } else if (options_.fresh && options_.trims && writer_->end() == 0 && bounds->start > 0) {
    if (bounds->start > options_.hole_fill_max) {
      co_return fail(errc::limit_exceeded,
                     fmt::format("{}: the source's log starts at offset {}; hole.fill.max is {}", id_.text(), bounds->start, options_.hole_fill_max));
    }
    if (auto filled = co_await fill_in_bulk(bounds->start); !filled) co_return filled;
  }
  core::producer_slots slots = planner_->slots();
  planner_.emplace(writer_->end(), std::move(slots), core::plan_limits{options_.hole_fill_max, options_.batch_bytes_max});
  co_return result<void>{};
}

// Readers could see bulk filler, so the plan is recorded first, and whatever is there is trimmed before anything else,
// also at a stop.
asio::awaitable<result<void>> partition_round::fill_in_bulk(std::int64_t offset) {
  if (auto recorded = co_await ports_.journal.record_fill_plan(offset); !recorded) co_return recorded;
  log::info("leading_gap_fill", {{"partition", id_.text()}, {"from", writer_->end()}, {"to", offset}});
  if (auto filled = co_await writer_->bulk_fill(offset); !filled) co_return filled;
  if (auto trimmed = co_await trim(writer_->end()); !trimmed) co_return trimmed;
  co_return co_await ports_.journal.clear_fill_plan();
}

asio::awaitable<result<void>> partition_round::mirror() {
  if (auto recorded = co_await record_mirroring(view_.retry_attempt); !recorded) co_return recorded;
  view_.state = core::partition_state::mirroring;
  last_audit_ = ports_.clock.now();

  one_shot<result<void>> reader_ended(executor_);
  asio::co_spawn(executor_, read_ahead(writer_->end()), [&reader_ended](std::exception_ptr failure, result<void> ended) {
    if (failure) std::rethrow_exception(failure);  // nothing in here throws: out of memory, or a bug
    reader_ended.fulfil(std::move(ended));
  });

  result<void> ended;
  while (ended && !stop_asked_) {
    if (queue_.empty()) {
      ended = co_await writer_->confirm();
      if (ended) ended = check_due_aborts();
      if (!ended) break;
    }
    auto next = co_await queue_.pop();
    if (!next) break;
    ended = co_await write_chunk(std::move(*next));
    show_progress();  // an empty chunk can be what tells that we have caught up
    if (ended) ended = co_await audit_if_due();
    if (ended && made_progress_) ended = co_await record_mirroring(0);
    if (ended) co_await record_long_transactions();
  }
  reader_may_go_on_ = false;
  queue_.close();
  queue_.discard();  // what waits there counts against the fetch budget, and the reader may be waiting for room in it
  co_await reader_ended.wait();
  if (ended) ended = co_await writer_->confirm();
  if (ended && !stop_asked_) ended = reader_ended.value();
  co_return ended;
}

asio::awaitable<result<void>> partition_round::write_chunk(fetched next) {
  view_.source_start = next.chunk.bounds.start;
  view_.source_end = next.chunk.bounds.high_watermark;
  std::vector<core::planned_write> plan;
  result<void> planned;
  // Without batches the reader found that the source's log now starts beyond our position.
  possibly_open_ = open_slots();
  planner_->begin_chunk(next.asked_ms, next.chunk.bounds.start);
  if (next.batches.empty() && next.chunk.bounds.start > planner_->position()) {
    due_before_ = std::max(due_before_, next.chunk.bounds.high_watermark);
    planned = co_await note_overrun(next.chunk.bounds.start);
    if (planned) planned = planner_->fill_to(next.chunk.bounds.start, plan);
  }
  for (std::size_t i = 0; planned && i < next.batches.size(); ++i) {
    if (next.batches[i].header.base_offset > planner_->position()) {
      due_before_ = std::max(due_before_, next.chunk.bounds.high_watermark);
      planned = co_await look_into_hole(next.chunk.bounds.start, next.arrived_ms);
      if (!planned) break;
    }
    const wire::batch_header& header = next.batches[i].header;
    planned = planner_->add(next.batches[i], plan);
    view_.last_source_epoch = std::max(view_.last_source_epoch, header.partition_leader_epoch);
    if (!header.is_transactional() || header.is_control()) continue;
    const auto& open = planner_->slots().open_transactions();
    const auto found = open.find(source_pid{header.producer_id});
    if (found != open.end()) possibly_open_.push_back(remembered(found->first, found->second));
  }
  // What was planned before an error is right, and brings the log up to the offset that the error names.
  if (auto written = co_await writer_->write(std::move(plan), next.chunk.owner); !written) co_return written;
  if (!planned) {
    if (auto confirmed = co_await writer_->confirm(); !confirmed) co_return confirmed;
    co_return std::move(planned.error()).within(id_.text());
  }
  if (auto checked = check_due_aborts(); !checked) {
    if (auto confirmed = co_await writer_->confirm(); !confirmed) co_return confirmed;
    co_return checked;
  }
  co_return co_await follow_log_start(next.chunk.bounds.start);
}

// The source's log start has passed our position, and with it the ends of some transactions that are open here.
asio::awaitable<result<void>> partition_round::note_overrun(std::int64_t source_start) {
  auto open = planner_->slots().open_transactions();
  if (open.empty()) co_return result<void>{};
  auto ended = co_await ended_on_source(ports_.source, std::move(open));
  if (!ended) co_return std::move(ended.error());
  for (const source_pid producer : *ended) {
    log::warn("transaction_overrun", {{"partition", id_.text()}, {"source_producer_id", producer.value},
                                      {"first_offset", planner_->slots().open_transactions().at(producer).first_offset},
                                      {"source_start", source_start}, {"action", "aborted here: the source's log start has passed it"}});
    planner_->note_gone(producer);
  }
  co_return result<void>{};
}

// A lost transaction ended before we learned of it, so that an offset for its ABORT must come below what was the source's end
// then. Otherwise data of it goes on here under another slot: how much of it belongs together nobody can say.
result<void> partition_round::check_due_aborts() const {
  const auto* due = planner_->slots().find_due();
  if (!due || planner_->position() < due_before_) return {};
  return fail(errc::outcome_unknown,
              fmt::format("{}: a transaction is open on the destination since offset {} of which the source has lost data and cannot tell the end; "
                          "delete the destination topic, so that it is mirrored anew", id_.text(), due->second.first_offset));
}

// A hole between batches can have held the end of a transaction that is open here, once the source need not keep it.
asio::awaitable<result<void>> partition_round::look_into_hole(std::int64_t source_start, std::int64_t arrived_ms) {
  const auto open = planner_->slots().open_transactions();
  for (const auto& [producer, transaction] : open) {
    if (transaction.abort_due_from || transaction.seen_ms + options_.marker_retention.count() > arrived_ms) continue;
    const std::int64_t asked_ms = ports_.clock.wall_ms();
    auto holds = co_await holds_data_of(ports_.source, producer, std::max(transaction.first_offset, source_start), planner_->position(), stop_asked_);
    if (!holds) co_return std::move(holds.error());
    if (*holds) {
      planner_->note_data_seen(producer, asked_ms);
      continue;
    }
    log::warn("transaction_end_compacted", {{"partition", id_.text()}, {"source_producer_id", producer.value},
                                            {"first_offset", transaction.first_offset}, {"before_offset", planner_->position()},
                                            {"action", "aborted here: the source has none of its records any more"}});
    planner_->note_gone(producer);
  }
  co_return result<void>{};
}

// Compaction can remove the first batch of an open transaction, by which a restart would recognise it.
asio::awaitable<void> partition_round::record_long_transactions() {
  if (ports_.clock.now() - last_look_ < long_transaction_age) co_return;
  last_look_ = ports_.clock.now();
  std::vector<remembered_open_slot> open = open_slots();
  const auto is_same = [](const remembered_open_slot& a) {
    return [&a](const remembered_open_slot& b) { return a.slot == b.slot && a.first_offset == b.first_offset; };
  };
  const auto is_in = [&](const remembered_open_slot& one, const std::vector<remembered_open_slot>& all) {
    return std::any_of(all.begin(), all.end(), is_same(one));
  };
  const std::vector<remembered_open_slot> recorded = ports_.journal.open_slots();
  const bool news = std::any_of(open.begin(), open.end(), [&](const auto& one) { return is_in(one, open_at_last_look_) && !is_in(one, recorded); });
  open_at_last_look_ = open;
  if (!news) co_return;
  auto written = co_await ports_.journal.record_open_slots(std::move(open));
  if (!written) log::warn("open_transactions_not_recorded", {{"partition", id_.text()}, {"error", core::explain(written.error(), options_.advice)}});
}

asio::awaitable<result<void>> partition_round::follow_log_start(std::int64_t source_start) {
  const std::int64_t target = std::min(source_start, writer_->confirmed_end());
  if (target <= view_.destination_start || !options_.trims) co_return result<void>{};
  auto trimmed = co_await trim(target);
  if (!trimmed && is_broker_error(trimmed.error(), kafka_error::policy_violation)) {
    // A compact-only topic takes no DeleteRecords, and on the source nothing but compaction removes from it.
    options_.trims = false;
    log::warn("log_start_not_followed", {{"partition", id_.text()}, {"source_start", source_start},
                                         {"destination_start", view_.destination_start}, {"reason", "cleanup.policy without delete"}});
    co_return result<void>{};
  }
  co_return trimmed;
}

asio::awaitable<result<void>> partition_round::trim(std::int64_t offset) {
  if (offset <= view_.destination_start) co_return result<void>{};
  auto trimmed = co_await ports_.destination.trim(epoch_, offset);
  if (trimmed) view_.destination_start = offset;
  co_return trimmed;
}

asio::awaitable<result<void>> partition_round::audit_if_due() {
  if (!queue_.empty() || ports_.clock.now() - last_audit_ < options_.audit_interval) co_return result<void>{};
  if (auto confirmed = co_await writer_->confirm(); !confirmed) co_return confirmed;
  if (auto audited = co_await writer_->audit(); !audited) co_return audited;
  last_audit_ = ports_.clock.now();
  view_.retry_attempt = 0;
  made_progress_ = true;
  co_return result<void>{};
}

std::vector<remembered_open_slot> partition_round::open_slots() const {
  std::vector<remembered_open_slot> open;
  for (const auto& [producer, transaction] : planner_->slots().open_transactions()) {
    if (producer.value < 0) continue;  // nobody knows whose it is, which the next owner finds out by itself
    open.push_back(remembered(producer, transaction));
  }
  return open;
}

// Only what is new.
asio::awaitable<result<void>> partition_round::record_mirroring(std::int32_t retry_attempt) {
  partition_standing standing;
  standing.state = core::partition_state::mirroring;
  standing.retry_attempt = retry_attempt;
  if (standing == recorded_) co_return result<void>{};
  if (ports_.lease.term() != term_) co_return fail(errc::fenced, fmt::format("{}: this process was stopped for a while", id_.text()));
  recorded_ = standing;
  co_return co_await ports_.journal.record_standing(std::move(standing));
}

asio::awaitable<result<void>> partition_round::hand_over() {
  if (ports_.lease.term() != term_) co_return fail(errc::fenced, fmt::format("{}: this process was stopped for a while", id_.text()));
  // A stop in the middle of a chunk leaves the planner ahead of the log.
  auto open = writer_->end() == planner_->position() ? open_slots() : possibly_open_;
  if (auto recorded = co_await ports_.journal.record_open_slots(std::move(open)); !recorded) co_return recorded;
  // What an earlier round sent may still arrive: the next owner must not take the log's end for a settled one.
  if (ports_.clock.now() < late_until_) co_return result<void>{};
  co_return co_await ports_.journal.record_hand_over(writer_->end());
}

asio::awaitable<result<void>> partition_round::read_ahead(std::int64_t from) {
  std::int64_t position = from;
  result<void> ended;
  while (reader_may_go_on_) {
    fetched next;
    next.asked_ms = ports_.clock.wall_ms();
    auto chunk = co_await ports_.source.fetch(position);
    if (!reader_may_go_on_) break;
    next.arrived_ms = ports_.clock.wall_ms();
    if (chunk) {
      next.chunk = std::move(*chunk);
      wire::batch_cursor cursor(next.chunk.records);
      while (true) {
        auto batch = cursor.next();
        if (!batch) {
          ended = std::move(batch.error()).within(fmt::format("fetch {} at offset {}", id_.text(), position));
          break;
        }
        if (!*batch) break;
        next.batches.push_back(**batch);
      }
      if (!ended) break;
      if (!next.batches.empty()) position = std::max(position, next.batches.back().header.next_offset());
    } else if (is_broker_error(chunk.error(), kafka_error::offset_out_of_range)) {
      auto resumed = co_await resume_out_of_range(position);
      if (!resumed) {
        ended = std::move(resumed.error());
        break;
      }
      position = *resumed;
      next.chunk.bounds = {position, std::max(position, view_.source_end)};
    } else {
      ended = std::move(chunk.error());
      break;
    }
    const bool taken = co_await queue_.push(std::move(next));
    if (!taken) break;
  }
  queue_.close();
  co_return ended;
}

// Where to go on when the source no longer has our position: at its log start, loudly; never anywhere else.
asio::awaitable<result<std::int64_t>> partition_round::resume_out_of_range(std::int64_t offset) {
  for (int check = 0; check < source_end_checks && reader_may_go_on_; ++check) {
    auto bounds = co_await ports_.source.bounds();
    if (!bounds) co_return std::move(bounds.error());
    if (bounds->start > offset) {
      log::warn("source_log_overrun", {{"partition", id_.text()}, {"position", offset}, {"source_start", bounds->start},
                                       {"offsets_lost", bounds->start - offset}});
      co_return bounds->start;
    }
    // Another replica may have answered before; a source that goes on like this is asked once a second.
    co_await ports_.clock.sleep(source_end_check_pause);
    if (bounds->high_watermark >= offset) co_return offset;
  }
  co_return fail(errc::diverged, fmt::format("{}: the source's log ends before offset {}, which is mirrored already", id_.text(), offset));
}

void partition_round::show_progress() {
  const write_counters& now = writer_->counters();
  view_.records += now.records - shown_.records;
  view_.bytes += now.bytes - shown_.bytes;
  view_.batches_forwarded += now.batches_forwarded - shown_.batches_forwarded;
  view_.batches_reencoded += now.batches_reencoded - shown_.batches_reencoded;
  view_.filler += now.filler - shown_.filler;
  shown_ = now;
  if (writer_->confirmed_end() > view_.destination_end) {
    view_.destination_end = writer_->confirmed_end();
    view_.retry_attempt = 0;
    view_.last_error.reset();
    made_progress_ = true;
  }
  if (view_.state == core::partition_state::mirroring && view_.destination_end >= view_.source_end) view_.caught_up_once = true;
}

}  // namespace mirrord::mirror
