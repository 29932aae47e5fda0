// The way from kafka-mirror to the daemons: a request record is written, and the reports of its id are collected.
//
// Uses the operator's own credentials: Kafka's ACLs on the topic __mirror_state decide who may steer. What was written is
// erased again, whether it was answered or not.
#pragma once

#include "client/cluster.hpp"
#include "client/tasks.hpp"
#include "mirror/state_store.hpp"
#include "settings/connection_settings.hpp"

#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace mirrord::cli {

namespace asio = client::asio;

class control_channel {
 public:
  control_channel(asio::any_io_executor executor, connection_settings connection);

  // Reads the whole of __mirror_state.
  asio::awaitable<result<void>> open();

  // One request; the reports of all daemons that answer, sorted. Writes to stderr when it takes long.
  asio::awaitable<result<std::vector<mirror::report_item>>> ask(std::string mirror, mirror::request_value request);

  asio::awaitable<void> close();

  [[nodiscard]] const mirror::state_view& view() const { return store_->view(); }
  [[nodiscard]] const std::optional<error>& failed() const { return store_->failed(); }
  [[nodiscard]] client::cluster& destination() { return destination_; }

  // Until a record was changed, or that time has passed.
  asio::awaitable<void> wait_for_change(std::chrono::milliseconds longest);

 private:
  struct daemon_answer {
    std::int32_t parts = 1;
    std::map<std::int32_t, std::vector<mirror::report_item>> items;  // by part
    [[nodiscard]] bool is_whole() const { return static_cast<std::int32_t>(items.size()) >= parts; }
  };

  asio::awaitable<result<void>> collect(std::string mirror);
  asio::awaitable<void> clear(mirror::request_key request);
  void note(const mirror::state_change& change);
  [[nodiscard]] bool is_answered() const;
  [[nodiscard]] bool covers_all_mirrors() const;

  asio::any_io_executor executor_;
  connection_settings connection_;
  std::string id_;  // of the request under way
  client::cluster destination_;
  std::unique_ptr<mirror::state_store> store_;
  client::notifier changed_;
  std::map<std::string, daemon_answer> answers_;  // by the daemon's instance
};

}  // namespace mirrord::cli
