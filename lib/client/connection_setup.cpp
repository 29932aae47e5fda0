#include "client/connection_setup.hpp"

#include "base/broker_error.hpp"
#include "client/sasl.hpp"
#include "wire/sasl.hpp"

#include <algorithm>

namespace mirrord::client::detail {

using std::chrono::milliseconds;
using core_ptr = std::shared_ptr<connection_core>;

namespace {

// 3 brings our name and version into the broker's metrics (KIP-511); every broker since 2.4 knows it.
constexpr std::int16_t api_versions_first_asked = 3;

template <class Request>
asio::awaitable<result<reply<typename Request::response>>> ask(core_ptr core, Request request, result<std::int16_t> version, steady_time until) {
  const auto left = std::chrono::duration_cast<milliseconds>(until - std::chrono::steady_clock::now());
  auto call = core->start_call(request, std::move(version), std::max(left, milliseconds(0)), nullptr, call_kind::set_up);
  return call.wait();
}

wire::api_versions_request api_versions_question() { return {"kafka-mirrord", MIRRORD_VERSION}; }

// The version to ask with again: from 2.4 on the refusal says what the broker knows, before it says nothing.
std::int16_t api_versions_version(const wire::api_versions_response& refusal) {
  for (const auto& api : refusal.api_keys) {
    if (api.api_key != static_cast<std::int16_t>(wire::api_key::api_versions)) continue;
    return std::clamp<std::int16_t>(api.max_version, 0, api_versions_first_asked);
  }
  return 0;
}

asio::awaitable<result<void>> learn_versions(core_ptr core, steady_time until) {
  auto answer = co_await ask(core, api_versions_question(), api_versions_first_asked, until);
  if (!answer) co_return std::move(answer).error();
  if (is(answer->body.error_code, kafka_error::unsupported_version)) {
    answer = co_await ask(core, api_versions_question(), api_versions_version(answer->body), until);
    if (!answer) co_return std::move(answer).error();
  }
  if (answer->body.error_code != 0) co_return broker_failure(answer->body.error_code, core->name() + ": api_versions");
  core->learn_versions(answer->body.api_keys);
  co_return result<void>();
}

std::string listed(const std::vector<std::string>& names) {
  std::string text;
  for (const auto& one : names) text += (text.empty() ? "" : ", ") + one;
  return text.empty() ? "none" : text;
}

error refused(const core_ptr& core, std::int16_t code, std::string context, std::string broker_text) {
  error e = broker_failure(code, core->name() + ": " + std::move(context), std::move(broker_text));
  e.code = errc::authentication_failed;
  return e;
}

std::vector<std::byte> as_byte_vector(std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

std::string_view as_text(const std::vector<std::byte>& bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

// The value is the session's lifetime, zero if it has no end.
asio::awaitable<result<milliseconds>> authenticate(core_ptr core, steady_time until) {
  const std::string mechanism(name(core->settings().sasl_mechanism));
  wire::sasl_handshake_request handshake;
  handshake.mechanism = mechanism;
  auto shaken = co_await ask(core, std::move(handshake), core->version_for(wire::sasl_handshake_api), until);
  if (!shaken) co_return std::move(shaken).error();
  if (const auto code = shaken->body.error_code; code != 0) {
    const bool no_sasl = is(code, kafka_error::illegal_sasl_state);
    std::string why = no_sasl ? "this listener does no SASL: compare security.protocol"
                              : "SASL mechanism " + mechanism + " is not offered here; the broker offers " + listed(shaken->body.mechanisms);
    co_return refused(core, code, std::move(why), "");
  }

  auto conversation = make_sasl(core->settings());
  if (!conversation) co_return std::move(conversation).error().within(core->name());
  std::string token = (*conversation)->first();
  while (true) {
    wire::sasl_authenticate_request request;
    request.auth_bytes = as_byte_vector(token);
    auto answer = co_await ask(core, std::move(request), core->version_for(wire::sasl_authenticate_api), until);
    if (!answer) co_return std::move(answer).error();
    if (const auto code = answer->body.error_code; code != 0) {
      std::string what = "SASL " + mechanism + " for user '" + core->settings().sasl_username + "'";
      co_return refused(core, code, std::move(what), answer->body.error_message.value_or(""));
    }
    auto next = (*conversation)->next(as_text(answer->body.auth_bytes));
    if (!next) co_return std::move(next).error().within(core->name());
    if ((*conversation)->finished()) co_return milliseconds(std::max<std::int64_t>(answer->body.session_lifetime_ms, 0));
    token = std::move(next).value();
  }
}

// A broker refuses requests once a session's life is over, so we authenticate again well before, with nothing under way:
// the broker would take an ordinary request between two tokens for a breach.
asio::awaitable<void> keep_session(core_ptr core, milliseconds lifetime) {
  while (lifetime.count() > 0) {
    const bool slept = co_await sleep_for(lifetime * 4 / 5);
    if (!slept) co_return;
    core->hold();
    const bool drained = co_await core->drained();
    if (!drained) co_return;
    const auto until = std::chrono::steady_clock::now() + core->settings().socket_connection_setup_timeout;
    auto renewed = co_await authenticate(core, until);
    if (!renewed) {
      core->end(std::move(renewed).error().within("authenticate again"));
      co_return;
    }
    lifetime = *renewed;
    core->ready();
  }
}

}  // namespace

asio::awaitable<result<void>> set_up(core_ptr core, steady_time until) {
  auto learnt = co_await learn_versions(core, until);
  if (!learnt) co_return learnt;
  milliseconds lifetime{0};
  if (uses_sasl(core->settings().security_protocol)) {
    auto session = co_await authenticate(core, until);
    if (!session) co_return std::move(session).error();
    lifetime = *session;
  }
  core->ready();
  if (lifetime.count() > 0) core->run(keep_session(core, lifetime));
  co_return result<void>();
}

}  // namespace mirrord::client::detail
