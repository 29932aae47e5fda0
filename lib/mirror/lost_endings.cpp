#include "mirror/lost_endings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

namespace mirrord::mirror {

namespace {

using batch_visitor = std::function<bool(const wire::batch_header&)>;  // false: enough

// Shows every batch that the source holds of offsets [from, to).
asio::awaitable<result<void>> visit_batches(source_log& source, std::int64_t from, std::int64_t to, const bool& stop_asked, batch_visitor visit) {
  std::int64_t position = from;
  while (position < to) {
    if (stop_asked) co_return fail(errc::cancelled, "a stop was asked for");
    auto chunk = co_await source.fetch(position);
    std::int64_t next = position;
    if (chunk) {
      wire::batch_cursor cursor(chunk->records);
      while (next < to) {
        auto batch = cursor.next();
        if (!batch) co_return std::move(batch.error());
        if (!*batch) break;
        const wire::batch_header& header = (*batch)->header;
        if (header.base_offset >= to || (header.last_offset() >= from && !visit(header))) co_return result<void>{};
        next = std::max(next, header.next_offset());
      }
    } else if (chunk.error().code != errc::broker || !is(chunk.error().broker_code, kafka_error::offset_out_of_range)) {
      co_return std::move(chunk.error());
    }
    if (next == position) {
      auto bounds = co_await source.bounds();
      if (!bounds) co_return std::move(bounds.error());
      next = std::max(next, bounds->start);
      if (next == position) {
        co_return broker_failure(code_of(kafka_error::offset_not_available), fmt::format("the source does not hand out offset {} now", position));
      }
    }
    position = next;
  }
  co_return result<void>{};
}

bool has_transactional_records(const wire::batch_header& header) {
  return header.is_transactional() && !header.is_control() && header.record_count > 0;
}

}  // namespace

asio::awaitable<result<bool>> holds_data_of(source_log& source, source_pid producer, std::int64_t from, std::int64_t to, const bool& stop_asked) {
  bool found = false;
  batch_visitor visit = [&](const wire::batch_header& header) {
    found = has_transactional_records(header) && header.producer_id == producer.value;
    return !found;
  };
  auto visited = co_await visit_batches(source, from, to, stop_asked, std::move(visit));
  if (!visited) co_return std::move(visited.error());
  co_return found;
}

asio::awaitable<result<std::vector<source_producer>>> unended_producers(source_log& source, std::int64_t from, std::int64_t to) {
  std::map<std::int64_t, std::int16_t> open;
  batch_visitor visit = [&](const wire::batch_header& header) {
    if (header.is_control()) open.erase(header.producer_id);
    else if (has_transactional_records(header)) open[header.producer_id] = header.producer_epoch;
    return true;
  };
  constexpr bool never_stop = false;
  auto visited = co_await visit_batches(source, from, to, never_stop, std::move(visit));
  if (!visited) co_return std::move(visited.error());
  std::vector<source_producer> producers;
  for (const auto& [pid, epoch] : open) producers.push_back({source_pid{pid}, epoch, std::nullopt});
  co_return producers;
}

asio::awaitable<result<std::vector<source_pid>>> ended_on_source(source_log& source, std::map<source_pid, core::open_transaction> open) {
  auto producers = co_await source.producers();
  if (!producers && producers.error().code != errc::unsupported) co_return std::move(producers.error());
  std::vector<source_pid> ended;
  for (const auto& [pid, transaction] : open) {
    const bool still_open = producers && std::any_of(producers->begin(), producers->end(), [&](const source_producer& known) {
      return known.pid == pid && known.open_since == transaction.first_offset;
    });
    if (!still_open) ended.push_back(pid);
  }
  co_return ended;
}

}  // namespace mirrord::mirror
