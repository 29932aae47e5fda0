// Reads one partition from an offset to an end that is known beforehand, over a connection of its own to whichever
// broker leads it, a bounded amount ahead of its user.
//
// Errors that pass (moved leaders, lost connections, restarting brokers) are waited out with back-off, for a minute at
// most (read_patience). Each Fetch asks for this partition alone, so that an empty answer means that there is nothing up to the high
// watermark; among many partitions it could mean that the answer was full.
#pragma once

#include "client/cluster.hpp"
#include "core/log_comparison.hpp"
#include "mirror/async.hpp"
#include "mirror/ports.hpp"

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace mirrord::mirror {

// Spreads what is read over time: all readers of a verification share one.
class read_pace {
 public:
  // 0: no limit.
  explicit read_pace(std::int64_t bytes_per_second) : bytes_per_second_(bytes_per_second) {}

  asio::awaitable<void> wait(clock_port& clock);
  void note(std::int64_t bytes, clock_port::duration now);

  [[nodiscard]] std::int64_t bytes() const noexcept { return bytes_; }
  [[nodiscard]] std::int64_t bytes_per_second() const noexcept { return bytes_per_second_; }

 private:
  std::int64_t bytes_per_second_;
  std::int64_t bytes_ = 0;
  clock_port::duration free_at_{};
};

// Batches that follow each other, and how far the log is known with them.
struct read_chunk {
  std::int64_t from = 0;  // above the offset that was asked for where the log begins later by now
  std::vector<wire::stored_batch> batches;
  std::shared_ptr<const void> owner;
  std::int64_t known_to = 0;
};

// Of all readers of one cluster: the first that waits in vain tells the others not to wait as long. Otherwise a dead broker
// with many partitions would be waited for many times.
struct read_patience {
  bool spent = false;
};

struct reader_context {
  client::cluster& cluster;
  clock_port& clock;
  random_port& random;
  read_pace& pace;
  read_patience& patience;
  std::int32_t connection_index = 0;
  std::string cluster_name;                         // "source", in errors
  std::function<void(std::string)> note_trouble;    // what is waited out at the moment; empty: it is over
};

class partition_reader {
 public:
  partition_reader(reader_context context, topic_partition tp) : context_(std::move(context)), tp_(std::move(tp)) {}

  // Where the log begins and ends now, and how far readers of committed data get.
  [[nodiscard]] asio::awaitable<result<core::log_bounds>> bounds();

  // Reads [from, to) into the queue and closes it; an error is the last that is in it.
  [[nodiscard]] asio::awaitable<void> read(std::int64_t from, std::int64_t to, bounded_queue<result<read_chunk>>& queue);

 private:
  [[nodiscard]] asio::awaitable<result<core::log_bounds>> bounds_once();
  [[nodiscard]] asio::awaitable<result<read_chunk>> read_once(std::int64_t from, std::int64_t to);
  template <class T>
  [[nodiscard]] asio::awaitable<result<T>> retried(std::function<asio::awaitable<result<T>>()> attempt);

  reader_context context_;
  topic_partition tp_;
};

}  // namespace mirrord::mirror
