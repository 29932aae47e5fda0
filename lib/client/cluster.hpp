// One Kafka cluster as our wire client sees it: its metadata, and connections to its brokers.
//
// Owned by whoever talks to that cluster (a mirror's source side, its destination side); everything belongs to one
// io_context on one thread. Nothing is opened before it is asked for. Any number of coroutines may ask at once: they
// share metadata refreshes and connection attempts. Requests are never repeated or re-routed here: that is the caller's
// decision. Topics are never created by asking for them.
//
// Stop order: close() refuses new work, ends what is under way, and returns when nothing of it runs any more.
#pragma once

#include "base/error.hpp"
#include "base/ids.hpp"
#include "client/connection.hpp"
#include "client/connection_slot.hpp"
#include "client/metadata_cache.hpp"
#include "settings/connection_settings.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace mirrord::client {

// The connection of each broker for metadata and other small questions, which must not queue behind bulk data or its
// throttling. Lanes for data count from 0.
inline constexpr std::int32_t control_lane = -1;

class cluster {
 public:
  // `random` spreads reconnects and the choice of brokers; by default from the system.
  cluster(const asio::any_io_executor& executor, connection_settings settings, random_unit random = nullptr);
  // Ends what is under way, without waiting for it.
  ~cluster();
  cluster(const cluster&) = delete;
  cluster& operator=(const cluster&) = delete;

  // Asks for the named topics (none: brokers only), or for all. The question leaves after this call: calls that come
  // while one is under way share the next one. Errors: unreachable and others of connection::open when no broker can be
  // asked; invalid when the address has come to lead to another cluster; cancelled. A topic's own error is in metadata().
  [[nodiscard]] asio::awaitable<result<void>> refresh(std::vector<std::string> topics);
  [[nodiscard]] asio::awaitable<result<void>> refresh_all();

  [[nodiscard]] const metadata_cache& metadata() const noexcept;

  // Refreshes first where the cache has no leader or has been told that it moved. Errors: not_found (no such topic or
  // partition), broker (no leader at the moment, no access), and those of refresh(). The caller paces its repetitions.
  [[nodiscard]] asio::awaitable<result<leader>> leader_of(topic_partition tp);

  // After NOT_LEADER_OR_FOLLOWER, FENCED_LEADER_EPOCH or a lost leader: the next leader_of() asks the cluster.
  void leader_moved(const topic_partition& tp, std::int32_t epoch);

  // The lane's open connection, or a new one. unreachable at once during the back-off after a failed attempt, since the
  // caller may find another broker meanwhile, and when the cluster does not list that broker, even after a refresh: it
  // is down, and comes back.
  [[nodiscard]] asio::awaitable<result<std::shared_ptr<connection>>> connection_to(broker_id broker, std::int32_t lane);

  // A control connection to whichever broker answers: a known one, or else a bootstrap server.
  [[nodiscard]] asio::awaitable<result<std::shared_ptr<connection>>> any_connection();

  [[nodiscard]] const connection_settings& settings() const noexcept;

  // Cuts every open connection: whatever is under way gets errc::connection_lost. New ones are made when they are needed.
  void drop_connections();

  // Sums over all brokers and lanes.
  [[nodiscard]] connection_slot::statistics totals() const;

  // Idempotent. Whoever still awaits something here gets its error; afterwards every call answers errc::cancelled.
  [[nodiscard]] asio::awaitable<void> close();

 private:
  struct impl;
  std::shared_ptr<impl> impl_;
};

}  // namespace mirrord::client
