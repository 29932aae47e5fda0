#include "mirror/alignment.hpp"

#include "mirror/partition_query.hpp"
#include "mirror/partition_reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace mirrord::mirror {
namespace {

constexpr std::int64_t tail_max = 500;         // transactions that were open at once, with room; fits into the queue of read_tail
constexpr std::int32_t reader_lane = 1'000;  // apart from the data's connections

// A batch as far as it matters beyond the last mirrored offset.
struct tail_batch {
  std::int64_t base_offset = 0;
  std::int64_t next_offset = 0;
  wire::control_type type = wire::control_type::none;
  friend bool operator==(const tail_batch&, const tail_batch&) = default;
};

asio::awaitable<result<std::vector<tail_batch>>> read_tail(partition_reader& reader, asio::any_io_executor executor, std::int64_t from, std::int64_t to) {
  bounded_queue<result<read_chunk>> chunks(executor, 1'000);
  co_await reader.read(from, to, chunks);
  std::vector<tail_batch> tail;
  while (auto chunk = co_await chunks.pop()) {
    if (!*chunk) co_return std::move(chunk->error());
    for (const wire::stored_batch& batch : (*chunk)->batches) {
      if (batch.header.base_offset >= to) break;
      tail_batch seen{batch.header.base_offset, batch.header.next_offset(), wire::control_type::none};
      if (batch.header.is_control()) {
        auto marker = wire::read_control_marker(batch);
        if (!marker) co_return std::move(marker.error());
        seen.type = marker->type;
      }
      tail.push_back(seen);
    }
  }
  co_return tail;
}

bool is_marker(const tail_batch& batch) { return batch.type == wire::control_type::abort || batch.type == wire::control_type::commit; }

error holds_own_records(const topic_partition& tp, std::int64_t end, const std::optional<source_memory::mirrored_end>& known) {
  if (!known) {
    return fail(errc::diverged, fmt::format("{} holds data up to offset {}, and the source does not remember to have mirrored it from here; delete the "
                                            "destination topic, so that it is mirrored anew, or leave it out with topics.exclude", tp.text(), end));
  }
  return fail(errc::diverged, fmt::format("{} has {} records that mirror {} had not copied before it was stopped: from offset {} to {}. They would be lost; "
                                          "save them, then delete the destination topic, so that it is mirrored anew",
                                          tp.text(), end - known->offset, known->mirror, known->offset, end));
}

}  // namespace

asio::awaitable<result<std::int64_t>> align(alignment_context context, topic_partition tp, topic_id source_topic,
                                               topic_id destination_topic) {
  auto leader = co_await context.destination.leader_of(tp);
  if (!leader) co_return std::move(leader.error());
  auto end = co_await log_end(context.destination, tp, *leader);
  if (!end || *end == 0) co_return end;
  const auto known = context.memory.end_of(source_topic, destination_topic, tp.partition);
  if (!known && context.memory.failure()) co_return error(*context.memory.failure());
  if (!known) co_return holds_own_records(tp, *end, known);

  auto producers = co_await describe_producers(context.destination, tp, *leader);
  if (!producers) co_return std::move(producers.error());
  for (const wire::producer_state& producer : *producers) {
    if (producer.current_txn_start_offset < 0) continue;
    // A marker of ours would not keep its own coordinator from writing another one later.
    co_return fail(errc::fenced, fmt::format("{}: the transaction of producer id {} is open since offset {}; its own coordinator ends it after its "
                                               "transaction timeout, then the topic is mirrored", tp.text(), producer.producer_id,
                                               producer.current_txn_start_offset));
  }
  if (*end <= known->offset) co_return end;
  if (*end - known->offset > tail_max) co_return holds_own_records(tp, *end, known);

  read_pace pace(0);
  read_patience own_patience, source_patience;
  reader_context here{context.destination, context.clock, context.random, pace, own_patience, reader_lane, "destination", [](std::string) {}};
  reader_context there{context.source, context.clock, context.random, pace, source_patience, reader_lane, "source", [](std::string) {}};
  partition_reader destination(std::move(here), tp);
  partition_reader source(std::move(there), tp);
  const auto executor = co_await asio::this_coro::executor;
  auto own = co_await read_tail(destination, executor, known->offset, *end);
  if (!own) co_return std::move(own.error());
  if (!std::all_of(own->begin(), own->end(), is_marker)) co_return holds_own_records(tp, *end, known);
  auto theirs = co_await read_tail(source, executor, known->offset, *end);
  if (!theirs) co_return std::move(theirs.error());
  if (*own != *theirs) co_return holds_own_records(tp, *end, known);
  co_return end;
}

}  // namespace mirrord::mirror
