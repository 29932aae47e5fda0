// Stories of one connection: what its callers see when the broker answers, stalls, lies or goes away.
#include "client/connection.hpp"

#include "tests/support/fake_broker.hpp"

#include "wire/metadata.hpp"
#include "wire/produce.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>

#include <catch2/catch.hpp>

#include <memory>
#include <string>
#include <vector>

using namespace mirrord;
using namespace mirrord::client;
using namespace std::chrono_literals;
using asio::awaitable;

namespace {

using connection_ptr = std::shared_ptr<connection>;
using metadata_reply = result<reply<wire::metadata_response>>;

wire::metadata_request about(std::string topic) {
  wire::metadata_request r;
  r.topics.emplace();
  r.topics->emplace_back();
  r.topics->back().name = std::move(topic);
  return r;
}

wire::metadata_response saying(std::string cluster_id, std::int32_t throttle_ms = 0) {
  wire::metadata_response r;
  r.cluster_id = std::move(cluster_id);
  r.throttle_time_ms = throttle_ms;
  return r;
}

awaitable<connection_ptr> opened(const fake::broker& b) {
  auto c = co_await connection::open(b.address(), b.settings(), "broker 7");
  if (!c) throw std::runtime_error(c.error().message());
  co_return *c;
}

bool mentions(const error& e, const std::string& words) { return e.message().find(words) != std::string::npos; }

// One client, one broker, side by side.
void play(fake::stage& s, awaitable<void> client, awaitable<void> broker) {
  std::vector<awaitable<void>> parts;
  parts.push_back(std::move(client));
  parts.push_back(std::move(broker));
  s.play(std::move(parts));
}

}  // namespace

TEST_CASE("requests are pipelined and answered in their order", "[connection]") {
  fake::stage s;
  fake::broker b(s.io);
  auto client = [&]() -> awaitable<void> {
    const connection_ptr c = co_await opened(b);
    auto first = c->start_call(about("a"), 5s);
    auto second = c->start_call(about("b"), 5s);
    auto third = c->start_call(about("c"), 5s);
    CHECK_FALSE(first.done());
    const auto last = co_await third.wait();
    CHECK(first.done());
    CHECK(second.done());
    CHECK(last->body.cluster_id == "C");
    const auto a = co_await first.wait();
    CHECK(a->body.cluster_id == "A");
    const auto m = co_await second.wait();
    CHECK(m->body.cluster_id == "B");
    CHECK(c->under_way() == 0);
  };
  auto broker = [&]() -> awaitable<void> {
    const auto p = co_await b.accept_client(fake::usual_versions());
    const auto first = co_await p->read<wire::metadata_request>();
    const auto second = co_await p->read<wire::metadata_request>();
    const auto third = co_await p->read<wire::metadata_request>();
    CHECK(first.second.topics->front().name == "a");
    CHECK(second.second.topics->front().name == "b");
    CHECK(third.second.topics->front().name == "c");
    CHECK(first.first.client_id == "kafka-mirrord");
    CHECK(first.first.version == 13);
    co_await p->answer(first.first, saying("A"));
    co_await p->answer(second.first, saying("B"));
    co_await p->answer(third.first, saying("C"));
    co_await p->read_to_end();
  };
  play(s, client(), broker());
}

TEST_CASE("a call is queued before it is awaited", "[connection]") {
  fake::stage s;
  fake::broker b(s.io);
  auto client = [&]() -> awaitable<void> {
    const connection_ptr c = co_await opened(b);
    auto first = c->call(about("a"), 5s);
    const auto second = co_await c->call(about("b"), 5s);
    CHECK(second->body.cluster_id == "b");
    const auto a = co_await std::move(first);
    CHECK(a->body.cluster_id == "a");
  };
  auto broker = [&]() -> awaitable<void> {
    const auto p = co_await b.accept_client(fake::usual_versions());
    for (int i = 0; i < 2; ++i) {
      const auto [header, request] = co_await p->read<wire::metadata_request>();
      co_await p->answer(header, saying(request.topics->front().name));
    }
    co_await p->read_to_end();
  };
  play(s, client(), broker());
}

TEST_CASE("a lost connection tells sent requests from those that never left", "[connection]") {
  fake::stage s;
  fake::broker b(s.io);
  auto client = [&]() -> awaitable<void> {
    const connection_ptr c = co_await opened(b);
    auto throttled = c->start_call(about("throttle"), 5s);
    auto under_way = c->start_call(about("under way"), 5s);
    (void)co_await throttled.wait();
    auto waiting = c->start_call(about("waiting"), 5s);
    CHECK(c->queued() == 1);
    CHECK(c->under_way() == 1);

    const auto lost = co_await under_way.wait();
    REQUIRE(lost.has_error());
    CHECK(lost.error().code == errc::connection_lost);
    CHECK_FALSE(never_sent(lost.error()));
    CHECK(mentions(lost.error(), "broker 7"));
    CHECK(mentions(lost.error(), "closed by the broker"));

    const auto unsent = co_await waiting.wait();
    REQUIRE(unsent.has_error());
    CHECK(never_sent(unsent.error()));
    CHECK(mentions(unsent.error(), "not sent"));

    CHECK_FALSE(c->is_open());
    const auto late = co_await c->call(about("late"), 5s);
    REQUIRE(late.has_error());
    CHECK(never_sent(late.error()));
    const bool ended = co_await c->closed();
    CHECK(ended);
  };
  auto broker = [&]() -> awaitable<void> {
    const auto p = co_await b.accept_client(fake::usual_versions());
    const auto first = co_await p->read<wire::metadata_request>();
    (void)co_await p->read<wire::metadata_request>();
    co_await p->answer(first.first, saying("x", 60'000));
    co_await fake::pause(20ms);
    p->close();
  };
  play(s, client(), broker());
}

TEST_CASE("an overdue answer ends the connection, and each request with its own error", "[connection]") {
  fake::stage s;
  fake::broker b(s.io);
  auto client = [&]() -> awaitable<void> {
    const connection_ptr c = co_await opened(b);
    auto patient = c->start_call(about("patient"), 5s);
    auto overdue = c->start_call(about("overdue"), 30ms);
    const auto first = co_await overdue.wait();
    REQUIRE(first.has_error());
    CHECK(first.error().code == errc::timed_out);
    CHECK(mentions(first.error(), "30 ms"));
    CHECK_FALSE(never_sent(first.error()));
    const auto second = co_await patient.wait();
    REQUIRE(second.has_error());
    CHECK(second.error().code == errc::connection_lost);
    CHECK(mentions(second.error(), "metadata was overdue"));
    CHECK_FALSE(c->is_open());
  };
  auto broker = [&]() -> awaitable<void> {
    const auto p = co_await b.accept_client(fake::usual_versions());
    co_await p->read_to_end();
  };
  play(s, client(), broker());
}

TEST_CASE("a shorter deadline is kept although a longer one was set before", "[connection]") {
  fake::stage s;
  fake::broker b(s.io);
  auto client = [&]() -> awaitable<void> {
    const connection_ptr c = co_await opened(b);
    auto patient = c->start_call(about("patient"), 1h);
    co_await fake::pause(5ms);
    const auto short_one = co_await c->call(about("short"), 20ms);
    CHECK(short_one.error().code == errc::timed_out);
    const auto lost = co_await patient.wait();
    CHECK(lost.error().code == errc::connection_lost);
  };
  auto broker = [&]() -> awaitable<void> {
    const auto p = co_await b.accept_client(fake::usual_versions());
    co_await p->read_to_end();
  };
  play(s, client(), broker());
}

TEST_CASE("throttle time delays what is sent later and lengthens its deadline", "[connection]") {
  fake::stage s;
  fake::broker b(s.io);
  std::chrono::steady_clock::time_point answered;
  auto client = [&]() -> awaitable<void> {
    const connection_ptr c = co_await opened(b);
    (void)co_await c->call(about("a"), 5s);
    CHECK(c->throttled() == 120ms);
    const auto second = co_await c->call(about("b"), 60ms);
    CHECK(second.has_value());
  };
  auto broker = [&]() -> awaitable<void> {
    const auto p = co_await b.accept_client(fake::usual_versions());
    const auto first = co_await p->read<wire::metadata_request>();
    answered = std::chrono::steady_clock::now();
    co_await p->answer(first.first, saying("A", 120));
    const auto second = co_await p->read<wire::metadata_request>();
    CHECK(std::chrono::steady_clock::now() - answered >= 119ms);
    co_await p->answer(second.first, saying("B"));
    co_await p->read_to_end();
  };
  play(s, client(), broker());
}

TEST_CASE("bytes that are no answer end the connection", "[connection]") {
  struct lie {
    const char* what;
    std::vector<int> bytes;
    errc code;
    const char* words;
  };
  const lie lies[] = {
      {"a length above the limit", {0x7f, 0xff, 0xff, 0xff}, errc::connection_lost, "claims 2147483647 bytes"},
      {"a negative length", {0xff, 0xff, 0xff, 0xff}, errc::connection_lost, "claims -1 bytes"},
      {"a length without room for the correlation id", {0, 0, 0, 3, 0, 0, 0}, errc::connection_lost, "claims 3 bytes"},
      {"another correlation id", {0, 0, 0, 4, 0, 0, 0, 77}, errc::connection_lost, "correlation id 77"},
      {"a body that is cut short", {0, 0, 0, 6, 0, 0, 0, 1, 0, 0}, errc::malformed, "metadata"},
      {"a TLS alert", {0x15, 0x03, 0x03, 0x00, 0x02, 0x02, 0x28}, errc::connection_lost, "security.protocol"},
  };
  for (const lie& l : lies) {
    DYNAMIC_SECTION(l.what) {
      fake::stage s;
      fake::broker b(s.io);
      auto client = [&]() -> awaitable<void> {
        const connection_ptr c = co_await opened(b);
        auto first = c->start_call(about("a"), 5s);
        auto second = c->start_call(about("b"), 5s);
        const auto a = co_await first.wait();
        REQUIRE(a.has_error());
        CHECK(a.error().code == l.code);
        CHECK(mentions(a.error(), l.words));
        const auto m = co_await second.wait();
        REQUIRE(m.has_error());
        CHECK(m.error().code == errc::connection_lost);
        CHECK_FALSE(c->is_open());
      };
      auto broker = [&]() -> awaitable<void> {
        const auto p = co_await b.accept_client(fake::usual_versions());
        (void)co_await p->read<wire::metadata_request>();
        (void)co_await p->read<wire::metadata_request>();
        std::vector<std::byte> bytes;
        for (const int v : l.bytes) bytes.push_back(static_cast<std::byte>(v));
        co_await p->send(std::move(bytes));
        co_await p->read_to_end();
      };
      play(s, client(), broker());
    }
  }
}

TEST_CASE("an answer to no request ends the connection", "[connection]") {
  fake::stage s;
  fake::broker b(s.io);
  auto client = [&]() -> awaitable<void> {
    const connection_ptr c = co_await opened(b);
    const bool ended = co_await c->closed();
    CHECK(ended);
    const auto late = co_await c->call(about("late"), 5s);
    CHECK(mentions(late.error(), "to no request"));
  };
  auto broker = [&]() -> awaitable<void> {
    const auto p = co_await b.accept_client(fake::usual_versions());
    wire::request_header nobody;
    nobody.version = 9;
    co_await p->answer(nobody, saying("x"));
    co_await p->read_to_end();
  };
  play(s, client(), broker());
}

TEST_CASE("an answer that arrives in many pieces, or many in one piece, is taken as it is", "[connection]") {
  fake::stage s;
  fake::broker b(s.io);
  const std::string long_id(200'000, 'x');  // beyond the read buffer
  auto client = [&]() -> awaitable<void> {
    const connection_ptr c = co_await opened(b);
    std::vector<pending_call<wire::metadata_response>> calls;
    for (int i = 0; i < 4; ++i) calls.push_back(c->start_call(about("a"), 5s));
    for (auto& call : calls) {
      const auto answer = co_await call.wait();
      REQUIRE(answer.has_value());
      CHECK(answer->body.cluster_id == long_id);
    }
  };
  auto broker = [&]() -> awaitable<void> {
    const auto p = co_await b.accept_client(fake::usual_versions());
    std::vector<std::byte> all;
    for (int i = 0; i < 4; ++i) {
      const auto [header, request] = co_await p->read<wire::metadata_request>();
      const auto one = wire::encode_response(saying(long_id), header.version, header.correlation_id).flatten();
      all.insert(all.end(), one.begin(), one.end());
    }
    for (const std::size_t cut : {std::size_t{1}, std::size_t{2}, std::size_t{7}, all.size() / 2}) {
      std::vector<std::byte> head(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(cut));
      all.erase(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(cut));
      co_await p->send(std::move(head));
      co_await fake::pause(2ms);
    }
    co_await p->send(std::move(all));
    co_await p->read_to_end();
  };
  play(s, client(), broker());
}

TEST_CASE("the newest common version is used, and none is an error that names both ranges", "[connection]") {
  fake::stage s;
  fake::broker b(s.io);
  auto client = [&]() -> awaitable<void> {
    const connection_ptr c = co_await opened(b);
    CHECK(c->version_for<wire::metadata_request>().value() == 7);
    const auto once = co_await c->call(about("a"), 5s);
    CHECK(once.has_value());

    wire::produce_request produce;
    const auto too_old = co_await c->call(produce, 5s);
    REQUIRE(too_old.has_error());
    CHECK(too_old.error().code == errc::unsupported);
    CHECK(never_sent(too_old.error()));
    CHECK(mentions(too_old.error(), "produce 7..11, the broker 0..5"));

    wire::describe_cluster_request describe;
    const auto unknown = co_await c->call(describe, 5s);
    CHECK(mentions(unknown.error(), "does not offer it"));
    CHECK(c->is_open());
  };
  auto broker = [&]() -> awaitable<void> {
    std::vector<wire::api_version> old;
    old.push_back({0, 0, 5});
    old.push_back({3, 0, 7});
    const auto p = co_await b.accept_client(std::move(old));
    const auto [header, request] = co_await p->read<wire::metadata_request>();
    CHECK(header.version == 7);
    co_await p->answer(header, saying("A"));
    co_await p->read_to_end();
  };
  play(s, client(), broker());
}

TEST_CASE("a broker that knows no new ApiVersions is asked again in its own version", "[connection]") {
  for (const std::int16_t known : {0, 2}) {
    DYNAMIC_SECTION("up to " << known) {
      fake::stage s;
      fake::broker b(s.io);
      auto client = [&]() -> awaitable<void> {
        const connection_ptr c = co_await opened(b);
        CHECK(c->version_for<wire::metadata_request>().value() == 4);
      };
      auto broker = [&]() -> awaitable<void> {
        const auto p = co_await b.accept();
        const auto [header, request] = co_await p->read<wire::api_versions_request>();
        CHECK(header.version == 3);
        CHECK(request.client_software_name == "kafka-mirrord");
        wire::api_versions_response refusal;
        refusal.error_code = 35;
        if (known > 0) refusal.api_keys.push_back({18, 0, known});
        co_await p->send(wire::encode_response(refusal, 0, header.correlation_id).flatten());
        const auto again = co_await p->read<wire::api_versions_request>();
        CHECK(again.first.version == known);
        wire::api_versions_response answer;
        answer.api_keys.push_back({3, 0, 4});
        co_await p->answer(again.first, std::move(answer));
        co_await p->read_to_end();
      };
      play(s, client(), broker());
    }
  }
}

TEST_CASE("a broker that accepts and says nothing costs no more than the set-up time", "[connection]") {
  fake::stage s;
  fake::broker b(s.io);
  auto client = [&]() -> awaitable<void> {
    connection_settings settings = b.settings();
    settings.socket_connection_setup_timeout = 50ms;
    const auto c = co_await connection::open(b.address(), settings, "broker 7");
    REQUIRE(c.has_error());
    CHECK(c.error().code == errc::timed_out);
  };
  auto broker = [&]() -> awaitable<void> {
    const auto p = co_await b.accept();
    co_await p->read_to_end();
  };
  play(s, client(), broker());
}

TEST_CASE("what cannot be reached is told with the address and the reason", "[connection]") {
  fake::stage s;
  fake::broker b(s.io);
  b.shut();
  auto client = [&]() -> awaitable<void> {
    const auto refused = co_await connection::open(b.address(), b.settings(), "broker 7");
    REQUIRE(refused.has_error());
    CHECK(refused.error().code == errc::unreachable);
    CHECK(mentions(refused.error(), "127.0.0.1"));
    CHECK(mentions(refused.error(), "refused"));

    endpoint nowhere{"no-such-host.invalid", 9092};
    const auto unknown = co_await connection::open(nowhere, b.settings(), "broker 7");
    REQUIRE(unknown.has_error());
    CHECK(unknown.error().code == errc::unreachable);
    CHECK(mentions(unknown.error(), "no-such-host.invalid"));
  };
  std::vector<awaitable<void>> parts;
  parts.push_back(client());
  s.play(std::move(parts));
}

TEST_CASE("a cancelled wait ends at once and leaves the connection alone", "[connection]") {
  fake::stage s;
  fake::broker b(s.io);
  asio::cancellation_signal stop;
  bool was_cancelled = false;
  connection_ptr c;
  auto waiter = [&]() -> awaitable<void> {
    const auto answer = co_await c->call(about("a"), 5s);
    was_cancelled = answer.has_error() && answer.error().code == errc::cancelled;
  };
  auto client = [&]() -> awaitable<void> {
    c = co_await opened(b);
    asio::co_spawn(s.io, waiter(), asio::bind_cancellation_slot(stop.slot(), [](std::exception_ptr) {}));
    co_await fake::pause(5ms);
    stop.emit(asio::cancellation_type::terminal);
    co_await fake::pause(5ms);
    CHECK(was_cancelled);
    const auto next = co_await c->call(about("b"), 5s);
    CHECK(next.has_value());
    c.reset();
  };
  auto broker = [&]() -> awaitable<void> {
    const auto p = co_await b.accept_client(fake::usual_versions());
    for (int i = 0; i < 2; ++i) {
      const auto [header, request] = co_await p->read<wire::metadata_request>();
      if (i == 0) co_await fake::pause(30ms);
      co_await p->answer(header, saying("x"));
    }
    co_await p->read_to_end();
  };
  play(s, client(), broker());
}

TEST_CASE("opening can be cancelled at every step", "[connection]") {
  fake::stage s;
  fake::broker b(s.io);
  for (const int answered_requests : {0, 1}) {
    DYNAMIC_SECTION("after " << answered_requests << " answers") {
      asio::cancellation_signal stop;
      std::optional<errc> seen;
      auto opener = [&]() -> awaitable<void> {
        connection_settings settings = b.settings();
        settings.security_protocol = security_protocol::sasl_plaintext;
        const auto c = co_await connection::open(b.address(), settings, "broker 7");
        if (c.has_error()) seen = c.error().code;
      };
      auto broker = [&]() -> awaitable<void> {
        const auto p = co_await b.accept();
        if (answered_requests > 0) co_await fake::answer_api_versions(p, fake::usual_versions());
        co_await p->read_to_end();
      };
      auto client = [&]() -> awaitable<void> {
        asio::co_spawn(s.io, opener(), asio::bind_cancellation_slot(stop.slot(), [](std::exception_ptr) {}));
        co_await fake::pause(20ms);
        stop.emit(asio::cancellation_type::terminal);
      };
      play(s, client(), broker());
      CHECK(seen == errc::cancelled);
    }
  }
}

TEST_CASE("close completes every request, as often as it is called", "[connection]") {
  fake::stage s;
  fake::broker b(s.io);
  auto client = [&]() -> awaitable<void> {
    const connection_ptr c = co_await opened(b);
    auto call = c->start_call(about("a"), 5s);
    co_await fake::pause(5ms);
    c->close();
    c->close();
    CHECK(call.done());
    const auto lost = co_await call.wait();
    CHECK(lost.error().code == errc::connection_lost);
    CHECK(mentions(lost.error(), "closed here"));
    const bool ended = co_await c->closed();
    CHECK(ended);
    const bool still_ended = co_await c->closed();
    CHECK(still_ended);
  };
  auto broker = [&]() -> awaitable<void> {
    const auto p = co_await b.accept_client(fake::usual_versions());
    co_await p->read_to_end();
  };
  play(s, client(), broker());
}

TEST_CASE("letting go of the last reference closes", "[connection]") {
  fake::stage s;
  fake::broker b(s.io);
  auto client = [&]() -> awaitable<void> {
    connection_ptr c = co_await opened(b);
    auto call = c->start_call(about("a"), 5s);
    c.reset();
    const auto lost = co_await call.wait();
    CHECK(lost.has_error());
  };
  auto broker = [&]() -> awaitable<void> {
    const auto p = co_await b.accept_client(fake::usual_versions());
    co_await p->read_to_end();
  };
  play(s, client(), broker());
}

TEST_CASE("an io_context may go away with everything under way", "[connection]") {
  auto s = std::make_unique<fake::stage>();
  fake::broker b(s->io);
  connection_ptr c;
  std::optional<pending_call<wire::metadata_response>> call;
  auto client = [&]() -> awaitable<void> {
    c = co_await opened(b);
    call.emplace(c->start_call(about("a"), 5s));
  };
  auto broker = [&]() -> awaitable<void> {
    const auto p = co_await b.accept_client(fake::usual_versions());
    (void)co_await p->read<wire::metadata_request>();
  };
  play(*s, client(), broker());
  call.reset();
  c.reset();
}

TEST_CASE("borrowed record bytes are copied without an owner, and let go after the write with one", "[connection]") {
  fake::stage s;
  fake::broker b(s.io);
  auto client = [&]() -> awaitable<void> {
    const connection_ptr c = co_await opened(b);
    auto bytes = std::make_shared<std::vector<std::byte>>(100'000, std::byte{7});
    wire::produce_request request;
    request.acks = -1;
    request.topic_data.emplace_back();
    request.topic_data.back().name = "t";
    request.topic_data.back().partition_data.emplace_back();
    request.topic_data.back().partition_data.back().records.pieces.emplace_back(*bytes);

    auto copied = c->start_call(request, 5s);
    auto owned = c->start_call(request, 5s, bytes);
    CHECK(bytes.use_count() == 2);
    (void)co_await copied.wait();
    (void)co_await owned.wait();
    co_await fake::pause(1ms);
    CHECK(bytes.use_count() == 1);
  };
  auto broker = [&]() -> awaitable<void> {
    const auto p = co_await b.accept_client(fake::usual_versions());
    for (int i = 0; i < 2; ++i) {
      const auto frame = co_await p->read_frame();
      const auto header = wire::decode_request_header(frame).value();
      const auto request = wire::decode_request<wire::produce_request>(frame).value();
      const auto& records = request.topic_data.at(0).partition_data.at(0).records;
      REQUIRE(records.size() == 100'000);
      CHECK(records.pieces.at(0)[99'999] == std::byte{7});
      wire::produce_response answer;
      co_await p->answer(header, std::move(answer));
    }
    co_await p->read_to_end();
  };
  play(s, client(), broker());
}
