// Fetch requests of many partitions to one source broker, over one connection; one request is under way at a time.
//
// A request carries every partition that asks at the moment. It waits at the broker until one of them has data; while
// partitions that are busy with their last chunk are missing from it, it waits only briefly, so that their next ask is
// not held up. Partitions that got data longest ago are listed first: the broker fills an answer in the request's order,
// so none starves.
#pragma once

#include "mirror/ports.hpp"
#include "mirror/request_lane.hpp"
#include "settings/settings.hpp"
#include "wire/fetch.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

namespace mirrord::mirror {

// Bounds the fetched bytes that partitions hold and have not written yet, over all lanes of the daemon.
class fetch_budget {
 public:
  fetch_budget(const asio::any_io_executor& executor, std::size_t bytes_max) : bytes_max_(bytes_max), freed_(executor) {}

  // Waits until there is room for another answer.
  asio::awaitable<void> wait_for_room();

  // Counts the frame for as long as anybody holds the returned pointer.
  [[nodiscard]] static std::shared_ptr<const void> hold(std::shared_ptr<fetch_budget> budget, client::frame_bytes frame);

 private:
  std::size_t bytes_max_;
  std::size_t held_ = 0;
  notifier freed_;
};

class fetch_lane final : public request_lane {
 public:
  fetch_lane(asio::any_io_executor executor, client::cluster& cluster, broker_id broker, int connection_index,
             const fetch_settings& settings, std::chrono::milliseconds request_timeout, std::shared_ptr<fetch_budget> budget);

  struct ask {
    topic_partition from;
    topic_id topic;             // zero where the source has no topic ids
    source_epoch leader_epoch;  // -1: no check
    std::int64_t offset = 0;
  };

  [[nodiscard]] std::shared_ptr<one_shot<result<source_chunk>>> fetch(ask wanted);

 private:
  struct waiting {
    ask wanted;
    std::shared_ptr<one_shot<result<source_chunk>>> answer;
  };
  struct served {
    std::uint64_t last_data = 0;                                 // number of the last answer with data
    std::chrono::steady_clock::time_point busy_since{};          // when it got data and has not asked again; else zero
  };

  [[nodiscard]] bool has_work() const override { return !waiting_.empty(); }
  [[nodiscard]] asio::awaitable<void> send(std::shared_ptr<client::connection> connection) override;
  void fail_collected(const error& reason) override;

  [[nodiscard]] bool anyone_busy();
  asio::awaitable<void> fetch_and_complete(std::shared_ptr<client::connection> connection, std::vector<waiting> items);
  void hand_out(std::vector<waiting> items, const wire::fetch_response& response, const client::frame_bytes& frame);

  fetch_settings settings_;
  std::chrono::milliseconds request_timeout_;
  std::shared_ptr<fetch_budget> budget_;
  std::vector<waiting> waiting_;
  std::map<topic_partition, served> served_;
  std::uint64_t answers_with_data_ = 0;
};

}  // namespace mirrord::mirror
