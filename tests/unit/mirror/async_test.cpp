// one_shot and bounded_queue: order, capacity, closing, and who is woken when. Nothing here waits for real time: each
// poll() of the context runs everything that can go on.
#include "mirror/async.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <catch2/catch.hpp>

#include <algorithm>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

using namespace mirrord::mirror;

namespace {

// Runs coroutines until nothing can go on, and counts those that have ended.
class runner {
 public:
  void start(asio::awaitable<void> task) {
    ++started_;
    asio::co_spawn(context_, std::move(task), [this](std::exception_ptr failure) {
      ++ended_;
      if (failure) std::rethrow_exception(failure);
    });
  }

  void settle() {
    context_.restart();
    context_.poll();
  }

  [[nodiscard]] int waiting() const noexcept { return started_ - ended_; }
  [[nodiscard]] asio::any_io_executor executor() { return context_.get_executor(); }

 private:
  asio::io_context context_;
  int started_ = 0;
  int ended_ = 0;
};

using int_queue = bounded_queue<int>;

asio::awaitable<void> push(int_queue& queue, int value, std::vector<std::string>& events) {
  const bool taken = co_await queue.push(value);
  events.push_back((taken ? "pushed " : "refused ") + std::to_string(value));
}

asio::awaitable<void> pop(int_queue& queue, std::vector<std::string>& events) {
  const std::optional<int> value = co_await queue.pop();
  events.push_back(value ? "popped " + std::to_string(*value) : "nothing");
}

asio::awaitable<void> push_all(int_queue& queue, int count, int& pushed) {
  // g++ 12 breaks a coroutine that awaits inside a condition and has no local variable at all.
  for (; pushed < count; ++pushed) {
    const bool taken = co_await queue.push(pushed);
    if (!taken) co_return;
  }
  queue.close();
}

asio::awaitable<void> pop_all(int_queue& queue, std::vector<int>& popped) {
  while (true) {
    const std::optional<int> value = co_await queue.pop();
    if (!value) co_return;
    popped.push_back(*value);
  }
}

template <class T>
asio::awaitable<void> await_value(one_shot<T>& shot, std::vector<T>& seen) {
  co_await shot.wait();
  seen.push_back(std::move(shot.value()));
}

using events = std::vector<std::string>;

}  // namespace

TEST_CASE("a one_shot wakes its waiter with the value", "[async]") {
  runner run;
  one_shot<int> shot(run.executor());
  std::vector<int> seen;
  run.start(await_value(shot, seen));
  run.settle();
  CHECK(run.waiting() == 1);
  CHECK_FALSE(shot.ready());

  shot.fulfil(7);
  CHECK(shot.ready());
  CHECK(seen.empty());  // the waiter runs later, never inside fulfil()
  run.settle();
  CHECK(run.waiting() == 0);
  CHECK(seen == std::vector<int>{7});
}

TEST_CASE("a one_shot that is fulfilled before anybody waits does not make them wait", "[async]") {
  runner run;
  one_shot<int> shot(run.executor());
  shot.fulfil(7);
  std::vector<int> seen;
  run.start(await_value(shot, seen));
  run.start(await_value(shot, seen));
  run.settle();
  CHECK(run.waiting() == 0);
  CHECK(seen == std::vector<int>{7, 7});
}

TEST_CASE("a one_shot fulfilled between the start of its waiter and its first step is not missed", "[async]") {
  runner run;
  one_shot<int> shot(run.executor());
  std::vector<int> seen;
  run.start(await_value(shot, seen));
  shot.fulfil(8);
  run.settle();
  CHECK(seen == std::vector<int>{8});
}

TEST_CASE("a one_shot carries what can only be moved, and its value can be changed in place", "[async]") {
  runner run;
  one_shot<std::unique_ptr<int>> shot(run.executor());
  std::vector<std::unique_ptr<int>> seen;
  run.start(await_value(shot, seen));
  run.settle();
  shot.fulfil(std::make_unique<int>(1));
  *shot.value() = 2;
  run.settle();
  REQUIRE(seen.size() == 1);
  CHECK(*seen[0] == 2);
}

TEST_CASE("a queue gives out what it was given, in order", "[async]") {
  runner run;
  int_queue queue(run.executor(), 3);
  events log;
  CHECK(queue.empty());
  for (int value : {1, 2, 3}) run.start(push(queue, value, log));
  run.settle();
  CHECK_FALSE(queue.empty());
  for (int i = 0; i < 3; ++i) run.start(pop(queue, log));
  run.settle();
  CHECK(log == events{"pushed 1", "pushed 2", "pushed 3", "popped 1", "popped 2", "popped 3"});
  CHECK(queue.empty());
}

TEST_CASE("push waits for room, exactly at the capacity", "[async]") {
  const int capacity = GENERATE(1, 2, 5);
  runner run;
  int_queue queue(run.executor(), static_cast<std::size_t>(capacity));
  int pushed = 0;
  run.start(push_all(queue, 10, pushed));
  run.settle();
  CHECK(pushed == capacity);
  CHECK(run.waiting() == 1);

  events log;
  run.start(pop(queue, log));
  run.settle();
  CHECK(log == events{"popped 0"});
  CHECK(pushed == capacity + 1);
  CHECK(run.waiting() == 1);
}

TEST_CASE("pop waits for an element, and is woken by a push", "[async]") {
  runner run;
  int_queue queue(run.executor(), 2);
  events log;
  run.start(pop(queue, log));
  run.settle();
  CHECK(run.waiting() == 1);
  run.start(push(queue, 4, log));
  run.settle();
  CHECK(run.waiting() == 0);
  CHECK(log == events{"pushed 4", "popped 4"});
}

TEST_CASE("one element wakes several waiting readers, and one of them gets it", "[async]") {
  runner run;
  int_queue queue(run.executor(), 2);
  events log;
  for (int i = 0; i < 3; ++i) run.start(pop(queue, log));
  run.settle();
  run.start(push(queue, 4, log));
  run.settle();
  CHECK(log == events{"pushed 4", "popped 4"});
  CHECK(run.waiting() == 2);
  queue.close();
  run.settle();
  CHECK(log == events{"pushed 4", "popped 4", "nothing", "nothing"});
}

TEST_CASE("room for one wakes several waiting writers, and one of them takes it", "[async]") {
  runner run;
  int_queue queue(run.executor(), 1);
  events log;
  for (int value : {1, 2, 3}) run.start(push(queue, value, log));
  run.settle();
  CHECK(log == events{"pushed 1"});
  run.start(pop(queue, log));
  run.settle();
  CHECK(log == events{"pushed 1", "popped 1", "pushed 2"});
  CHECK(run.waiting() == 1);
  queue.close();
  run.settle();
  CHECK(log.back() == "refused 3");
  CHECK(run.waiting() == 0);
}

TEST_CASE("closing wakes a waiting reader with nothing", "[async]") {
  runner run;
  int_queue queue(run.executor(), 1);
  events log;
  run.start(pop(queue, log));
  run.settle();
  queue.close();
  CHECK(log.empty());  // the waiter runs later, never inside close()
  run.settle();
  CHECK(log == events{"nothing"});
}

TEST_CASE("closing refuses a waiting writer, although there is room again", "[async]") {
  runner run;
  int_queue queue(run.executor(), 1);
  events log;
  run.start(push(queue, 1, log));
  run.start(push(queue, 2, log));
  run.settle();
  queue.close();
  run.start(pop(queue, log));
  run.settle();
  CHECK(log.size() == 3);
  CHECK(std::find(log.begin(), log.end(), "refused 2") != log.end());
  CHECK(std::find(log.begin(), log.end(), "popped 1") != log.end());
}

TEST_CASE("a closed queue hands out what is left, then nothing for ever, and takes no more", "[async]") {
  runner run;
  int_queue queue(run.executor(), 3);
  events log;
  run.start(push(queue, 1, log));
  run.start(push(queue, 2, log));
  run.settle();
  queue.close();
  queue.close();
  run.start(push(queue, 3, log));
  for (int i = 0; i < 4; ++i) run.start(pop(queue, log));
  run.settle();
  CHECK(log == events{"pushed 1", "pushed 2", "refused 3", "popped 1", "popped 2", "nothing", "nothing"});
  CHECK(run.waiting() == 0);
  CHECK(queue.empty());
}

TEST_CASE("discarding lets go of what is left and makes room", "[async]") {
  runner run;
  bounded_queue<std::shared_ptr<int>> queue(run.executor(), 1);
  auto held = std::make_shared<int>(1);
  std::vector<bool> taken;
  const auto put = [](bounded_queue<std::shared_ptr<int>>& q, std::shared_ptr<int> value, std::vector<bool>& into) -> asio::awaitable<void> {
    const bool done = co_await q.push(std::move(value));
    into.push_back(done);
  };
  run.start(put(queue, held, taken));
  run.start(put(queue, nullptr, taken));
  run.settle();
  CHECK(run.waiting() == 1);
  CHECK(held.use_count() == 2);
  queue.discard();
  CHECK(held.use_count() == 1);
  run.settle();
  CHECK(taken == std::vector<bool>{true, true});

  queue.close();
  queue.discard();
  CHECK(queue.empty());
}

TEST_CASE("a fast writer and a reader pass everything in order, through any capacity", "[async]") {
  const std::size_t capacity = GENERATE(1u, 2u, 7u, 1000u);
  runner run;
  int_queue queue(run.executor(), capacity);
  int pushed = 0;
  std::vector<int> popped;
  const bool reader_first = GENERATE(false, true);
  if (reader_first) run.start(pop_all(queue, popped));
  run.start(push_all(queue, 500, pushed));
  if (!reader_first) run.start(pop_all(queue, popped));
  run.settle();
  CHECK(run.waiting() == 0);
  CHECK(pushed == 500);
  REQUIRE(popped.size() == 500);
  for (int i = 0; i < 500; ++i) {
    if (popped[static_cast<std::size_t>(i)] != i) FAIL("out of order at " << i);
  }
}

TEST_CASE("several writers and readers lose nothing and hang nobody", "[async]") {
  runner run;
  int_queue queue(run.executor(), 2);
  events written;
  std::vector<int> popped;
  for (int value = 0; value < 50; ++value) run.start(push(queue, value, written));
  for (int i = 0; i < 3; ++i) run.start(pop_all(queue, popped));
  run.settle();
  CHECK(written.size() == 50);
  CHECK(popped.size() == 50);
  CHECK(run.waiting() == 3);
  queue.close();
  run.settle();
  CHECK(run.waiting() == 0);
  std::sort(popped.begin(), popped.end());
  for (int i = 0; i < 50; ++i) CHECK(popped[static_cast<std::size_t>(i)] == i);
}

TEST_CASE("a queue carries what can only be moved", "[async]") {
  runner run;
  bounded_queue<std::unique_ptr<int>> queue(run.executor(), 1);
  std::unique_ptr<int> got;
  run.start([](bounded_queue<std::unique_ptr<int>>& q) -> asio::awaitable<void> {
    auto value = std::make_unique<int>(5);
    (void)co_await q.push(std::move(value));
  }(queue));
  run.start([](bounded_queue<std::unique_ptr<int>>& q, std::unique_ptr<int>& into) -> asio::awaitable<void> {
    auto value = co_await q.pop();
    if (value) into = std::move(*value);
  }(queue, got));
  run.settle();
  REQUIRE(got);
  CHECK(*got == 5);
}
