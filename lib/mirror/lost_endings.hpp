// What became of transactions that are open on the destination, where their end may have vanished from the source.
//
// The cleaner removes an end marker only after all data of its transaction, delete.retention.ms later; the log start
// removes both. So a marker that we missed means that the source holds none of the transaction's data any more, and an
// ABORT here shows readers what the source shows them. While the source holds any of the data, the marker is still to
// come.
#pragma once

#include "core/producer_slots.hpp"
#include "mirror/ports.hpp"

#include <cstdint>
#include <map>
#include <vector>

namespace mirrord::mirror {

// Whether the source holds a record of this producer's transaction at offsets [from, to). errc::cancelled once
// `stop_asked` turns true.
[[nodiscard]] asio::awaitable<result<bool>> holds_data_of(source_log& source, source_pid producer, std::int64_t from, std::int64_t to,
                                                          const bool& stop_asked);

// Producers with data at offsets [from, to) of the source in a transaction that does not end there.
[[nodiscard]] asio::awaitable<result<std::vector<source_producer>>> unended_producers(source_log& source, std::int64_t from, std::int64_t to);

// Those of the open transactions that the source does not show as open; all of them where it cannot tell (before 2.8).
[[nodiscard]] asio::awaitable<result<std::vector<source_pid>>> ended_on_source(source_log& source,
                                                                               std::map<source_pid, core::open_transaction> open);

}  // namespace mirrord::mirror
