#include "mirror/log_writer.hpp"

#include "core/sequence.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace mirrord::mirror {
namespace {

// A broker recognises a repeated batch among the last five of a producer; more under way would not be guarded.
constexpr std::size_t appends_under_way_max = 5;

// Producer state expires by the time of its records (producer.id.expiration.ms, one day by default). A producer whose
// newest record is older than this may be forgotten at any moment, and an unknown producer's sequences are not checked:
// then only one append may be under way.
constexpr std::chrono::hours guarded_age{12};

constexpr std::int64_t filler_per_request = 500;       // a request of about 20 KB; the broker appends them one by one
constexpr std::int32_t bulk_filler_per_batch = 50'000;

}  // namespace

log_writer::log_writer(topic_partition id, destination_log& destination, producer_pool& pool, clock_port& clock, const proved_position& from,
                       std::function<void()> on_confirmed, const bool& stop_asked)
    : id_(std::move(id)), destination_(destination), pool_(pool), clock_(clock), on_confirmed_(std::move(on_confirmed)), stop_asked_(stop_asked), epoch_(from.epoch),
      marker_epoch_(from.marker_epoch), end_(from.end), confirmed_(from.end) {
  for (const auto& [index, position] : from.producers) producers_.emplace(index, producer{position, std::nullopt});
}

error log_writer::misplaced(std::int64_t found, std::int64_t expected) const {
  if (found > expected) {
    return fail(errc::foreign_write, fmt::format("{}: the destination's log is at offset {} where {} was expected: somebody else wrote to it",
                                                 id_.text(), found, expected));
  }
  return fail(errc::fenced, fmt::format("{}: the destination's log is at offset {} where {} was expected", id_.text(), found, expected));
}

void log_writer::sent(issued_write write) {
  end_ = write.next_offset;
  wrote_ = true;
  issued_.push_back(write);
}

void log_writer::confirmed_up_to(std::int64_t offset) {
  confirmed_ = offset;
  std::erase_if(issued_, [&](const issued_write& write) { return write.next_offset <= offset; });
  on_confirmed_();
}

log_writer::producer& log_writer::producer_at(slot_index index) {
  return producers_.try_emplace(index, producer{{0, 0, 0}, std::nullopt}).first->second;
}

log_writer::producer& log_writer::marking_producer_at(slot_index index) {
  producer& by = producer_at(index);
  if (by.position.epoch < marker_epoch_) by = {{marker_epoch_, 0, by.position.coordinator_epoch}, std::nullopt};
  return by;
}

result<void> log_writer::take_answer(under_way& oldest) {
  auto& answer = oldest.answer->value();
  if (!answer) return std::move(answer.error());
  if (answer->base_offset != oldest.base_offset) return misplaced(answer->base_offset, oldest.base_offset);
  if (oldest.confirmation != acks::all) return {};
  if (oldest.guards) oldest.by->guarded_since = clock_.now();
  confirmed_up_to(oldest.next_offset);
  return {};
}

asio::awaitable<result<void>> log_writer::await_room(std::size_t allowed) {
  while (!under_way_.empty() && (under_way_.size() > allowed || under_way_.front().answer->ready())) {
    co_await under_way_.front().answer->wait();
    under_way oldest = std::move(under_way_.front());
    under_way_.pop_front();
    if (auto taken = take_answer(oldest); !taken) co_return std::move(taken.error());
  }
  co_return result<void>{};
}

asio::awaitable<result<void>> log_writer::confirm() {
  auto answered = co_await await_room(0);
  if (!answered) co_return answered;
  MIRRORD_CHECK(confirmed_ == end_, "{}: all is answered, but only {} of {} is confirmed", id_.text(), confirmed_, end_);
  co_return result<void>{};
}

asio::awaitable<void> log_writer::drain() {
  while (!under_way_.empty()) {
    co_await under_way_.front().answer->wait();
    under_way_.pop_front();
  }
}

asio::awaitable<result<void>> log_writer::audit() {
  MIRRORD_CHECK(under_way_.empty() && confirmed_ == end_, "{}: audit with writes under way", id_.text());
  auto found = co_await destination_.end_offset(epoch_);
  if (!found) co_return std::move(found.error());
  if (*found != end_) co_return misplaced(*found, end_);
  co_return result<void>{};
}

asio::awaitable<result<void>> log_writer::write(std::vector<core::planned_write> plan, std::shared_ptr<const void> owner) {
  bool within_run = false;  // the last append was not the last of its run, so nothing confirms it yet
  for (std::size_t i = 0; i < plan.size(); ++i) {
    if (stop_asked_ && !within_run) break;
    MIRRORD_CHECK(core::base_offset(plan[i]) == end_, "{}: planned offset {}, log end {}", id_.text(), core::base_offset(plan[i]), end_);
    result<void> written;
    if (const auto* data = std::get_if<core::data_write>(&plan[i])) {
      const auto* next = i + 1 < plan.size() ? std::get_if<core::data_write>(&plan[i + 1]) : nullptr;
      within_run = next && next->producer == data->producer;
      written = co_await append(*data, owner, within_run ? acks::leader : acks::all);
      counters_.records += static_cast<std::uint64_t>(data->batch.header.record_count);
      counters_.bytes += data->batch.bytes.size();
      ++(data->owner ? counters_.batches_reencoded : counters_.batches_forwarded);
    } else if (const auto* marker = std::get_if<core::marker_write>(&plan[i])) {
      written = co_await append_marker(*marker);
    } else {
      written = co_await append_filler(std::get<core::filler_write>(plan[i]).count);
    }
    if (!written) co_return written;
  }
  co_return result<void>{};
}

asio::awaitable<result<void>> log_writer::append(const core::data_write& write, std::shared_ptr<const void> owner, acks confirmation) {
  if (run_ != write.producer) {
    if (auto ended = co_await confirm(); !ended) co_return ended;
    run_ = write.producer;
  }
  producer& by = producer_at(write.producer);
  const wire::batch_header& header = write.batch.header;
  // A producer with an open transaction is never forgotten; any other is, by the time of its newest record.
  const bool forgettable = !header.is_transactional() &&
                           header.max_timestamp < clock_.wall_ms() - std::chrono::milliseconds(guarded_age).count();
  const bool guarded = by.guarded_since && clock_.now() - *by.guarded_since < guarded_age && !forgettable;
  if (auto room = co_await await_room(guarded ? appends_under_way_max - 1 : 0); !room) co_return room;

  auto pid = co_await pool_.at(write.producer);
  if (!pid) co_return std::move(pid.error());

  batch_append request;
  request.batch = write.batch;
  request.owner = write.owner ? write.owner : std::move(owner);
  request.pid = *pid;
  request.epoch = by.position.epoch;
  request.sequence = by.position.next_sequence;
  // What a new leader may lack must be followed by nothing that it could not tell from what it lacks: if leadership came
  // back to this broker without the tail, and without the producer, the next append would land at the lost one's offset.
  if (!guarded) confirmation = acks::all;
  if (forgettable) by.guarded_since.reset();
  request.confirmation = confirmation;
  by.position.next_sequence = core::sequence_after(request.sequence, header.record_count);

  auto answer = destination_.append(epoch_, std::move(request));
  const std::int64_t next = end_ + header.record_count;
  under_way_.push_back({end_, next, confirmation, &by, !forgettable, std::move(answer)});
  const std::int32_t last_sequence = core::sequence_after(by.position.next_sequence, -1);
  sent({end_, next, *pid, by.position.epoch, last_sequence, false});
  co_return result<void>{};
}

asio::awaitable<result<void>> log_writer::append_marker(const core::marker_write& write) {
  if (auto ended = co_await confirm(); !ended) co_return ended;
  run_.reset();
  auto pid = co_await pool_.at(write.slot);
  if (!pid) co_return std::move(pid.error());
  producer& by = marking_producer_at(write.slot);
  std::vector<end_marker> markers{{*pid, by.position.epoch, write.commit, by.position.coordinator_epoch}};
  by.guarded_since.reset();  // with its transaction over it can be forgotten again
  sent({end_, end_ + 1, *pid, by.position.epoch, std::nullopt, false});
  auto marked = co_await destination_.mark(epoch_, std::move(markers));
  if (!marked) co_return std::move(marked.error());
  confirmed_up_to(end_);
  co_return result<void>{};
}

asio::awaitable<result<void>> log_writer::append_filler(std::int64_t count) {
  if (auto ended = co_await confirm(); !ended) co_return ended;
  run_.reset();
  auto pid = co_await pool_.at(core::writer_index);
  if (!pid) co_return std::move(pid.error());
  const producer& by = marking_producer_at(core::writer_index);
  while (count > 0 && !stop_asked_) {
    const std::int64_t now = std::min(count, filler_per_request);
    const end_marker filler{*pid, by.position.epoch, false, by.position.coordinator_epoch};
    std::vector<end_marker> markers(static_cast<std::size_t>(now), filler);
    sent({end_, end_ + now, *pid, by.position.epoch, std::nullopt, now > 1});
    auto marked = co_await destination_.mark(epoch_, std::move(markers));
    if (!marked) co_return std::move(marked.error());
    // The answer for several markers of one producer merges their errors: only the log's end tells how many landed.
    if (now > 1) {
      auto found = co_await destination_.end_offset(epoch_);
      if (!found) co_return std::move(found.error());
      if (*found != end_) co_return misplaced(*found, end_);
    }
    confirmed_up_to(end_);
    count -= now;
    counters_.filler += static_cast<std::uint64_t>(now);
  }
  co_return result<void>{};
}

asio::awaitable<result<void>> log_writer::bulk_fill(std::int64_t offset) {
  std::shared_ptr<const std::vector<std::byte>> filler;
  std::int32_t filler_records = 0;
  while (end_ < offset && !stop_asked_) {
    const auto records = static_cast<std::int32_t>(std::min<std::int64_t>(offset - end_, bulk_filler_per_batch));
    if (records != filler_records) {
      auto built = wire::filler_batch(records, {});
      if (!built) co_return std::move(built.error());
      filler = std::make_shared<const std::vector<std::byte>>(std::move(*built));
      filler_records = records;
    }
    auto batch = wire::batch_cursor(*filler).next();
    MIRRORD_CHECK(batch && *batch, "the filler batch of {} records does not parse", records);
    const core::data_write write{core::writer_index, end_, **batch, filler};
    if (auto appended = co_await append(write, nullptr, acks::all); !appended) co_return appended;
    counters_.filler += static_cast<std::uint64_t>(records);
  }
  co_return co_await confirm();
}

}  // namespace mirrord::mirror
