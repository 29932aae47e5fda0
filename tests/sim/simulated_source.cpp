#include "tests/sim/simulated_source.hpp"

#include "base/broker_error.hpp"
#include "base/check.hpp"

#include <algorithm>
#include <memory>

namespace mirrord::sim {

using std::chrono::microseconds;
using std::chrono::milliseconds;

std::int64_t simulated_source::append(batch_spec batch) {
  const auto base_offset = log_.append_unchecked(encode(batch), 7);
  batch.base_offset = base_offset;
  remember(batch);
  trace_.add("source: [{}, {}) pid {} epoch {}{}{} codec {}", base_offset, log_.end(), batch.producer_id, batch.producer_epoch,
             batch.transactional ? " txn" : "", batch.control ? " control" : "", wire::name(batch.compression));
  advance_soon();
  return base_offset;
}

std::int64_t simulated_source::end_transaction(std::int64_t producer, std::int16_t epoch, bool commit) {
  auto marker = control_batch(producer, epoch, commit ? 1 : 0, 3, clock_.wall_ms());
  marker.base_offset = log_.append_unchecked(encode(marker), 7);
  remember(marker);
  trace_.add("source: {} of pid {} at {}", commit ? "COMMIT" : "ABORT", producer, marker.base_offset);
  advance_soon();
  return marker.base_offset;
}

void simulated_source::remember(const batch_spec& batch) {
  specs_.emplace(batch.base_offset, batch);
  for (const auto& record : batch.records) {
    offset_truth truth;
    truth.producer = batch.producer_id;
    truth.transactional = batch.transactional;
    truth.record = record;
    truth.record.offset_delta = 0;
    if (batch.append_time) truth.record.timestamp = *batch.append_time;
    if (batch.control) {
      const auto type = record.key && record.key->size() == 4 ? static_cast<int>((*record.key)[3]) : -1;
      truth.what = type == 0 || type == 1 ? offset_truth::kind::end_marker : offset_truth::kind::other_control;
      truth.commit = type == 1;
    }
    truths_.emplace(batch.base_offset + record.offset_delta, std::move(truth));
  }
}

void simulated_source::compact(std::int64_t base_offset, const std::function<bool(std::int64_t)>& keep, bool remove_if_empty,
                               std::optional<std::int64_t> delete_horizon) {
  batch_spec& spec = specs_.at(base_offset);
  const auto before = spec.records.size();
  std::erase_if(spec.records, [&](const record_spec& record) { return !keep(base_offset + record.offset_delta); });
  if (spec.records.empty() && remove_if_empty) {
    log_.replace(base_offset, std::nullopt);
    specs_.erase(base_offset);
    return;
  }
  if (delete_horizon && !spec.append_time) spec.delete_horizon = delete_horizon;
  if (spec.records.size() != before || delete_horizon) log_.replace(base_offset, encode(spec));
}

void simulated_source::move_start(std::int64_t offset) {
  log_.move_start(std::min(offset, high_watermark_));
  trace_.add("source: log start is now {}", log_.start());
}

void simulated_source::advance_soon() {
  const auto end = log_.end();
  clock_.after(microseconds(random_.between(0, 3'000)), [this, end] {
    high_watermark_ = std::max(high_watermark_, end);
    wake();
  });
}

void simulated_source::settle_high_watermark() {
  high_watermark_ = log_.end();
  regressed_until_ = clock_.now();
  wake();
}

void simulated_source::regress_high_watermark(milliseconds length) {
  regressed_until_ = clock_.now() + length;
  regressed_to_ = random_.between(log_.start(), high_watermark_);
  trace_.add("source: the high watermark falls to {} for {} ms", regressed_to_, length.count());
  clock_.after(length, [this] { wake(); });
}

std::int64_t simulated_source::high_watermark() const noexcept {
  return clock_.now() < regressed_until_ ? std::min(regressed_to_, high_watermark_) : high_watermark_;
}

void simulated_source::when_readable(std::int64_t offset, std::function<void()> done) {
  if (offset < high_watermark()) return done();
  readers_.push_back({offset, std::move(done)});
}

void simulated_source::wake() {
  auto waiting = std::move(readers_);
  readers_.clear();
  for (auto& each : waiting) when_readable(each.offset, std::move(each.done));
}

const offset_truth* simulated_source::truth_at(std::int64_t offset) const {
  const auto found = truths_.find(offset);
  return found == truths_.end() ? nullptr : &found->second;
}

bool simulated_source::has_record(std::int64_t offset) const {
  if (offset < log_.start()) return false;
  auto after = specs_.upper_bound(offset);
  if (after == specs_.begin()) return false;
  const auto& [base_offset, spec] = *std::prev(after);
  if (spec.control) return false;
  return std::any_of(spec.records.begin(), spec.records.end(),
                     [&, base = base_offset](const record_spec& record) { return base + record.offset_delta == offset; });
}

asio::awaitable<result<void>> source_client::question(std::string what) {
  co_await process_.sleep(microseconds(random_.between(50, 2'000)));
  if (process_.gone()) co_return fail(errc::connection_lost, what);
  if (random_.chance(faults_.lost_answer)) {
    co_await process_.sleep(milliseconds(random_.between(1, 500)));
    co_return fail(errc::connection_lost, what);
  }
  co_return result<void>{};
}

asio::awaitable<result<mirror::source_chunk>> source_client::fetch(std::int64_t offset) {
  if (auto asked = co_await question("fetch"); !asked) co_return std::move(asked.error());
  const auto out_of_range = [&] { return offset < source_.log().start() || offset > source_.log().end(); };
  if (out_of_range()) co_return broker_failure(code_of(kafka_error::offset_out_of_range), "fetch");
  if (offset >= source_.high_watermark()) {
    auto woken = std::make_shared<mirror::one_shot<bool>>(process_.clock().context().get_executor());
    std::function<void()> wake = [woken] {
      if (!woken->ready()) woken->fulfil(true);
    };
    source_.when_readable(offset, wake);
    process_.clock().after(milliseconds(500), wake);
    co_await woken->wait();
    if (process_.gone()) co_return fail(errc::connection_lost, "fetch");
    if (out_of_range()) co_return broker_failure(code_of(kafka_error::offset_out_of_range), "fetch");
  }
  mirror::source_chunk chunk;
  chunk.bounds = {source_.log().start(), source_.high_watermark()};
  if (!random_.chance(faults_.empty_answer)) {
    auto bytes = std::make_shared<const std::vector<std::byte>>(cut(offset));
    chunk.records = *bytes;
    chunk.owner = bytes;
  }
  co_await process_.sleep(microseconds(random_.between(50, 1'000)));
  co_return chunk;
}

std::vector<std::byte> source_client::cut(std::int64_t offset) {
  std::vector<std::byte> bytes;
  const auto& entries = source_.log().entries();
  auto entry = entries.upper_bound(offset);
  if (entry != entries.begin() && std::prev(entry)->second.header.next_offset() > offset) --entry;
  const auto end = source_.high_watermark();
  auto left = random_.between(1, faults_.batches_max);
  for (; entry != entries.end() && entry->second.header.next_offset() <= end; ++entry) {
    const auto& whole = entry->second.bytes;
    if (left-- == 0) {
      if (random_.chance(faults_.partial_tail)) {
        const auto part = random_.between(1, static_cast<std::int64_t>(whole.size()) - 1);
        bytes.insert(bytes.end(), whole.begin(), whole.begin() + part);
      }
      break;
    }
    bytes.insert(bytes.end(), whole.begin(), whole.end());
  }
  return bytes;
}

asio::awaitable<result<mirror::source_bounds>> source_client::bounds() {
  if (auto asked = co_await question("bounds"); !asked) co_return std::move(asked.error());
  co_return mirror::source_bounds{source_.log().start(), source_.high_watermark()};
}

asio::awaitable<result<std::vector<mirror::source_producer>>> source_client::producers() {
  if (auto asked = co_await question("producers"); !asked) co_return std::move(asked.error());
  if (!faults_.knows_producers) co_return fail(errc::unsupported, "producers");
  std::vector<mirror::source_producer> all;
  for (const auto& [pid, entry] : source_.log().producers().entries()) all.push_back({source_pid{pid}, entry.epoch, entry.open_since});
  co_return all;
}

}  // namespace mirrord::sim
