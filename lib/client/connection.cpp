#include "client/connection.hpp"

#include "client/connection_setup.hpp"

#include <boost/asio/error.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/system/system_error.hpp>

namespace mirrord::client {

namespace {

asio::awaitable<result<std::shared_ptr<connection>>> open_steps(endpoint to, connection_settings settings, std::string name) {
  const auto executor = co_await asio::this_coro::executor;
  const steady_time until = std::chrono::steady_clock::now() + settings.socket_connection_setup_timeout;
  auto connected = co_await stream::connect(std::move(to), settings, until);
  if (!connected) co_return std::move(connected).error().within(name);

  auto core = std::make_shared<detail::connection_core>(executor, std::move(connected).value(), std::move(settings), std::move(name));
  auto made = std::make_shared<connection>(core);
  core->start();
  auto usable = co_await detail::set_up(core, until);
  if (!usable) co_return std::move(usable).error();
  co_return made;
}

}  // namespace

asio::awaitable<result<std::shared_ptr<connection>>> connection::open(endpoint to, connection_settings settings, std::string name) {
  // A cancelled coroutine's next co_await throws; the result is awaited nowhere between here and the caller.
  try {
    co_return co_await open_steps(std::move(to), std::move(settings), name);
  } catch (const boost::system::system_error& e) {
    if (e.code() != asio::error::operation_aborted) throw;
    co_return fail(errc::cancelled, name + ": connect");
  }
}

void connection::close() { core_->end(fail(errc::cancelled, "closed here")); }

asio::awaitable<bool> connection::closed() { return core_->join(); }

}  // namespace mirrord::client
