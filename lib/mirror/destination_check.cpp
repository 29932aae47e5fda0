#include "mirror/destination_check.hpp"

#include "base/broker_error.hpp"
#include "wire/metadata.hpp"
#include "wire/transactions.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <chrono>

namespace mirrord::mirror {
namespace {

constexpr std::string_view verification = "transaction.partition.verification.enable";

// org.apache.kafka.common.acl.AclOperation
constexpr int operation_alter = 7;
constexpr int operation_cluster_action = 9;

std::string bootstrap(const client::cluster& cluster) { return fmt::format("{}", fmt::join(cluster.settings().bootstrap_servers, ",")); }

asio::awaitable<result<void>> check_permission(client::cluster& cluster) {
  auto connection = co_await cluster.any_connection();
  if (!connection) co_return std::move(connection.error());
  if (auto known = (*connection)->version_for<wire::describe_producers_request>(); !known) {
    co_return fail(errc::unsupported, fmt::format("{}: a destination must be Apache Kafka 2.8 or later (DescribeProducers)", (*connection)->name()));
  }
  wire::describe_cluster_request request;
  request.include_cluster_authorized_operations = true;
  auto reply = co_await (*connection)->call(request, cluster.settings().request_timeout);
  if (!reply) co_return std::move(reply.error()).within("permissions on the destination cluster");
  if (reply->body.error_code != 0) co_return broker_failure(reply->body.error_code, "permissions on the destination cluster", reply->body.error_message.value_or(""));
  const auto allowed = static_cast<std::uint32_t>(reply->body.cluster_authorized_operations);
  if ((allowed & (1u << operation_cluster_action | 1u << operation_alter)) == 0) {
    co_return broker_failure(code_of(kafka_error::cluster_authorization_failed),
                             "the daemon's principal may not write transaction markers on the destination");
  }
  co_return result<void>{};
}

}  // namespace

asio::awaitable<result<destination_traits>> check_destination(client::cluster& cluster, client::admin& admin) {
  if (auto allowed = co_await check_permission(cluster); !allowed) co_return std::move(allowed.error());
  std::vector<std::string> no_topics;
  if (auto known = co_await cluster.refresh(std::move(no_topics)); !known) co_return std::move(known.error());
  destination_traits traits;
  std::vector<broker_id> brokers;
  for (const auto& [id, info] : cluster.metadata().brokers()) brokers.push_back(id);
  for (const broker_id broker : brokers) {
    auto configs = co_await admin.describe_broker_configs(broker, std::chrono::steady_clock::now() + cluster.settings().request_timeout);
    if (!configs) co_return std::move(configs.error());
    const auto* setting = client::find(*configs, verification);
    if (setting && setting->value != "false") {
      co_return fail(errc::invalid,
                     fmt::format("{} is {} on destination broker {}, so it would refuse mirrored transactions; turn it off: kafka-configs "
                                 "--bootstrap-server {} --alter --entity-type brokers --entity-default --add-config {}=false",
                                 verification, setting->value.value_or("hidden"), broker.value, bootstrap(cluster), verification));
    }
    traits.split_timestamp_bounds = client::find(*configs, "log.message.timestamp.before.max.ms") != nullptr;
  }
  co_return traits;
}

}  // namespace mirrord::mirror
