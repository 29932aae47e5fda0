#include "mirror/prove_end.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace mirrord::mirror {
namespace {

using namespace std::chrono_literals;

constexpr auto patience = 10s;  // a log that does not stand still for so long has another writer
constexpr auto pause_between_reads = 100ms;

struct log_reading {
  std::int64_t end = 0;
  std::vector<destination_producer> producers;

  // Whether nothing was appended in between: an append moves the end, and only an append moves a sequence.
  [[nodiscard]] bool same_as(const log_reading& other) const { return end == other.end; }
};

// Asked again later: a predecessor that has lost the partition does not know it yet, or a second daemon is to be ended.
error another_writer() { return fail(errc::fenced, "the destination's log end does not stand still: another writer is at work"); }

asio::awaitable<result<log_reading>> read_log(destination_log& log, destination_epoch epoch, clock_port& clock,
                                              clock_port::duration until) {
  while (true) {
    auto before = co_await log.end_offset(epoch);
    if (!before) co_return std::move(before.error());
    auto producers = co_await log.producers(epoch);
    if (!producers) co_return std::move(producers.error());
    auto after = co_await log.end_offset(epoch);
    if (!after) co_return std::move(after.error());
    if (*before == *after) co_return log_reading{*after, std::move(*producers)};
    if (clock.now() >= until) co_return another_writer();
    co_await clock.sleep(pause_between_reads);
  }
}

asio::awaitable<result<destination_bounds>> wait_for_high_watermark(destination_log& log, destination_epoch epoch,
                                                                    std::int64_t end, clock_port& clock) {
  const auto until = clock.now() + patience;
  while (true) {
    auto bounds = co_await log.bounds(epoch);
    if (!bounds || bounds->high_watermark >= end) co_return bounds;
    if (clock.now() >= until) {
      co_return broker_failure(code_of(kafka_error::not_enough_replicas),
                               fmt::format("the destination's high watermark stays at {}, its log end is {}",
                                           bounds->high_watermark, end));
    }
    co_await clock.sleep(pause_between_reads);
  }
}

}  // namespace

asio::awaitable<result<proved_end>> prove_end(destination_log& log, clock_port& clock, bool unclean, std::chrono::milliseconds settle_time) {
  auto epoch = co_await log.lead();
  if (!epoch) co_return std::move(epoch.error());

  const auto until = clock.now() + patience;
  auto reading = co_await read_log(log, *epoch, clock, until);
  if (!reading) co_return std::move(reading.error());
  bool settled = !unclean;
  while (!settled) {
    co_await clock.sleep(settle_time);
    auto again = co_await read_log(log, *epoch, clock, until);
    if (!again) co_return std::move(again.error());
    settled = again->same_as(*reading);
    *reading = std::move(*again);
    if (!settled && clock.now() >= until) co_return another_writer();
  }

  auto bounds = co_await wait_for_high_watermark(log, *epoch, reading->end, clock);
  if (!bounds) co_return std::move(bounds.error());
  co_return proved_end{*epoch, bounds->start, reading->end, std::move(reading->producers)};
}

std::int16_t highest_own_epoch(const producer_pool& pool, const std::vector<destination_producer>& producers, std::int16_t least) {
  std::int16_t highest = least;
  for (const destination_producer& producer : producers) {
    if (pool.index_of(producer.pid)) highest = std::max(highest, producer.epoch);
  }
  return highest;
}

asio::awaitable<result<last_batch>> read_last_batch(destination_log& destination, const producer_pool& pool, const proved_end& log) {
  auto read = co_await destination.read(log.epoch, log.end - 1);
  if (!read) co_return std::move(read.error());
  auto batch = wire::batch_cursor(read->records).next();
  if (!batch) co_return std::move(batch.error());
  const bool is_own = !*batch || pool.index_of(destination_pid{(*batch)->header.producer_id});
  co_return last_batch{std::move(*read), is_own};
}

}  // namespace mirrord::mirror
