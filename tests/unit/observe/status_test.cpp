// The status JSON, parsed back.
#include "observe/status.hpp"

#include <catch2/catch.hpp>

#include <boost/json/parse.hpp>

using namespace mirrord;
using namespace mirrord::observe;

namespace {

status_snapshot example() {
  partition_status healthy;
  healthy.partition = 0;
  healthy.state = "MIRRORING";
  healthy.source_start = 5;
  healthy.source_end = 120;
  healthy.destination_start = 5;
  healthy.destination_end = 100;
  healthy.records = 95;
  healthy.bytes = 18'000'000'000'000'000'000U;  // beyond int64
  healthy.batches_forwarded = 9;
  healthy.batches_reencoded = 2;
  healthy.filler = 3;
  partition_status failed;
  failed.partition = 1;
  failed.state = "FAILED";
  failed.retry_attempt = 4;
  failed.last_error = status_error{"foreign_write", "expected 7, \"got\" 9\n"};
  topic_status topic{"orders", "orders-dr.paused", "MIRRORING", std::nullopt, {healthy, failed}};
  mirror_status mirror{"orders-dr", "MIRRORING", "abc", status_error{"unreachable", "connect"}, {topic}};
  return {"0.1.0", "host:1", "", 1500, 99'000, {mirror, mirror_status{"empty", "PREPARING", "", std::nullopt, {}}}};
}

}  // namespace

TEST_CASE("every field of a snapshot is in its JSON") {
  const auto root = boost::json::parse(to_json(example())).as_object();
  CHECK(root.at("version").as_int64() == 1);
  const auto& daemon = root.at("daemon").as_object();
  CHECK(daemon.at("version") == "0.1.0");
  CHECK(daemon.at("instance") == "host:1");
  CHECK(daemon.at("destination_cluster_id").is_null());
  CHECK(daemon.at("destination_error").is_null());
  CHECK(daemon.at("uptime_ms").as_int64() == 1500);
  CHECK(daemon.at("monotonic_ms").as_int64() == 99'000);

  const auto& mirrors = root.at("mirrors").as_array();
  REQUIRE(mirrors.size() == 2);
  const auto& mirror = mirrors[0].as_object();
  CHECK(mirror.at("name") == "orders-dr");
  CHECK(mirror.at("state") == "MIRRORING");
  CHECK(mirror.at("source_cluster_id") == "abc");
  CHECK(mirror.at("last_error").as_object().at("code") == "unreachable");
  CHECK(mirrors[1].as_object().at("source_cluster_id").is_null());
  CHECK(mirrors[1].as_object().at("topics").as_array().empty());

  const auto& topic = mirror.at("topics").as_array().at(0).as_object();
  CHECK(topic.at("topic") == "orders");
  CHECK(topic.at("mirror.name") == "orders-dr.paused");
  CHECK(topic.at("last_error").is_null());
  const auto& partitions = topic.at("partitions").as_array();
  REQUIRE(partitions.size() == 2);

  const auto& healthy = partitions[0].as_object();
  CHECK(healthy.at("partition").as_int64() == 0);
  CHECK(healthy.at("state") == "MIRRORING");
  CHECK(healthy.at("source_start").as_int64() == 5);
  CHECK(healthy.at("source_end").as_int64() == 120);
  CHECK(healthy.at("destination_start").as_int64() == 5);
  CHECK(healthy.at("destination_end").as_int64() == 100);
  CHECK(healthy.at("lag").as_int64() == 20);
  CHECK(healthy.at("records").to_number<std::uint64_t>() == 95);
  CHECK(healthy.at("bytes").to_number<std::uint64_t>() == 18'000'000'000'000'000'000U);
  CHECK(healthy.at("batches_forwarded").to_number<std::uint64_t>() == 9);
  CHECK(healthy.at("batches_reencoded").to_number<std::uint64_t>() == 2);
  CHECK(healthy.at("filler").to_number<std::uint64_t>() == 3);
  CHECK(healthy.at("retry_attempt").as_int64() == 0);
  CHECK(healthy.at("last_error").is_null());

  const auto& failed = partitions[1].as_object();
  CHECK(failed.at("source_end").is_null());
  CHECK(failed.at("lag").is_null());
  CHECK(failed.at("retry_attempt").as_int64() == 4);
  CHECK(failed.at("last_error").as_object().at("message") == "expected 7, \"got\" 9\n");
}

TEST_CASE("lag is known only when both ends are, and never negative") {
  partition_status p;
  CHECK_FALSE(p.lag());
  p.source_end = 10;
  CHECK_FALSE(p.lag());
  p.destination_end = 4;
  CHECK(p.lag() == 6);
  p.destination_end = 12;
  CHECK(p.lag() == 0);
}

TEST_CASE("an error becomes its stable name and its line") {
  const auto e = describe(fail(errc::timed_out, "fetch orders-3"));
  CHECK(e.code == "timed_out");
  CHECK(e.message == "fetch orders-3");
}
