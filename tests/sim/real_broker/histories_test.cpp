// The simulated broker is itself checked: random histories give the same answers as a real broker, step by step.
//
// MIRRORD_TEST_DESTINATION is the real one's bootstrap string, a single broker with
// transaction.partition.verification.enable=false and producer.id.expiration.check.interval.ms=1000.
// MIRRORD_SIM_FIRST and MIRRORD_SIM_HISTORIES choose others than the first 300.
#include "tests/sim/real_broker/real_partition.hpp"
#include "tests/support/destination_cluster.hpp"

#include <iostream>

namespace mirrord::sim {
namespace {

constexpr std::int64_t steps = 40;
constexpr std::int32_t workers = 6;
constexpr std::uint64_t traces_max = 3;

struct kind_of_topic {
  log_settings settings;
  std::map<std::string, std::string> config;
  std::string name{};
};

// Every third history each.
std::vector<kind_of_topic> kinds() {
  return {{{}, {{"cleanup.policy", "delete"}}},
          {{1'048'588, true, false}, {{"cleanup.policy", "compact"}}},
          {{500, true, true}, {{"cleanup.policy", "compact,delete"}, {"max.message.bytes", "500"}}}};
}

std::uint64_t number_from_environment(const char* name, std::uint64_t otherwise) {
  const auto text = test::environment(name);
  return text.empty() ? otherwise : std::stoull(text);
}

std::int64_t wall_ms() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::system_clock::now().time_since_epoch()).count();
}

asio::awaitable<void> create(asio::any_io_executor executor, std::string name, std::map<std::string, std::string> config, std::int32_t partitions) {
  const auto admin = test::open_admin(executor);
  client::topic_creation creation;
  creation.name = std::move(name);
  creation.partitions = partitions;
  creation.config = std::move(config);
  const auto created = co_await admin->create_topic(std::move(creation), test::in(std::chrono::seconds(30)));
  test::require_ok(created);
  co_await admin->close();
}

struct work {
  std::uint64_t next;
  std::uint64_t end;
  std::uint64_t first;
  std::vector<kind_of_topic> topics = kinds();
  std::uint64_t operations = 0;
  std::map<std::string, std::uint64_t> answers{};  // how often each: a run without refusals proves little
  std::uint64_t differing = 0;
  std::string report{};
};

// A new topic is known to the broker's metadata, and then to its replica manager, a moment after its creation.
asio::awaitable<result<real_partition>> open_partition(client::cluster& cluster, topic_partition id, std::int32_t lane, std::int64_t now_ms) {
  error last;
  const auto until = test::in(std::chrono::seconds(30));
  while (std::chrono::steady_clock::now() < until) {
    auto leader = co_await cluster.leader_of(id);
    if (leader) {
      auto connection = co_await cluster.connection_to(leader->broker, lane);
      if (!connection) co_return std::move(connection.error());
      real_partition real(std::move(*connection), id, leader->epoch, now_ms);
      auto seen = co_await real.observe();
      if (seen) co_return std::move(real);
      last = std::move(seen.error());
    } else {
      last = std::move(leader.error());
    }
    (void)co_await client::sleep_for(std::chrono::milliseconds(50));
  }
  co_return last;
}

asio::awaitable<result<void>> run_history(client::cluster& cluster, work& all, std::uint64_t seed, std::int32_t lane) {
  const auto& kind = all.topics[seed % all.topics.size()];
  topic_partition id{kind.name, static_cast<std::int32_t>((seed - all.first) / all.topics.size())};
  const auto now_ms = wall_ms() - 1'000;
  auto real = co_await open_partition(cluster, std::move(id), lane, now_ms);
  if (!real) co_return std::move(real.error());
  history simulated(seed, kind.settings, now_ms - 1'000);
  std::string trace = fmt::format("--- history {} on a topic with {}\n", seed, kind.config.at("cleanup.policy"));
  for (std::int64_t step = 0; step < steps; ++step) {
    const operation what = simulated.next();
    const operation_outcome expected = simulated.apply(what);
    const observation expected_after = simulated.observe();
    auto got = co_await real->apply(what);
    if (!got) co_return std::move(got.error());
    auto after = co_await real->observe();
    if (!after) co_return std::move(after.error());
    ++all.operations;
    ++all.answers[broker_error_name(got->code)];
    for (const auto& [pid, code] : got->code_of_producer) ++all.answers["marker " + std::string(broker_error_name(code))];
    trace += fmt::format("{:>3} {}\n      {}\n      {}\n", step, what.text, describe(*got), describe(*after));
    if (*got == expected && *after == expected_after) continue;
    trace += fmt::format("    the simulated broker:\n      {}\n      {}\n", describe(expected), describe(expected_after));
    trace += fmt::format("  replay: MIRRORD_SIM_FIRST={} MIRRORD_SIM_HISTORIES=1 build/release/tests/integration_sim_broker '[histories]'\n", seed);
    if (++all.differing <= traces_max) all.report += trace;
    break;
  }
  co_return result<void>{};
}

asio::awaitable<void> run_worker(client::cluster& cluster, work& all, std::int32_t lane, std::int32_t& left, client::notifier& done) {
  while (all.next < all.end) {
    const auto seed = all.next++;
    auto ran = co_await run_history(cluster, all, seed, lane);
    if (ran) continue;
    ++all.differing;
    all.report += fmt::format("history {}: {}\n", seed, ran.error().message());
  }
  --left;
  done.notify();
}

TEST_CASE("random histories give the same answers on a real broker and on the simulated one", "[histories]") {
  if (!test::available()) return;
  const auto first = number_from_environment("MIRRORD_SIM_FIRST", 1);
  const auto histories = number_from_environment("MIRRORD_SIM_HISTORIES", 300);
  work all{first, first + histories, first};
  test::run([&all, histories](asio::any_io_executor executor) -> asio::awaitable<void> {
    const auto partitions = static_cast<std::int32_t>(histories / all.topics.size()) + 1;
    for (auto& kind : all.topics) {
      kind.name = test::fresh_topic();
      co_await create(executor, kind.name, kind.config, partitions);
    }
    client::cluster cluster(executor, test::destination());
    std::int32_t left = workers;
    client::notifier done(executor);
    for (std::int32_t lane = 0; lane < workers; ++lane) {
      asio::co_spawn(executor, run_worker(cluster, all, lane, left, done), [](std::exception_ptr failure) {
        if (failure) std::rethrow_exception(failure);
      });
    }
    while (left > 0) (void)co_await done.wait();
    co_await cluster.close();
  });
  std::string answers;
  for (const auto& [name, count] : all.answers) answers += fmt::format("{}{} {}", answers.empty() ? "" : ", ", count, name);
  std::cout << histories << " histories, " << all.operations << " operations, " << all.differing << " differ; answers: " << answers << '\n';
  INFO(all.report);
  CHECK(all.differing == 0);
}

operation plain_batch(std::int64_t pid, std::int32_t sequence, std::int64_t time, bool transactional = false) {
  record_spec record;
  record.key = "k";
  record.timestamp = time;
  auto spec = consecutive({record});
  spec.producer_id = pid;
  spec.producer_epoch = 0;
  spec.base_sequence = sequence;
  spec.transactional = transactional;
  return sending(spec, fmt::format("produce pid {} seq {} time {}", pid, sequence, time));
}

operation commit_of(std::int64_t pid) {
  operation made;
  made.what = operation::kind::mark;
  made.markers.push_back({destination_pid{pid}, 0, true, 0});
  made.text = fmt::format("COMMIT pid {}", pid);
  return made;
}

TEST_CASE("a real broker forgets the producers that the simulated one forgets, and takes them for new ones", "[expiry]") {
  if (!test::available()) return;
  test::run([](asio::any_io_executor executor) -> asio::awaitable<void> {
    const std::string topic = test::fresh_topic();
    std::map<std::string, std::string> no_config;
    co_await create(executor, topic, std::move(no_config), 1);
    client::cluster cluster(executor, test::destination());
    const auto now = wall_ms() - 1'000;
    const auto fresh = now - 60'000;
    const auto old = now - 2 * 86'400'000;
    topic_partition id{topic, 0};
    auto opened = co_await open_partition(cluster, std::move(id), 0, now);
    REQUIRE(opened.has_value());
    auto real = std::move(*opened);
    history simulated(1, {}, now);
    std::vector<operation> steps_before;
    steps_before.push_back(plain_batch(1, 0, old));
    steps_before.push_back(plain_batch(2, 0, fresh));
    steps_before.push_back(plain_batch(2, 1, old));
    steps_before.push_back(plain_batch(3, 0, old));
    steps_before.push_back(commit_of(3));
    steps_before.push_back(plain_batch(4, 0, old, true));
    steps_before.push_back(plain_batch(5, 0, old, true));
    steps_before.push_back(commit_of(5));
    steps_before.push_back(plain_batch(6, 0, fresh));
    for (const auto& step : steps_before) {
      const auto expected = simulated.apply(step);
      const auto got = co_await real.apply(step);
      INFO(step.text);
      REQUIRE(got.has_value());
      CHECK(*got == expected);
    }
    simulated.expire_producers(now);
    const auto expected = simulated.observe();
    CHECK(expected.producers.size() == 4);
    result<observation> seen = co_await real.observe();
    const auto until = test::in(std::chrono::seconds(30));
    while (seen && *seen != expected && std::chrono::steady_clock::now() < until) {
      (void)co_await client::sleep_for(std::chrono::milliseconds(50));
      seen = co_await real.observe();
    }
    REQUIRE(seen.has_value());
    INFO("the simulated broker: " << describe(expected) << "\nthe real one: " << describe(*seen));
    CHECK(*seen == expected);
    // The same batch again, any other sequence, and the next one of a producer that is still known.
    std::vector<operation> steps_after;
    steps_after.push_back(plain_batch(1, 0, fresh));
    steps_after.push_back(plain_batch(2, 77, fresh));
    steps_after.push_back(plain_batch(3, 5, fresh));
    steps_after.push_back(plain_batch(3, 1, fresh));
    for (const auto& step : steps_after) {
      const auto wanted = simulated.apply(step);
      const auto got = co_await real.apply(step);
      INFO(step.text);
      REQUIRE(got.has_value());
      CHECK(*got == wanted);
    }
    co_await cluster.close();
  });
}

}  // namespace
}  // namespace mirrord::sim
