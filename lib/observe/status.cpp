#include "observe/status.hpp"

#include <boost/json/array.hpp>
#include <boost/json/monotonic_resource.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>

#include <algorithm>

namespace mirrord::observe {
namespace {

namespace json = boost::json;

json::value offset_or_null(std::optional<std::int64_t> offset) { return offset ? json::value(*offset) : json::value(nullptr); }

json::value text_or_null(const std::string& text, const json::storage_ptr& storage) {
  if (text.empty()) return json::value(nullptr, storage);
  return json::value(json::string_view(text), storage);
}

json::value error_or_null(const std::optional<status_error>& e, const json::storage_ptr& storage) {
  if (!e) return json::value(nullptr, storage);
  json::object out(storage);
  out["code"] = e->code;
  out["message"] = e->message;
  return out;
}

json::object to_object(const partition_status& p, const json::storage_ptr& storage) {
  json::object out(16, storage);
  out["partition"] = p.partition;
  out["state"] = p.state;
  out["source_start"] = offset_or_null(p.source_start);
  out["source_end"] = offset_or_null(p.source_end);
  out["destination_start"] = offset_or_null(p.destination_start);
  out["destination_end"] = offset_or_null(p.destination_end);
  out["lag"] = offset_or_null(p.lag());
  out["records"] = p.records;
  out["bytes"] = p.bytes;
  out["batches_forwarded"] = p.batches_forwarded;
  out["batches_reencoded"] = p.batches_reencoded;
  out["filler"] = p.filler;
  out["retry_attempt"] = p.retry_attempt;
  out["last_error"] = error_or_null(p.last_error, storage);
  return out;
}

json::object to_object(const topic_status& t, const json::storage_ptr& storage) {
  json::array partitions(storage);
  partitions.reserve(t.partitions.size());
  for (const auto& p : t.partitions) partitions.push_back(to_object(p, storage));
  json::object out(storage);
  out["topic"] = t.topic;
  out["mirror.name"] = t.mirror_name;
  out["state"] = t.state;
  out["last_error"] = error_or_null(t.last_error, storage);
  out["partitions"] = std::move(partitions);
  return out;
}

json::object to_object(const mirror_status& m, const json::storage_ptr& storage) {
  json::array topics(storage);
  topics.reserve(m.topics.size());
  for (const auto& t : m.topics) topics.push_back(to_object(t, storage));
  json::object out(storage);
  out["name"] = m.name;
  out["state"] = m.state;
  out["source_cluster_id"] = text_or_null(m.source_cluster_id, storage);
  out["last_error"] = error_or_null(m.last_error, storage);
  out["topics"] = std::move(topics);
  return out;
}

}  // namespace

std::optional<std::int64_t> partition_status::lag() const noexcept {
  if (!source_end || !destination_end) return std::nullopt;
  return std::max<std::int64_t>(0, *source_end - *destination_end);
}

std::string to_json(const status_snapshot& snapshot) {
  json::monotonic_resource memory;
  const json::storage_ptr storage(&memory);
  json::object daemon(storage);
  daemon["version"] = snapshot.daemon_version;
  daemon["instance"] = snapshot.instance;
  daemon["destination_cluster_id"] = text_or_null(snapshot.destination_cluster_id, storage);
  daemon["destination_error"] = error_or_null(snapshot.destination_error, storage);
  daemon["uptime_ms"] = snapshot.uptime_ms;
  daemon["monotonic_ms"] = snapshot.monotonic_ms;
  json::array mirrors(storage);
  for (const auto& m : snapshot.mirrors) mirrors.push_back(to_object(m, storage));
  json::object root(storage);
  root["version"] = status_version;
  root["daemon"] = std::move(daemon);
  root["mirrors"] = std::move(mirrors);
  return json::serialize(root);
}

}  // namespace mirrord::observe
