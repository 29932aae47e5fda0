#include "mirror/request_lane.hpp"

#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace mirrord::mirror {

request_lane::request_lane(asio::any_io_executor executor, client::cluster& cluster, broker_id broker, int connection_index,
                           std::size_t requests_max)
    : executor_(std::move(executor)), cluster_(cluster), broker_(broker), connection_index_(connection_index),
      requests_max_(requests_max), changed_(executor_), tasks_(executor_) {}

asio::awaitable<void> request_lane::run() {
  while (true) {
    while (!closed_ && (!has_work() || under_way_ >= requests_max_)) (void)co_await changed_.wait();
    if (closed_) break;
    // Let every partition that is ready in this turn of the loop add its work first.
    co_await asio::post(executor_, asio::use_awaitable);
    auto connection = co_await cluster_.connection_to(broker_, connection_index_);
    if (!connection) {
      fail_collected(connection.error());
      continue;
    }
    if (closed_) break;
    if (!has_work()) continue;
    ++under_way_;
    tasks_.spawn(await_answers(send(std::move(*connection))));
  }
  fail_collected(fail(errc::cancelled, "the lane is closed"));
}

asio::awaitable<void> request_lane::await_answers(asio::awaitable<void> answers) {
  co_await std::move(answers);
  --under_way_;
  wake();
}

asio::awaitable<void> request_lane::close() {
  closed_ = true;
  wake();
  (void)co_await tasks_.join();
}

}  // namespace mirrord::mirror
