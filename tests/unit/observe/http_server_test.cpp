// The status server over real sockets: the client is a blocking one in a thread of its own, the server runs its loop
// in the test's thread.
#include "observe/http_server.hpp"

#include <catch2/catch.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>
#include <boost/json/parse.hpp>

#include <algorithm>
#include <exception>
#include <optional>
#include <thread>

using namespace mirrord;
using namespace mirrord::observe;
namespace asio = boost::asio;
using asio::ip::tcp;
using namespace std::chrono_literals;

namespace {

class client {
 public:
  explicit client(std::uint16_t port) : socket_(context_) {
    socket_.connect(tcp::endpoint(asio::ip::address_v4::loopback(), port));
    socket_.set_option(tcp::no_delay(true));
  }

  void send(std::string_view text) {
    boost::system::error_code ignored;  // a server that refused us may have closed already
    asio::write(socket_, asio::buffer(text), ignored);
  }

  // Everything until the server closes.
  std::string read_all() {
    std::string out;
    boost::system::error_code ec;
    asio::read(socket_, asio::dynamic_buffer(out), ec);
    return out;
  }

  std::string read_exactly(std::size_t size) {
    std::string out(size, '\0');
    boost::system::error_code ec;
    out.resize(asio::read(socket_, asio::buffer(out), ec));
    return out;
  }

  // Header and body of one answer, by its Content-Length.
  std::string read_answer() {
    std::string out;
    while (!out.ends_with("\r\n\r\n")) {
      const auto next = read_exactly(1);
      if (next.empty()) return out;
      out += next;
    }
    const auto at = out.find("Content-Length: ");
    return out + read_exactly(std::stoul(out.substr(at + 16)));
  }

 private:
  asio::io_context context_;
  tcp::socket socket_;
};

// Runs `story` against a server; ends when the story has ended and the server has stopped in order.
struct fixture {
  void run(const std::function<void(std::uint16_t port)>& story) {
    http_server server(loop.get_executor(), options, [this] {
      ++snapshots;
      return snapshot;
    });
    const auto port = server.start().value();
    std::exception_ptr failure;
    std::thread teller([&] {
      try {
        story(port);
      } catch (...) {
        failure = std::current_exception();
      }
      asio::post(loop, [&] { asio::co_spawn(loop, server.stop(), [&](std::exception_ptr e) { stopped = !e; }); });
    });
    loop.run();
    teller.join();
    CHECK(stopped);
    CHECK(server.connections() == 0);
    if (failure) std::rethrow_exception(failure);
  }

  asio::io_context loop{1};
  http_options options{.port = 0};
  status_snapshot snapshot{.daemon_version = "0.1.0", .instance = "i", .destination_cluster_id = "", .uptime_ms = 1, .monotonic_ms = 2, .mirrors = {}};
  int snapshots = 0;
  bool stopped = false;
};

std::string ask(std::uint16_t port, std::string_view request) {
  client c(port);
  c.send(request);
  return c.read_all();
}

}  // namespace

TEST_CASE("GET and HEAD") {
  fixture f;
  std::string health, head, status, missing, query;
  f.run([&](std::uint16_t port) {
    health = ask(port, "GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    head = ask(port, "HEAD /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    status = ask(port, "GET /status HTTP/1.0\r\n\r\n");
    query = ask(port, "GET /status?pretty=1 HTTP/1.0\r\n\r\n");
    missing = ask(port, "GET /metrics HTTP/1.0\r\n\r\n");
  });
  CHECK_THAT(health, Catch::StartsWith("HTTP/1.1 200 OK\r\n") && Catch::Contains("Content-Length: 3\r\n") && Catch::EndsWith("\r\n\r\nok\n"));
  CHECK_THAT(head, Catch::StartsWith("HTTP/1.1 200 OK\r\n") && Catch::Contains("Content-Length: 3\r\n") && Catch::EndsWith("\r\n\r\n"));
  CHECK_THAT(status, Catch::Contains("Content-Type: application/json\r\n"));
  const auto body = boost::json::parse(status.substr(status.find("\r\n\r\n") + 4));
  CHECK(body.as_object().at("daemon").as_object().at("version") == "0.1.0");
  CHECK_THAT(query, Catch::StartsWith("HTTP/1.1 200 OK\r\n"));
  CHECK_THAT(missing, Catch::StartsWith("HTTP/1.1 404 Not Found\r\n") && Catch::EndsWith("not found; there are /healthz and /status\n"));
}

TEST_CASE("a connection serves many requests, pipelined ones too, cut at every byte") {
  fixture f;
  std::vector<std::string> answers;
  std::string last;
  f.run([&](std::uint16_t port) {
    client c(port);
    const std::string request = "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n";
    for (std::size_t cut = 1; cut < request.size(); ++cut) {
      c.send(request.substr(0, cut));
      std::this_thread::yield();
      c.send(request.substr(cut));
      answers.push_back(c.read_answer());
    }
    c.send(request + request + "GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    last = c.read_all();
  });
  CHECK(answers.size() == 33);
  for (const auto& a : answers) CHECK_THAT(a, Catch::StartsWith("HTTP/1.1 200 OK\r\n") && Catch::Contains("Connection: keep-alive\r\n") && Catch::EndsWith("\r\n\r\nok\n"));
  std::size_t oks = 0;
  for (auto at = last.find("200 OK"); at != std::string::npos; at = last.find("200 OK", at + 1)) ++oks;
  CHECK(oks == 3);
}

TEST_CASE("other methods, bodies and nonsense are refused and the connection ends") {
  fixture f;
  std::string post, put, body, chunked, nonsense, tls;
  f.run([&](std::uint16_t port) {
    post = ask(port, "POST /status HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello");
    put = ask(port, "PUT /healthz HTTP/1.1\r\nHost: x\r\n\r\n");
    body = ask(port, "GET /status HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n" + std::string(30'000, 'x'));
    chunked = ask(port, "GET /status HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n");
    nonsense = ask(port, "hello there\r\n\r\n");
    tls = ask(port, std::string_view("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", 15));
  });
  CHECK_THAT(post, Catch::StartsWith("HTTP/1.1 405 Method Not Allowed\r\n") && Catch::Contains("Allow: GET, HEAD\r\n") && Catch::Contains("Connection: close\r\n"));
  CHECK_THAT(put, Catch::StartsWith("HTTP/1.1 405 "));
  CHECK_THAT(body, Catch::StartsWith("HTTP/1.1 413 "));
  CHECK_THAT(chunked, Catch::StartsWith("HTTP/1.1 413 "));
  CHECK_THAT(nonsense, Catch::StartsWith("HTTP/1.1 400 Bad Request\r\n"));
  CHECK_THAT(tls, Catch::StartsWith("HTTP/1.1 400 "));
  CHECK(f.snapshots == 0);
}

TEST_CASE("an oversized header is refused, in one field, in many, and in the target") {
  fixture f;
  std::string one, many, target, endless, fits;
  f.run([&](std::uint16_t port) {
    one = ask(port, "GET /healthz HTTP/1.1\r\nX: " + std::string(9'000, 'a') + "\r\n\r\n");
    std::string fields;
    for (int i = 0; i < 1'000; ++i) fields += "X-" + std::to_string(i) + ": aaaa\r\n";
    many = ask(port, "GET /healthz HTTP/1.1\r\n" + fields + "\r\n");
    target = ask(port, "GET /" + std::string(9'000, 'a') + " HTTP/1.1\r\n\r\n");
    endless = ask(port, std::string(20'000, 'G'));
    fits = ask(port, "GET /healthz HTTP/1.0\r\nX: " + std::string(7'000, 'a') + "\r\n\r\n");
  });
  CHECK_THAT(one, Catch::StartsWith("HTTP/1.1 431 "));
  CHECK_THAT(many, Catch::StartsWith("HTTP/1.1 431 "));
  CHECK_THAT(target, Catch::StartsWith("HTTP/1.1 431 "));
  CHECK_THAT(endless, Catch::StartsWith("HTTP/1.1 4"));
  CHECK_THAT(fits, Catch::StartsWith("HTTP/1.1 200 OK\r\n"));
}

TEST_CASE("a client that sends slowly or nothing is closed in time, each byte buys it none") {
  fixture f;
  f.options.timeout = 150ms;
  std::string silent, slow, idle;
  f.run([&](std::uint16_t port) {
    silent = client(port).read_all();
    client trickle(port);
    std::thread feeder([&] {
      for (int i = 0; i < 100; ++i) {
        trickle.send("G");
        std::this_thread::sleep_for(5ms);
      }
    });
    slow = trickle.read_all();
    feeder.join();
    client keeps(port);
    keeps.send("GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n");
    idle = keeps.read_all();
  });
  CHECK(silent.empty());
  CHECK(slow.empty());
  CHECK_THAT(idle, Catch::StartsWith("HTTP/1.1 200 OK\r\n"));
}

TEST_CASE("a client that does not read its answer is closed in time") {
  fixture f;
  f.options.timeout = 150ms;
  mirror_status big{std::string(8 * 1024 * 1024, 'm'), "MIRRORING", "", std::nullopt, {}};
  f.snapshot.mirrors.push_back(big);
  std::string rest;
  f.run([&](std::uint16_t port) {
    client c(port);
    c.send("GET /status HTTP/1.1\r\nHost: x\r\n\r\n");
    std::this_thread::sleep_for(600ms);
    rest = c.read_all();
  });
  CHECK(rest.size() < 8 * 1024 * 1024);
}

TEST_CASE("connections beyond the limit are turned away, and are served again afterwards") {
  fixture f;
  f.options.connections_max = 8;
  std::vector<std::string> refused;
  std::string afterwards;
  f.run([&](std::uint16_t port) {
    {
      std::vector<std::unique_ptr<client>> open;
      for (int i = 0; i < 8; ++i) {
        open.push_back(std::make_unique<client>(port));
        open.back()->send("GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n");
        REQUIRE_THAT(open.back()->read_answer(), Catch::StartsWith("HTTP/1.1 200 OK\r\n"));
      }
      for (int i = 0; i < 20; ++i) refused.push_back(client(port).read_all());
    }
    const auto until = std::chrono::steady_clock::now() + 5s;
    while (!afterwards.starts_with("HTTP/1.1 200") && std::chrono::steady_clock::now() < until) {
      afterwards = ask(port, "GET /healthz HTTP/1.0\r\n\r\n");
    }
  });
  for (const auto& r : refused) CHECK_THAT(r, Catch::StartsWith("HTTP/1.1 503 Service Unavailable\r\n"));
  CHECK_THAT(afterwards, Catch::StartsWith("HTTP/1.1 200 OK\r\n"));
}

TEST_CASE("many clients at once share the work") {
  fixture f;
  std::vector<std::string> answers(60);
  f.run([&](std::uint16_t port) {
    std::vector<std::thread> threads;
    for (auto& a : answers) threads.emplace_back([&a, port] { a = ask(port, "GET /status HTTP/1.1\r\nConnection: close\r\n\r\n"); });
    for (auto& t : threads) t.join();
  });
  CHECK(std::all_of(answers.begin(), answers.end(), [](const std::string& a) { return a.starts_with("HTTP/1.1 200 OK\r\n"); }));
}

TEST_CASE("stopping closes open connections") {
  fixture f;
  std::optional<client> open;
  f.run([&](std::uint16_t port) { open.emplace(port); });
  CHECK(open->read_all().empty());
}

TEST_CASE("an address that cannot be listened on is told with its reason") {
  asio::io_context loop;
  const auto nothing = [] { return status_snapshot{}; };
  http_server first(loop.get_executor(), {.port = 0}, nothing);
  const auto port = first.start().value();
  http_server second(loop.get_executor(), {.port = port}, nothing);
  const auto taken = second.start();
  REQUIRE_FALSE(taken.has_value());
  CHECK(taken.error().message() == "listen for HTTP on 127.0.0.1:" + std::to_string(port) + ": Address already in use");
  http_server third(loop.get_executor(), {.address = "localhost", .port = 0}, nothing);
  const auto no_address = third.start();
  REQUIRE_FALSE(no_address.has_value());
  CHECK(no_address.error().code == errc::invalid);
  asio::co_spawn(loop, first.stop(), [](std::exception_ptr) {});
  loop.run();
}
