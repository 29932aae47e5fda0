// Reads `__mirror_state` into memory and writes to it with acknowledgement, through two librdkafka clients.
//
// load() reads every partition from its beginning to the end that it had then, and goes on following. The end is found
// by the consumer's position, not by a record at the last offset: compaction removes records and transactions leave
// control records, so there may be none. There is no consumer group, so nothing is committed and no permission on a
// group is needed. A reset of the read position (topic trimmed or made anew) is never taken silently: it is a failure.
//
// write() and erase() end when all in-sync replicas have the record (acks=all, idempotent producer) AND the reader has
// come by it. So the view changes in log order only, whoever wrote, and a writer that lost a race sees so on return.
// Writes of one key reach the log in call order. An error of errc::timed_out or errc::connection_lost means that the
// record may still come to be.
//
// One per daemon, owned by whoever composes it; ended by close() after those who write. After failed() every call
// answers that error, and the owner opens a new store.
#pragma once

#include "base/error.hpp"
#include "client/tasks.hpp"
#include "mirror/state_view.hpp"
#include "settings/connection_settings.hpp"

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace mirrord::mirror {

struct state_store_options {
  std::string topic;
  std::int32_t partitions = 0;  // as ensure_state_topic() found them
  std::string instance;         // unique to this start of the daemon; each record says who wrote it
  std::chrono::milliseconds write_timeout{30'000};
  std::chrono::milliseconds load_stall_timeout{30'000};  // without any progress of load()
};

// A record that another instance wrote, after load().
struct state_change {
  record_kind kind{};
  std::string_view key;
  std::optional<std::string_view> value;  // none: erased
};

class state_store {
 public:
  using change_handler = std::function<void(const state_change&)>;
  using failure_handler = std::function<void(const error&)>;

  [[nodiscard]] static result<std::unique_ptr<state_store>> open(const client::asio::any_io_executor& executor,
                                                                const connection_settings& connection, state_store_options options);
  ~state_store();
  state_store(const state_store&) = delete;
  state_store& operator=(const state_store&) = delete;

  // Both are called from the loop, never from inside a call of the owner, and do not destroy the store.
  void on_change(change_handler handler);
  void on_failure(failure_handler handler);

  // Once, before anything is written.
  [[nodiscard]] client::asio::awaitable<result<void>> load();

  // What has been read so far; complete as of load().
  [[nodiscard]] const state_view& view() const noexcept;

  // errc::unsupported where a later release of this program wrote the present value.
  template <class Key>
  [[nodiscard]] client::asio::awaitable<result<void>> write(Key key, typename Key::value_type value) {
    return write_bytes(route_of(key), encode_key(key), encode_value(value));
  }

  // Writes a tombstone.
  template <class Key>
  [[nodiscard]] client::asio::awaitable<result<void>> erase(Key key) {
    return write_bytes(route_of(key), encode_key(key), std::nullopt);
  }

  // The producer id that holds this index of the mirror's pool: `candidate`, or the one that another daemon claimed
  // first. Nothing is written where the index is taken already.
  [[nodiscard]] client::asio::awaitable<result<destination_pid>> claim_producer_id(std::string mirror, core::slot_index index,
                                                                                  destination_pid candidate);

  // Why the store is of no use any more, if it is not.
  [[nodiscard]] const std::optional<error>& failed() const noexcept;

  // Writes under way end with errc::cancelled and may still come to be.
  [[nodiscard]] client::asio::awaitable<void> close();

 private:
  class implementation;
  explicit state_store(std::unique_ptr<implementation> i);
  [[nodiscard]] client::asio::awaitable<result<void>> write_bytes(std::string route, std::string key, std::optional<std::string> value);

  std::unique_ptr<implementation> implementation_;
};

}  // namespace mirrord::mirror
