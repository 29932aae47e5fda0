#include "mirror/request_lane.hpp"

#include "base/log.hpp"

#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace mirrord::mirror {
namespace {

using namespace std::chrono_literals;

constexpr auto watch_interval = 1s;
constexpr auto silence_max = 3s;  // then the cluster is asked whether the broker is still there

}  // namespace

request_lane::request_lane(asio::any_io_executor executor, client::cluster& cluster, broker_id broker, int connection_index,
                           std::size_t requests_max, write_lease* lease)
    : executor_(std::move(executor)), cluster_(cluster), broker_(broker), connection_index_(connection_index),
      requests_max_(requests_max), lease_(lease), watch_pause_(executor_), changed_(executor_), tasks_(executor_) {}

asio::awaitable<void> request_lane::run() {
  while (true) {
    while (!closed_ && (!has_work() || !has_room(under_way_))) (void)co_await changed_.wait();
    if (closed_) break;
    // Let every partition that is ready in this turn of the loop add its work first.
    co_await asio::post(executor_, asio::use_awaitable);
    auto connection = co_await cluster_.connection_to(broker_, connection_index_);
    if (!connection) {
      fail_collected(connection.error());
      continue;
    }
    if (closed_) break;
    if (!has_work() || !has_room(under_way_)) continue;
    if (lease_ && lease_->term() != collected_term_) {
      fail_collected(fail(errc::fenced, "this process was stopped for a while"));
      continue;
    }
    if (under_way_++ == 0) heard_at_ = std::chrono::steady_clock::now();
    used_ = *connection;
    tasks_.spawn(await_answers(send(std::move(*connection))));
  }
  fail_collected(fail(errc::cancelled, "the lane is closed"));
}

asio::awaitable<void> request_lane::await_answers(asio::awaitable<void> answers) {
  co_await std::move(answers);
  --under_way_;
  heard_at_ = std::chrono::steady_clock::now();
  wake();
}

// A broker that hangs (its process stopped, its machine cut off) keeps its connections. The cluster takes it off its list
// and elects other leaders within seconds; waiting for request.timeout.ms would only prolong the outage.
asio::awaitable<void> request_lane::watch_broker() {
  while (!closed_) {
    watch_pause_.expires_after(watch_interval);
    boost::system::error_code ended;
    co_await watch_pause_.async_wait(asio::redirect_error(asio::use_awaitable, ended));
    const bool silent = under_way_ > 0 && std::chrono::steady_clock::now() - heard_at_ > silence_max;
    if (closed_ || !silent) continue;
    std::vector<std::string> no_topics;
    auto asked = co_await cluster_.refresh(std::move(no_topics));
    const auto connection = used_.lock();
    if (closed_ || !asked || !connection || under_way_ == 0 || cluster_.metadata().brokers().contains(broker_)) continue;
    log::warn("silent_broker_given_up", {{"broker", broker_.value}, {"connection", connection->name()},
                                         {"reason", "it does not answer and the cluster no longer lists it"}});
    connection->close();
  }
}

asio::awaitable<void> request_lane::close() {
  closed_ = true;
  watch_pause_.cancel();
  wake();
  (void)co_await tasks_.join();
}

}  // namespace mirrord::mirror
