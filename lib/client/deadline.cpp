#include "client/deadline.hpp"

#include <boost/asio/steady_timer.hpp>

namespace mirrord::client {

struct deadline::state {
  boost::asio::steady_timer timer;
  std::function<void()> on_expiry;  // empty once the guard is gone: the timer's handler may be on its way by then
  bool passed = false;
};

deadline::deadline(const boost::asio::any_io_executor& executor, steady_time at, std::function<void()> on_expiry)
    : state_(std::make_shared<state>(boost::asio::steady_timer(executor, at), std::move(on_expiry), false)) {
  state_->timer.async_wait([s = state_](const boost::system::error_code& e) {
    if (e || !s->on_expiry) return;
    s->passed = true;
    s->on_expiry();
  });
}

deadline::~deadline() {
  state_->on_expiry = nullptr;
  state_->timer.cancel();
}

bool deadline::passed() const noexcept { return state_->passed; }

}  // namespace mirrord::client
