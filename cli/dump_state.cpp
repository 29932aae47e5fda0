#include "dump_state.hpp"

#include "base/log.hpp"
#include "cluster_settings.hpp"
#include "control_channel.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <fmt/format.h>

#include <cstdio>

namespace mirrord::cli {
namespace {

// One line: the kind, what the record is about, what it says.
void print_record(std::string_view key, std::string_view value) {
  const auto kind = mirror::kind_of(key);
  const auto seen = mirror::inspect(key, value);
  switch (seen.verdict) {
    case mirror::readability::readable: {
      const auto printed = mirror::print(key, value);
      fmt::print("{}  {}  {}\n", mirror::name(*kind), printed.key, printed.value);
      return;
    }
    case mirror::readability::newer_version:
      fmt::print("{}  {}  (written by a later release)\n", mirror::name(*kind), mirror::print(key, std::nullopt).key);
      return;
    case mirror::readability::unknown_kind:
      fmt::print("Unknown kind {}  ({} bytes, written by a later release)\n", kind ? static_cast<int>(*kind) : -1, value.size());
      return;
    case mirror::readability::malformed: fmt::print("Malformed  {}\n", seen.fault); return;
  }
}

asio::awaitable<void> dump(control_channel& channel, int& exit_code) {
  auto opened = co_await channel.open();
  if (opened) {
    channel.view().for_each(print_record);
  } else {
    fmt::print(stderr, "kafka-mirror: {}\n", opened.error().message());
    exit_code = 1;
  }
  co_await channel.close();
}

}  // namespace

int dump_state(const options& o) {
  auto connection = destination_settings(o);
  log::start(log::level::error);
  asio::io_context io(1);
  control_channel channel(io.get_executor(), std::move(connection));
  int exit_code = 0;
  asio::co_spawn(io, dump(channel, exit_code), [](std::exception_ptr failure) { if (failure) std::rethrow_exception(failure); });
  io.run();
  return exit_code;
}

}  // namespace mirrord::cli
