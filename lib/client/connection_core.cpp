#include "client/connection_core.hpp"

#include "base/log.hpp"
#include "wire/buffer.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <algorithm>
#include <span>

namespace mirrord::client::detail {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

namespace {

constexpr std::size_t read_buffer_size = 64 * 1024;
constexpr std::int32_t correlation_id_size = 4;

// Nobody has proved who he is before set-up ends, and the longest answer until then (ApiVersions) has a few KiB.
constexpr std::size_t set_up_frame_limit = 1024 * 1024;

// A broker's own quota windows end within seconds; a longer throttle comes again with the next answer.
constexpr milliseconds throttle_max{60'000};

}  // namespace

error wait_cancelled(wire::api_key key) {
  return fail(errc::cancelled, std::string(wire::name(key)) + ": nobody waits for the answer any more");
}

connection_core::connection_core(const asio::any_io_executor& executor, std::unique_ptr<stream> s, connection_settings settings,
                                 std::string name)
    : executor_(executor),
      stream_(std::move(s)),
      settings_(std::move(settings)),
      name_(std::move(name)),
      writer_wake_(executor),
      watch_wake_(executor),
      drained_(executor),
      tasks_(executor) {}

void connection_core::start() {
  tasks_.spawn(write_loop(shared_from_this()));
  tasks_.spawn(read_loop(shared_from_this()));
  tasks_.spawn(watch_loop(shared_from_this()));
}

result<std::int16_t> connection_core::version_for(wire::api_range ours) const {
  const std::string wanted = name_ + ": this program speaks " + std::string(wire::name(ours.key)) + " " + std::to_string(ours.min) +
                             ".." + std::to_string(ours.max) + ", the broker ";
  const auto offer = offered_.find(static_cast<std::int16_t>(ours.key));
  if (offer == offered_.end()) return fail(errc::unsupported, wanted + "does not offer it");
  const auto [lowest, highest] = offer->second;
  if (const auto version = wire::choose_version(ours, lowest, highest)) return *version;
  return fail(errc::unsupported, wanted + std::to_string(lowest) + ".." + std::to_string(highest));
}

void connection_core::learn_versions(const std::vector<wire::api_version>& offered) {
  for (const auto& api : offered) offered_[api.api_key] = {api.min_version, api.max_version};
}

void connection_core::ready() {
  held_ = false;
  was_ready_ = true;
  writer_wake_.cancel();
}

void connection_core::hold() { held_ = true; }

asio::awaitable<bool> connection_core::drained() {
  while (!ended_ && !under_way_.empty()) {
    const bool woken = co_await drained_.wait();
    if (!woken) co_return false;
  }
  co_return !ended_;
}

void connection_core::enqueue(call_ptr call, call_kind kind) {
  if (ended_) return fail_call(*call, *ended_, false);
  if (!call->frame.borrowed.empty() && !call->owner) {
    call->frame.bytes = call->frame.flatten();
    call->frame.borrowed.clear();
  }
  // A throttled broker leaves what it was sent lying for that long, so the wait for its answer starts afterwards.
  call->expires = std::max(steady_clock::now(), throttled_until_) + call->timeout;
  if (call->expires < next_check_) watch_wake_.cancel();
  (kind == call_kind::set_up ? set_up_ : ordinary_).push_back(std::move(call));
  writer_wake_.cancel();
}

// What can leave now, in order. It counts as sent from here on: a part of it may reach the broker even if the write fails.
std::vector<connection_core::call_ptr> connection_core::take_sendable() {
  std::vector<call_ptr> batch;
  const auto take_all = [&](std::deque<call_ptr>& queue) {
    batch.insert(batch.end(), queue.begin(), queue.end());
    under_way_.insert(under_way_.end(), queue.begin(), queue.end());
    queue.clear();
  };
  take_all(set_up_);
  if (!held_ && throttled_until_ <= steady_clock::now()) take_all(ordinary_);
  return batch;
}

asio::awaitable<void> connection_core::write_loop(std::shared_ptr<connection_core> self) {
  while (!self->ended_) {
    // The batch keeps the frames alive through the write: an answer can overtake the write's own completion.
    std::vector<call_ptr> batch = self->take_sendable();
    if (batch.empty()) {
      const bool throttle_will_end = !self->held_ && !self->ordinary_.empty();
      self->writer_wake_.expires_at(throttle_will_end ? self->throttled_until_ : steady_time::max());
      co_await self->writer_wake_.async_wait(asio::as_tuple(asio::use_awaitable));
      continue;
    }
    std::vector<std::span<const std::byte>> parts;
    for (const auto& call : batch) {
      const auto spans = call->frame.gather();
      parts.insert(parts.end(), spans.begin(), spans.end());
    }
    auto written = co_await self->stream_->write(std::move(parts));
    for (const auto& call : batch) {
      call->frame = {};
      call->owner.reset();
    }
    if (!written) self->end(std::move(written).error());
  }
}

asio::awaitable<void> connection_core::read_loop(std::shared_ptr<connection_core> self) {
  std::vector<std::byte> buffer(read_buffer_size);
  std::size_t begin = 0;
  std::size_t end = 0;
  while (!self->ended_) {
    while (end - begin < sizeof(std::int32_t)) {
      std::copy(buffer.begin() + static_cast<std::ptrdiff_t>(begin), buffer.begin() + static_cast<std::ptrdiff_t>(end), buffer.begin());
      end -= begin;
      begin = 0;
      auto n = co_await self->stream_->read_some(std::span(buffer).subspan(end));
      if (!n) {
        self->end(std::move(n).error());
        co_return;
      }
      end += *n;
    }
    const std::int32_t length = wire::reader(std::span(buffer).subspan(begin, sizeof(std::int32_t))).int32();
    begin += sizeof(std::int32_t);
    if (length < correlation_id_size || static_cast<std::size_t>(length) > self->frame_limit()) {
      self->end(self->bad_length(length));
      co_return;
    }
    auto frame = std::make_shared<std::vector<std::byte>>(static_cast<std::size_t>(length));
    const std::size_t here = std::min(frame->size(), end - begin);
    std::copy_n(buffer.begin() + static_cast<std::ptrdiff_t>(begin), here, frame->begin());
    begin += here;
    if (here < frame->size()) {
      auto rest = co_await self->stream_->read(std::span(*frame).subspan(here));
      if (!rest) {
        self->end(std::move(rest).error());
        co_return;
      }
    }
    if (auto taken = self->on_frame(std::move(frame)); !taken) self->end(std::move(taken).error());
  }
}

asio::awaitable<void> connection_core::watch_loop(std::shared_ptr<connection_core> self) {
  while (!self->ended_) {
    self->next_check_ = steady_time::max();
    for (const auto* queue : {&self->set_up_, &self->ordinary_, &self->under_way_}) {
      for (const auto& call : *queue) self->next_check_ = std::min(self->next_check_, call->expires);
    }
    if (self->next_check_ <= steady_clock::now()) {
      self->expire_overdue();
      continue;
    }
    self->watch_wake_.expires_at(self->next_check_);
    co_await self->watch_wake_.async_wait(asio::as_tuple(asio::use_awaitable));
  }
}

std::size_t connection_core::frame_limit() const noexcept {
  const auto limit = static_cast<std::size_t>(settings_.receive_message_max_bytes);
  return was_ready_ ? limit : std::min(limit, set_up_frame_limit);
}

error connection_core::bad_length(std::int32_t length) const {
  // The first bytes of a TLS alert record read as a length of 0x150303xx (RFC 8446 section 5.1), those of "HTTP" as 0x48545450.
  if (length >> 16 == 0x1503) return fail(errc::malformed, "the answer is a TLS alert: this listener wants security.protocol SSL or SASL_SSL");
  if (length == 0x48545450) return fail(errc::malformed, "the answer is HTTP: this is no Kafka listener");
  return fail(errc::malformed, "an answer claims " + std::to_string(length) + " bytes, allowed are " +
                                   std::to_string(correlation_id_size) + " to " + std::to_string(frame_limit()));
}

result<void> connection_core::on_frame(frame_bytes frame) {
  const std::int32_t correlation_id = wire::reader(*frame).int32();
  if (under_way_.empty()) return fail(errc::malformed, "an answer (correlation id " + std::to_string(correlation_id) + ") to no request");
  const call_ptr call = under_way_.front();
  if (correlation_id != call->correlation_id) {
    return fail(errc::malformed, "answer to correlation id " + std::to_string(correlation_id) + " where " +
                                     std::to_string(call->correlation_id) + " was due");
  }
  under_way_.pop_front();
  auto throttle_time = call->accept(std::move(frame), name_);
  if (!throttle_time) return std::move(throttle_time).error();
  served_ = served_ || was_ready_;
  if (throttle_time->count() > 0) throttle(*throttle_time);
  if (under_way_.empty()) drained_.notify();
  return {};
}

// KIP-219: the broker has answered at once, mutes the connection for that long and expects us to send nothing meanwhile.
void connection_core::throttle(milliseconds length) {
  const auto now = steady_clock::now();
  const auto until = now + std::min(length, throttle_max);
  const auto longer = until - std::max(now, throttled_until_);
  if (longer.count() <= 0) return;
  throttled_until_ = until;
  throttled_ += std::chrono::duration_cast<milliseconds>(longer);
  for (auto* queue : {&ordinary_, &under_way_}) {
    for (const auto& call : *queue) call->expires += longer;
  }
}

void connection_core::expire_overdue() {
  const auto now = steady_clock::now();
  std::string which;
  for (const auto* queue : {&ordinary_, &set_up_, &under_way_}) {
    for (const auto& call : *queue) {
      if (call->expires > now) continue;
      which = std::string(wire::name(call->key)) + " was overdue after " + std::to_string(call->timeout.count()) + " ms";
    }
  }
  for (const auto& call : under_way_) {
    if (call->expires > now) continue;
    call->fail(fail(errc::timed_out, name_ + ": no answer to " + std::string(wire::name(call->key)) + " within " +
                                         std::to_string(call->timeout.count()) + " ms"));
  }
  end(fail(errc::timed_out, std::move(which)));
}

void connection_core::fail_call(call_state& call, const error& why, bool sent) const {
  if (call.done()) return;
  error e = why;
  // Before set-up has ended the cause itself is what the caller needs to see: a refused certificate, a bad password.
  if (was_ready_) e.code = sent ? errc::connection_lost : errc::unreachable;
  e.context = name_ + ": " + std::string(wire::name(call.key)) + (sent ? ": no answer: " : ": not sent: ") + why.context;
  // A listener that wants SASL shows it by hanging up at the first request.
  const bool silent_refusal = was_ready_ && !served_ && why.code == errc::connection_lost && !uses_sasl(settings_.security_protocol);
  if (silent_refusal) e.context += ": does this listener want SASL? Compare security.protocol";
  call.fail(std::move(e));
}

void connection_core::end(error why) {
  if (ended_) return;
  ended_ = std::move(why);
  stream_->close();
  for (const auto& call : std::exchange(under_way_, {})) fail_call(*call, *ended_, true);
  for (auto* queue : {&set_up_, &ordinary_}) {
    for (const auto& call : std::exchange(*queue, {})) fail_call(*call, *ended_, false);
  }
  drained_.notify();
  tasks_.cancel();
}

}  // namespace mirrord::client::detail
