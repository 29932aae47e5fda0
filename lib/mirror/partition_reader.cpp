#include "mirror/partition_reader.hpp"

#include "client/backoff.hpp"
#include "core/error_table.hpp"
#include "mirror/partition_query.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace mirrord::mirror {
namespace {

using namespace std::chrono_literals;

constexpr auto first_patience = 60s;  // an election or a broker's restart is over by then
constexpr auto later_patience = 5s;
// A new leader can show a lower high watermark than the old one did, until its followers have fetched (KIP-207).
constexpr auto shrunk_patience = 10s;
constexpr auto first_pause = 100ms;
constexpr auto longest_pause = 5'000ms;
constexpr std::int32_t fetch_bytes_max = 1024 * 1024;
constexpr std::int32_t fetch_bytes_min = 64 * 1024;

bool passes(const error& e) {
  const auto then = core::decide_consequence(e);
  return e.code != errc::cancelled && (then == core::consequence::start_over || then == core::consequence::wait_for_cluster);
}

error shrunk(const topic_partition& tp, std::string_view how) {
  return fail(errc::diverged, fmt::format("{}: the log has got shorter since this began: {}", tp.text(), how));
}

}  // namespace

asio::awaitable<void> read_pace::wait(clock_port& clock) {
  while (bytes_per_second_ > 0 && clock.now() < free_at_) co_await clock.sleep(free_at_ - clock.now());
}

void read_pace::note(std::int64_t bytes, clock_port::duration now) {
  bytes_ += bytes;
  if (bytes_per_second_ == 0) return;
  const std::chrono::duration<double> takes(static_cast<double>(bytes) / static_cast<double>(bytes_per_second_));
  free_at_ = std::max(free_at_, now) + std::chrono::duration_cast<clock_port::duration>(takes);
}

template <class T>
asio::awaitable<result<T>> partition_reader::retried(std::function<asio::awaitable<result<T>>()> attempt) {
  client::backoff pauses(first_pause, longest_pause);
  const auto began = context_.clock.now();
  while (true) {
    auto got = co_await attempt();
    if (got) {
      if (pauses.failures() > 0) context_.note_trouble({});
      co_return got;
    }
    error failure = std::move(got.error()).within(context_.cluster_name);
    const auto waited = context_.clock.now() - began;
    if (failure.code == errc::diverged) {
      if (waited >= shrunk_patience) co_return failure;
    } else if (!passes(failure)) {
      co_return failure;
    } else if (waited >= (context_.patience.spent ? later_patience : first_patience)) {
      context_.patience.spent = true;
      co_return failure;
    }
    context_.note_trouble(failure.message());
    co_await context_.clock.sleep(pauses.after_failure(context_.random.uniform()));
  }
}

asio::awaitable<result<core::log_bounds>> partition_reader::bounds() {
  std::function<asio::awaitable<result<core::log_bounds>>()> attempt = [this] { return bounds_once(); };
  co_return co_await retried<core::log_bounds>(std::move(attempt));
}

// All three of one answer: read one after the other, the log could move between them.
asio::awaitable<result<core::log_bounds>> partition_reader::bounds_once() {
  auto leader = co_await context_.cluster.leader_of(tp_);
  if (!leader) co_return std::move(leader.error());
  auto end = co_await list_offset(context_.cluster, tp_, *leader, wire::latest_timestamp);
  if (!end) co_return std::move(end.error());
  auto got = co_await fetch_partition(context_.cluster, context_.connection_index, tp_, *leader, *end, 1);
  if (!got) co_return std::move(got.error());
  core::log_bounds bounds{got->log_start, got->high_watermark, got->last_stable};
  if (bounds.start < 0) {
    auto start = co_await list_offset(context_.cluster, tp_, *leader, wire::earliest_timestamp);
    if (!start) co_return std::move(start.error());
    bounds.start = *start;
  }
  co_return bounds;
}

asio::awaitable<void> partition_reader::read(std::int64_t from, std::int64_t to, bounded_queue<result<read_chunk>>& queue) {
  bool wanted = true;
  while (wanted && from < to) {
    co_await context_.pace.wait(context_.clock);
    std::function<asio::awaitable<result<read_chunk>>()> attempt = [this, from, to] { return read_once(from, to); };
    auto chunk = co_await retried<read_chunk>(std::move(attempt));
    if (chunk) from = chunk->known_to;
    else to = from;
    wanted = co_await queue.push(std::move(chunk));
  }
  queue.close();
}

asio::awaitable<result<read_chunk>> partition_reader::read_once(std::int64_t from, std::int64_t to) {
  auto leader = co_await context_.cluster.leader_of(tp_);
  if (!leader) co_return std::move(leader.error());
  std::int64_t limit = fetch_bytes_max;
  if (const auto rate = context_.pace.bytes_per_second(); rate > 0) limit = std::clamp<std::int64_t>(rate, fetch_bytes_min, fetch_bytes_max);
  auto got = co_await fetch_partition(context_.cluster, context_.connection_index, tp_, *leader, from, static_cast<std::int32_t>(limit));
  read_chunk chunk;
  chunk.from = chunk.known_to = from;
  if (!got) {
    if (got.error().broker_code != static_cast<std::int16_t>(kafka_error::offset_out_of_range)) co_return std::move(got.error());
    auto start = co_await list_offset(context_.cluster, tp_, *leader, wire::earliest_timestamp);
    if (!start) co_return std::move(start.error());
    if (*start <= from) co_return shrunk(tp_, fmt::format("it ends before offset {}", from));
    chunk.from = chunk.known_to = *start;
    co_return chunk;
  }
  context_.pace.note(static_cast<std::int64_t>(got->records.size()), context_.clock.now());
  chunk.owner = got->owner;
  wire::batch_cursor cursor(got->records);
  while (true) {
    auto batch = cursor.next();
    if (!batch) co_return std::move(batch.error()).within(fmt::format("{} from offset {} on", tp_.text(), from));
    if (!*batch) break;
    if ((*batch)->header.next_offset() <= from) continue;
    chunk.known_to = std::max(chunk.known_to, (*batch)->header.next_offset());
    chunk.batches.push_back(**batch);
  }
  if (chunk.batches.empty() && cursor.partial_tail_bytes() > 0) {
    co_return fail(errc::limit_exceeded, fmt::format("{}: the batch at offset {} does not fit into one answer", tp_.text(), from));
  }
  if (chunk.batches.empty()) {
    if (const auto end = got->high_watermark; end < to) {
      co_return shrunk(tp_, fmt::format("it ends at {}, before {}", end, to));
    }
    chunk.known_to = to;  // compaction has left nothing there
  }
  co_return chunk;
}

}  // namespace mirrord::mirror
