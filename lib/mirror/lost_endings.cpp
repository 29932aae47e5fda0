#include "mirror/lost_endings.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace mirrord::mirror {

asio::awaitable<result<bool>> holds_data_of(source_log& source, source_pid producer, std::int64_t from, std::int64_t to, const bool& stop_asked) {
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
        if (header.base_offset >= to) co_return false;
        const bool is_data = header.is_transactional() && !header.is_control() && header.record_count > 0;
        if (is_data && header.producer_id == producer.value && header.last_offset() >= from) co_return true;
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
  co_return false;
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
