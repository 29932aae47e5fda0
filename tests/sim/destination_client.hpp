// The destination_log port of one simulated daemon: the way of its requests to the destination and back, with what can
// happen on it - requests that never arrive, answers that are lost, requests that arrive after the client gave up.
//
// Appends travel on one connection, which the broker reads one request at a time (it answers before it reads the next).
// When the connection breaks, every append on it is answered with connection_lost or timed_out; of those that the
// broker had not read yet, some may still be read. Markers and questions have connections of their own.
#pragma once

#include "mirror/write_lease.hpp"
#include "tests/sim/sim_process.hpp"
#include "tests/sim/simulated_destination.hpp"

#include <deque>
#include <memory>

namespace mirrord::sim {

struct network_faults {
  double lost_request = 0;  // per append or marker request: never arrives
  double lost_answer = 0;   // appended, nobody is told
  double late_request = 0;  // the client times out, then the request arrives
  double lost_question = 0; // lead, end_offset, producers, bounds, trim
  double stale_lead = 0;    // lead() tells of the former leader for a moment after a move
  std::chrono::milliseconds late_max{700};  // how long after the client gave up; a settle outlasts it
};

class destination_client final : public mirror::destination_log {
 public:
  destination_client(sim_process& process, mirror::write_lease& lease, sim_random random, sim_trace& trace, simulated_destination& destination,
                     const network_faults& faults, std::string name = "daemon");

  asio::awaitable<result<destination_epoch>> lead() override;
  asio::awaitable<result<std::int64_t>> end_offset(destination_epoch epoch) override;
  asio::awaitable<result<std::vector<mirror::destination_producer>>> producers(destination_epoch epoch) override;
  asio::awaitable<result<mirror::destination_bounds>> bounds(destination_epoch epoch) override;
  asio::awaitable<result<mirror::stored_batches>> read(destination_epoch epoch, std::int64_t offset) override;
  std::shared_ptr<mirror::one_shot<result<mirror::append_answer>>> append(destination_epoch epoch, mirror::batch_append write) override;
  asio::awaitable<result<void>> mark(destination_epoch epoch, std::vector<mirror::end_marker> markers) override;
  asio::awaitable<result<void>> trim(destination_epoch epoch, std::int64_t offset) override;

  // The daemon was killed: what was on its way may still arrive.
  void sever();
  // The daemon was stopped: what it had not handed to the kernel yet leaves when it is continued.
  void hold();
  void release();

  [[nodiscard]] std::size_t under_way() const noexcept { return under_way_; }
  // Asked before each append or marker leaves.
  std::function<void()> on_write = [] {};

  // What is written from here on does not follow the source.
  void forget_foreign_write() { told_of_foreign_write_at_.reset(); }

 private:
  struct call;
  struct connection;
  struct marking;
  enum class fate : std::uint8_t { arrives, request_lost, answer_lost, late };

  [[nodiscard]] fate draw_fate();
  [[nodiscard]] sim_clock::duration latency();
  [[nodiscard]] error loss(std::string what);
  asio::awaitable<result<void>> question(std::string what);
  // Whether the process was stopped for longer than its lease since lead().
  [[nodiscard]] bool outlived_lease() { return lease_.term() != term_; }
  void read_next(std::shared_ptr<connection> link);
  void break_connection(std::shared_ptr<connection> link, std::chrono::milliseconds late);
  void answer_call(std::shared_ptr<call> of, result<mirror::append_answer> with);
  void before_write();

  sim_process& process_;
  mirror::write_lease& lease_;
  std::uint64_t term_ = 0;
  sim_clock& clock_;
  sim_random random_;
  sim_trace& trace_;
  simulated_destination& destination_;
  const network_faults& faults_;
  std::string name_;
  // Since when the daemon could know that somebody else wrote: it was told a base offset beyond that record.
  std::optional<sim_clock::duration> told_of_foreign_write_at_;
  std::size_t under_way_ = 0;  // writes whose fate at the broker is not settled
  std::shared_ptr<connection> connection_;
};

}  // namespace mirrord::sim
