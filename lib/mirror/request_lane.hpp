// A lane: one connection to one broker, on which the requests of many partitions are collected into few.
//
// Partitions put work into a lane and await its answers. As long as fewer than `requests_max` requests are under way,
// the lane takes what has been collected in this turn of the event loop, makes one request of it and goes on. It
// follows its connection through reconnects; when none can be made, all collected work fails with the reason. A broker
// that is silent and that the cluster no longer lists is given up: its connection is closed.
// Owned by the mirror's lane table; close() fails what is left and ends the coroutines.
#pragma once

#include "base/ids.hpp"
#include "client/cluster.hpp"
#include "mirror/async.hpp"
#include "mirror/write_lease.hpp"

#include <boost/asio/steady_timer.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace mirrord::mirror {

class request_lane {
 public:
  virtual ~request_lane() = default;
  request_lane(const request_lane&) = delete;
  request_lane& operator=(const request_lane&) = delete;

  // Fails what is collected and waits until nothing is under way. No work may be added afterwards.
  asio::awaitable<void> close();

  [[nodiscard]] broker_id broker() const noexcept { return broker_; }

 protected:
  // `connection_index` tells the lanes to one broker apart. `lease` is set for lanes that write: what was collected under
  // an earlier term is never sent.
  request_lane(asio::any_io_executor executor, client::cluster& cluster, broker_id broker, int connection_index, std::size_t requests_max,
               write_lease* lease = nullptr);

  // To be called by the constructor of the most derived class.
  void start() {
    tasks_.spawn(run());
    tasks_.spawn(watch_broker());
  }

  // To be called before work is added.
  void note_collected() {
    if (lease_ && !has_work()) collected_term_ = lease_->term();
  }

  // There is new work, or an answer made room.
  void wake() { changed_.notify(); }

  [[nodiscard]] virtual bool has_work() const = 0;

  // Whether the next request may leave while this many are under way.
  [[nodiscard]] virtual bool has_room(std::size_t under_way) const { return under_way < requests_max_; }

  // Takes collected work, queues one request on the connection before it returns, and gives back the coroutine that
  // awaits and hands out the answers. Called only when has_work().
  [[nodiscard]] virtual asio::awaitable<void> send(std::shared_ptr<client::connection> connection) = 0;

  // Completes all collected work with this error.
  virtual void fail_collected(const error& reason) = 0;

  [[nodiscard]] const asio::any_io_executor& executor() const noexcept { return executor_; }
  [[nodiscard]] client::cluster& cluster() noexcept { return cluster_; }

 private:
  asio::awaitable<void> run();
  asio::awaitable<void> await_answers(asio::awaitable<void> answers);
  asio::awaitable<void> watch_broker();

  asio::any_io_executor executor_;
  client::cluster& cluster_;
  broker_id broker_;
  int connection_index_;
  std::size_t requests_max_;
  write_lease* lease_;
  std::uint64_t collected_term_ = 0;
  std::size_t under_way_ = 0;
  std::chrono::steady_clock::time_point heard_at_{};  // since when the oldest request is unanswered, at the latest
  std::weak_ptr<client::connection> used_;
  bool closed_ = false;
  asio::steady_timer watch_pause_;
  notifier changed_;
  client::task_group tasks_;
};

}  // namespace mirrord::mirror
