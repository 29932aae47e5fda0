#include "verify.hpp"

#include "base/log.hpp"
#include "cluster_settings.hpp"
#include "progress_line.hpp"
#include "verify_report.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <fmt/format.h>

#include <unistd.h>

#include <cstdio>
#include <optional>

namespace mirrord::cli {
namespace {

using namespace std::chrono_literals;
namespace asio = boost::asio;

constexpr auto progress_interval = 250ms;

void rethrow(std::exception_ptr failure) {
  if (failure) std::rethrow_exception(failure);
}

// One verification with its progress on stderr.
class verification {
 public:
  verification(const connection_settings& source, const connection_settings& destination, mirror::verify_options options)
      : io_(1), verifier_(io_.get_executor(), source, destination, std::move(options)), pause_(io_),
        line_(isatty(STDERR_FILENO) == 1, std::chrono::steady_clock::now()) {}

  result<std::vector<mirror::verified_topic>> run() {
    asio::co_spawn(io_, verify(), rethrow);
    asio::co_spawn(io_, show_progress(), rethrow);
    io_.run();
    fmt::print(stderr, "{}", line_.finish());
    return std::move(*verified_);
  }

 private:
  asio::awaitable<void> verify() {
    verified_.emplace(co_await verifier_.run());
    pause_.cancel();
  }

  asio::awaitable<void> show_progress() {
    while (!verified_) {
      fmt::print(stderr, "{}", line_.update(verifier_.progress(), std::chrono::steady_clock::now()));
      std::fflush(stderr);
      boost::system::error_code ended;
      pause_.expires_after(progress_interval);
      co_await pause_.async_wait(asio::redirect_error(asio::use_awaitable, ended));
    }
  }

  asio::io_context io_;
  mirror::log_verifier verifier_;
  asio::steady_timer pause_;
  progress_line line_;
  std::optional<result<std::vector<mirror::verified_topic>>> verified_;
};

}  // namespace

int verify(const options& o) {
  const connection_settings destination = destination_settings(o);
  const connection_settings source = source_settings(o);
  log::start(log::level::error);
  mirror::verify_options wanted;
  wanted.topics = o.topics;
  wanted.exclude = o.exclude;
  wanted.bytes_per_second = o.throttle;
  auto verified = verification(source, destination, std::move(wanted)).run();
  if (!verified) {
    fmt::print(stderr, "kafka-mirror: nothing was compared: {}\n", verified.error().message());
    return 1;
  }
  if (o.json) fmt::print("{}\n", verify_json(*verified));
  else fmt::print("{}", verify_text(*verified));
  return all_equal(*verified) ? 0 : 1;
}

}  // namespace mirrord::cli
