#include "client/cluster.hpp"

#include "base/broker_error.hpp"
#include "base/log.hpp"
#include "client/tasks.hpp"

#include <algorithm>
#include <chrono>
#include <map>
#include <random>
#include <set>
#include <utility>

namespace mirrord::client {

using connection_ptr = std::shared_ptr<connection>;
using slot_ptr = std::shared_ptr<connection_slot>;

namespace {

// A question for metadata goes to this many brokers in turn if the connection is lost under it.
constexpr int metadata_attempts = 3;

// A frozen broker keeps its connections: another one is asked long before request.timeout.ms is over. The second one gets
// more time, so that a cluster under heavy load is not asked in vain for ever.
constexpr std::chrono::milliseconds first_metadata_timeout_max{3'000};
constexpr std::chrono::milliseconds metadata_timeout_max{10'000};

random_unit system_random() {
  // Shared by all copies of the function: slots with equal sequences would come back in step.
  auto engine = std::make_shared<std::mt19937_64>(std::random_device{}());
  return [engine] { return std::uniform_real_distribution<double>(0, 1)(*engine); };
}

struct candidate {
  slot_ptr slot;
  endpoint address;
};

// One question to the cluster and everybody who waits for its answer.
struct refresh_round {
  explicit refresh_round(const asio::any_io_executor& executor) : finished(executor) {}

  bool all = false;
  std::set<std::string> topics;
  std::optional<result<void>> outcome;
  notifier finished;

  void finish(result<void> r) {
    if (outcome) return;
    outcome.emplace(std::move(r));
    finished.notify();
  }
};

}  // namespace

struct cluster::impl : std::enable_shared_from_this<impl> {
  impl(const asio::any_io_executor& e, connection_settings s, random_unit r)
      : executor(e), settings(std::move(s)), random(r ? std::move(r) : system_random()), tasks(e) {}

  asio::any_io_executor executor;
  connection_settings settings;
  random_unit random;
  metadata_cache metadata;
  std::map<std::pair<broker_id, std::int32_t>, slot_ptr> slots;
  std::map<endpoint, slot_ptr> bootstrap;
  std::shared_ptr<refresh_round> running;
  std::shared_ptr<refresh_round> next;
  bool closing = false;
  task_group tasks;

  [[nodiscard]] std::shared_ptr<refresh_round> join_next_round();
  void start_rounds();
  void end();
  [[nodiscard]] std::vector<slot_ptr> all_slots() const;
  [[nodiscard]] slot_ptr slot_of(broker_id broker, std::int32_t lane);
  [[nodiscard]] result<std::vector<candidate>> candidates();
  [[nodiscard]] connection_ptr open_control_connection() const;
  [[nodiscard]] result<void> take(const wire::metadata_response& answer, bool all);

  static asio::awaitable<result<void>> wait_for(std::shared_ptr<impl> self, std::shared_ptr<refresh_round> round);
  static asio::awaitable<void> run_rounds(std::shared_ptr<impl> self);
  static asio::awaitable<result<void>> ask(std::shared_ptr<impl> self, std::shared_ptr<refresh_round> round);
  static asio::awaitable<result<connection_ptr>> any_connection(std::shared_ptr<impl> self);
  static asio::awaitable<result<connection_ptr>> connection_to(std::shared_ptr<impl> self, broker_id broker, std::int32_t lane);
  static asio::awaitable<result<leader>> leader_of(std::shared_ptr<impl> self, topic_partition tp);
  static asio::awaitable<void> close(std::shared_ptr<impl> self);
};

// --- connections ----------------------------------------------------------------------------------------------------

slot_ptr cluster::impl::slot_of(broker_id broker, std::int32_t lane) {
  auto& slot = slots[{broker, lane}];
  if (!slot) slot = std::make_shared<connection_slot>(executor, settings, random, "broker " + std::to_string(broker.value));
  return slot;
}

std::vector<slot_ptr> cluster::impl::all_slots() const {
  std::vector<slot_ptr> all;
  for (const auto& [key, slot] : slots) all.push_back(slot);
  for (const auto& [address, slot] : bootstrap) all.push_back(slot);
  return all;
}

// The one with the fewest unanswered requests: a broker that hangs keeps its connections open, and has some.
connection_ptr cluster::impl::open_control_connection() const {
  connection_ptr best;
  const auto consider = [&](const connection_slot& slot) {
    auto open = slot.current();
    if (open && (!best || open->under_way() < best->under_way())) best = std::move(open);
  };
  for (const auto& [key, slot] : slots) {
    if (key.second == control_lane) consider(*slot);
  }
  for (const auto& [address, slot] : bootstrap) consider(*slot);
  return best;
}

// Who can be asked, in the order of asking: brokers before bootstrap servers, each in random order, and those that have
// failed lately last, the one whose back-off ends first before the others.
result<std::vector<candidate>> cluster::impl::candidates() {
  std::vector<candidate> list;
  const auto shuffle_from = [&](std::size_t first) {
    for (std::size_t i = list.size(); i > first + 1; --i) {
      const auto other = first + static_cast<std::size_t>(random() * static_cast<double>(i - first));
      std::swap(list[i - 1], list[std::min(other, i - 1)]);
    }
  };
  for (const auto& [id, info] : metadata.brokers()) list.push_back({slot_of(id, control_lane), info.address});
  shuffle_from(0);
  const std::size_t brokers = list.size();
  for (const auto& text : settings.bootstrap_servers) {
    auto address = parse_endpoint(text);
    if (!address) return std::move(address).error().within("bootstrap.servers");
    auto& slot = bootstrap[*address];
    if (!slot) slot = std::make_shared<connection_slot>(executor, settings, random, "bootstrap server");
    list.push_back({slot, *address});
  }
  shuffle_from(brokers);
  const auto now = std::chrono::steady_clock::now();
  const auto wait_ends = [&](const candidate& c) { return std::max(now, c.slot->not_before()); };
  std::stable_sort(list.begin(), list.end(), [&](const candidate& a, const candidate& b) { return wait_ends(a) < wait_ends(b); });
  return list;
}

asio::awaitable<result<connection_ptr>> cluster::impl::any_connection(std::shared_ptr<impl> self) {
  if (self->closing) co_return fail(errc::cancelled, "the cluster's client is closed");
  if (auto open = self->open_control_connection()) co_return open;
  auto list = self->candidates();
  if (!list) co_return std::move(list).error();
  error last = fail(errc::invalid, "bootstrap.servers is empty");
  for (std::size_t i = 0; i < list->size(); ++i) {
    const candidate& c = (*list)[i];
    // The first is asked even if it means to wait; waiting for the others, too, would only add up.
    if (i > 0 && c.slot->not_before() > std::chrono::steady_clock::now()) break;
    auto opened = co_await c.slot->get(c.address);
    if (opened) co_return opened;
    last = std::move(opened).error();
    if (last.code == errc::cancelled) co_return last;
  }
  co_return last;
}

asio::awaitable<result<connection_ptr>> cluster::impl::connection_to(std::shared_ptr<impl> self, broker_id broker, std::int32_t lane) {
  if (self->closing) co_return fail(errc::cancelled, "the cluster's client is closed");
  if (!self->metadata.brokers().contains(broker)) {
    auto refreshed = co_await wait_for(self, self->join_next_round());
    if (!refreshed) co_return std::move(refreshed).error();
  }
  const auto known = self->metadata.brokers().find(broker);
  if (known == self->metadata.brokers().end()) {
    co_return fail(errc::unreachable, "broker " + std::to_string(broker.value) + ": the cluster does not list it");
  }
  const endpoint address = known->second.address;
  const slot_ptr slot = self->slot_of(broker, lane);
  if (auto failing = slot->failing(address)) co_return std::move(*failing);
  co_return co_await slot->get(address);
}

// --- metadata -------------------------------------------------------------------------------------------------------

std::shared_ptr<refresh_round> cluster::impl::join_next_round() {
  if (!next) next = std::make_shared<refresh_round>(executor);
  return next;
}

asio::awaitable<result<void>> cluster::impl::wait_for(std::shared_ptr<impl> self, std::shared_ptr<refresh_round> round) {
  if (self->closing) round->finish(fail(errc::cancelled, "the cluster's client is closed"));
  self->start_rounds();
  while (!round->outcome) {
    const bool woken = co_await round->finished.wait();
    if (!woken) co_return fail(errc::cancelled, "metadata");
  }
  co_return *round->outcome;
}

void cluster::impl::start_rounds() {
  if (!running && next && !closing) tasks.spawn(run_rounds(shared_from_this()));
}

asio::awaitable<void> cluster::impl::run_rounds(std::shared_ptr<impl> self) {
  while (self->next && !self->closing) {
    self->running = std::exchange(self->next, nullptr);
    auto outcome = co_await ask(self, self->running);
    std::exchange(self->running, nullptr)->finish(std::move(outcome));
  }
}

asio::awaitable<result<void>> cluster::impl::ask(std::shared_ptr<impl> self, std::shared_ptr<refresh_round> round) {
  error last;
  for (int i = 0; i < metadata_attempts && !self->closing; ++i) {
    auto c = co_await any_connection(self);
    if (!c) co_return std::move(c).error();

    wire::metadata_request request;
    if (!round->all) {
      request.topics.emplace();
      for (const auto& name : round->topics) {
        request.topics->emplace_back();
        request.topics->back().name = name;
      }
    }
    const auto patience = i == 0 && self->metadata.brokers().size() > 1 ? first_metadata_timeout_max : metadata_timeout_max;
    auto answer = co_await (*c)->call(request, std::min(self->settings.request_timeout, patience));
    if (answer) co_return self->take(answer->body, round->all);
    last = std::move(answer).error();
    if ((*c)->is_open()) co_return last;
  }
  co_return last;
}

result<void> cluster::impl::take(const wire::metadata_response& answer, bool all) {
  if (is(answer.error_code, kafka_error::rebootstrap_required)) metadata.forget_brokers();
  if (answer.error_code != 0) return broker_failure(answer.error_code, "metadata");
  auto applied = metadata.apply(answer, all);
  if (!applied) {
    log::error("metadata_refused", {{"error", applied.error().message()}});
    return applied;
  }
  // From here on the advertised addresses count; a bootstrap server can be a load balancer.
  if (!metadata.brokers().empty()) {
    for (const auto& [address, slot] : bootstrap) slot->release();
  }
  return {};
}

asio::awaitable<result<leader>> cluster::impl::leader_of(std::shared_ptr<impl> self, topic_partition tp) {
  if (!self->metadata.is_fresh(tp)) {
    auto round = self->join_next_round();
    round->topics.insert(tp.topic);
    auto refreshed = co_await wait_for(self, std::move(round));
    if (!refreshed) co_return std::move(refreshed).error();
  }
  co_return self->metadata.find_leader(tp);
}

// --- the end --------------------------------------------------------------------------------------------------------

void cluster::impl::end() {
  closing = true;
  for (const auto& round : {running, next}) {
    if (round) round->finish(fail(errc::cancelled, "the cluster's client is closed"));
  }
  tasks.cancel();
  for (const auto& slot : all_slots()) slot->close();
}

asio::awaitable<void> cluster::impl::close(std::shared_ptr<impl> self) {
  self->end();
  bool ended = co_await self->tasks.join();
  for (const auto& slot : self->all_slots()) {
    if (ended) ended = co_await slot->closed();
  }
}

cluster::cluster(const asio::any_io_executor& executor, connection_settings settings, random_unit random)
    : impl_(std::make_shared<impl>(executor, std::move(settings), std::move(random))) {}

cluster::~cluster() { impl_->end(); }

asio::awaitable<result<void>> cluster::refresh(std::vector<std::string> topics) {
  auto round = impl_->join_next_round();
  round->topics.insert(topics.begin(), topics.end());
  return impl::wait_for(impl_, std::move(round));
}

asio::awaitable<result<void>> cluster::refresh_all() {
  auto round = impl_->join_next_round();
  round->all = true;
  return impl::wait_for(impl_, std::move(round));
}

const metadata_cache& cluster::metadata() const noexcept { return impl_->metadata; }
asio::awaitable<result<leader>> cluster::leader_of(topic_partition tp) { return impl::leader_of(impl_, std::move(tp)); }
void cluster::leader_moved(const topic_partition& tp, std::int32_t epoch) { impl_->metadata.leader_moved(tp, epoch); }
asio::awaitable<result<connection_ptr>> cluster::connection_to(broker_id broker, std::int32_t lane) {
  return impl::connection_to(impl_, broker, lane);
}
asio::awaitable<result<connection_ptr>> cluster::any_connection() { return impl::any_connection(impl_); }
const connection_settings& cluster::settings() const noexcept { return impl_->settings; }

void cluster::drop_connections() {
  for (const auto& slot : impl_->all_slots()) {
    if (const auto open = slot->current()) open->close();
  }
}

connection_slot::statistics cluster::totals() const {
  connection_slot::statistics sum;
  for (const auto& slot : impl_->all_slots()) {
    const auto one = slot->totals();
    sum.opened += one.opened;
    sum.failed += one.failed;
    sum.throttled += one.throttled;
  }
  return sum;
}

asio::awaitable<void> cluster::close() { return impl::close(impl_); }

}  // namespace mirrord::client
