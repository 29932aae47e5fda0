#include "mirror/state_records.hpp"

#include "base/check.hpp"
#include "wire/buffer.hpp"

#include <fmt/format.h>

#include <limits>
#include <type_traits>

namespace mirrord::mirror {
namespace {

constexpr std::int16_t newest_version = 0;  // of every value that we write

std::span<const std::byte> bytes_of(std::string_view text) { return std::as_bytes(std::span(text)); }

std::string string_of(std::span<const std::byte> bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

// One list of fields per struct drives encoding, decoding and printing: `field("member", record.member)` in the order of
// the bytes.

template <class Field, class Record>
void fields(Field& field, Record& r);

// Compact: the number of elements + 1, then the elements.
template <class Field, class Vector>
void array(Field& field, std::string_view name, Vector& elements) {
  using element = typename std::remove_const_t<Vector>::value_type;
  const auto one = [&](auto& e) {
    if constexpr (std::is_integral_v<element> || std::is_same_v<element, std::string>) field({}, e);
    else fields(field, e);
  };
  if constexpr (std::is_const_v<Vector>) {
    field.begin_array(name, elements.size());
    for (const element& e : elements) one(e);
    field.end_array();
  } else {
    for (std::uint32_t left = field.length(); left > 0 && field.in.ok(); --left) one(elements.emplace_back());
  }
}

template <class Field, class Record>
void fields(Field& field, Record& r) {
  using type = std::remove_const_t<Record>;
  if constexpr (std::is_same_v<type, mirrored_partition>) {
    field("mirror", r.mirror), field("destination_topic", r.destination_topic), field("partition", r.partition);
  } else if constexpr (std::is_same_v<type, mirror_key> || std::is_same_v<type, producer_epoch_key>) {
    field("mirror", r.mirror);
  } else if constexpr (std::is_same_v<type, mirror_value>) {
    field("source_cluster_id", r.source_cluster_id), field("created_ms", r.created_ms);
  } else if constexpr (std::is_same_v<type, producer_epoch_value>) {
    field("epoch", r.epoch);
  } else if constexpr (std::is_same_v<type, producer_id_key>) {
    field("mirror", r.mirror), field("index", r.index), field("producer", r.producer.value);
  } else if constexpr (std::is_same_v<type, producer_id_value>) {
    field("claimed_by", r.claimed_by);
  } else if constexpr (std::is_same_v<type, mirror_topic_key>) {
    field("mirror", r.mirror), field("destination_topic", r.destination_topic);
  } else if constexpr (std::is_same_v<type, mirror_topic_value>) {
    field("topic", r.topic), field("source_topic", r.source_topic), field("source_cluster_id", r.source_cluster_id);
  } else if constexpr (std::is_same_v<type, fill_plan_key> || std::is_same_v<type, hand_over_key> || std::is_same_v<type, stop_plan_key> ||
                       std::is_same_v<type, partition_state_key> || std::is_same_v<type, last_mirror_epochs_key>) {
    fields(field, r.of);
  } else if constexpr (std::is_same_v<type, partition_state_value>) {
    field("state", r.state), field("leader_epoch", r.leader_epoch), field("state_epoch", r.state_epoch), field.nullable("error_message", r.error_message), field("retry_attempt", r.retry_attempt), field("previous_state", r.previous_state);
  } else if constexpr (std::is_same_v<type, last_mirror_epochs_value>) {
    field("last_mirror_epoch", r.last_mirror_epoch), field("last_mirror_offset", r.last_mirror_offset);
  } else if constexpr (std::is_same_v<type, desired_state_key>) {
    field("mirror", r.mirror), field("topic", r.topic);
  } else if constexpr (std::is_same_v<type, desired_state_value>) {
    field("mirror_name", r.mirror_name), field("changed_by", r.changed_by), field("changed_ms", r.changed_ms);
  } else if constexpr (std::is_same_v<type, config_property>) {
    field("key", r.key), field("value", r.value);
  } else if constexpr (std::is_same_v<type, source_config_key>) {
    field("mirror", r.mirror), field("destination_topic", r.destination_topic);
  } else if constexpr (std::is_same_v<type, source_config_value>) {
    array(field, "dynamic", r.dynamic);
  } else if constexpr (std::is_same_v<type, stop_plan_value>) {
    field("mirrored_end", r.mirrored_end), array(field, "open_producers", r.open_producers), field("reset_epoch", r.reset_epoch), field("end_offset", r.end_offset);
  } else if constexpr (std::is_same_v<type, request_key>) {
    field("mirror", r.mirror), field("id", r.id);
  } else if constexpr (std::is_same_v<type, request_value>) {
    field("action", r.action), array(field, "topics", r.topics), array(field, "exclude", r.exclude), array(field, "flags", r.flags), field("asked_by", r.asked_by), field("asked_ms", r.asked_ms);
  } else if constexpr (std::is_same_v<type, report_key>) {
    field("mirror", r.mirror), field("id", r.id), field("part", r.part);
  } else if constexpr (std::is_same_v<type, report_item>) {
    field("mirror", r.mirror), field("topic", r.topic), field("partition", r.partition), field("ok", r.ok), field("state", r.state);
    field("source_end", r.source_end), field("destination_end", r.destination_end), field("retry_attempt", r.retry_attempt);
    field("message", r.message), array(field, "details", r.details);
  } else if constexpr (std::is_same_v<type, report_value>) {
    field("instance", r.instance), field("parts", r.parts), array(field, "items", r.items);
  } else if constexpr (std::is_same_v<type, fill_plan_value>) {
    field("fill_to", r.fill_to);
  } else if constexpr (std::is_same_v<type, hand_over_value>) {
    field("instance", r.instance), field("end_offset", r.end_offset), field("left_ms", r.left_ms);
  } else if constexpr (std::is_same_v<type, open_slot_key>) {
    fields(field, r.of), field("slot", r.slot);
  } else {
    static_assert(std::is_same_v<type, open_slot_value>);
    field("producer", r.producer.value), field("first_offset", r.first_offset), field("epoch", r.epoch), field("seen_ms", r.seen_ms);
  }
}

enum class string_form { plain, compact };  // int16 length; unsigned varint of length + 1

class field_writer {
 public:
  explicit field_writer(string_form form) : form_(form) {}

  void operator()(std::string_view, bool v) { out.int8(v ? 1 : 0); }
  void operator()(std::string_view, core::partition_state v) { out.int8(static_cast<std::int8_t>(v)); }
  void operator()(std::string_view, std::int16_t v) { out.int16(v); }
  void operator()(std::string_view, std::int32_t v) { out.int32(v); }
  void operator()(std::string_view, std::int64_t v) { out.int64(v); }
  void operator()(std::string_view, const topic_id& id) { out.bytes(std::as_bytes(std::span(id.bytes))); }
  void operator()(std::string_view, const std::string& text) {
    MIRRORD_CHECK(text.size() <= static_cast<std::size_t>(std::numeric_limits<std::int16_t>::max()), "string of {} bytes", text.size());
    if (form_ == string_form::plain) out.int16(static_cast<std::int16_t>(text.size()));
    else length(text.size());
    out.text(text);
  }
  // Null for an empty text; in values only.
  void nullable(std::string_view, const std::string& text) {
    if (text.empty()) out.uvarint(0);
    else (*this)({}, text);
  }
  void begin_array(std::string_view, std::size_t elements) { length(elements); }
  void end_array() {}
  void length(std::size_t elements) { out.uvarint(static_cast<std::uint32_t>(elements) + 1); }

  wire::writer out;

 private:
  string_form form_;
};

class field_reader {
 public:
  field_reader(std::string_view bytes, string_form form) : in(bytes_of(bytes)), form_(form) {}

  void operator()(std::string_view, bool& v) { v = in.int8() != 0; }
  void operator()(std::string_view, core::partition_state& v) {
    const std::int8_t number = in.int8();
    const auto known = core::partition_state_of(number);
    if (known) v = *known;
    else in.fault(fmt::format("state {}", number));
  }
  void operator()(std::string_view, std::int16_t& v) { v = in.int16(); }
  void operator()(std::string_view, std::int32_t& v) { v = in.int32(); }
  void operator()(std::string_view, std::int64_t& v) { v = in.int64(); }
  void operator()(std::string_view, topic_id& id) {
    const auto bytes = in.take(id.bytes.size());
    for (std::size_t i = 0; i < bytes.size(); ++i) id.bytes[i] = std::to_integer<std::uint8_t>(bytes[i]);
  }
  void operator()(std::string_view, std::string& text) {
    if (form_ == string_form::plain) {
      const std::int16_t length = in.int16();
      if (length < 0) return in.fault("null string");
      text = string_of(in.take(static_cast<std::size_t>(length)));
    } else {
      text = string_of(in.take(length()));
    }
  }
  void nullable(std::string_view, std::string& text) {
    const std::uint32_t length_plus_one = in.uvarint();
    if (in.ok() && length_plus_one > 0) text = string_of(in.take(length_plus_one - 1));
  }
  std::uint32_t length() {
    const std::uint32_t length_plus_one = in.uvarint();
    if (!in.ok()) return 0;
    if (length_plus_one == 0) {
      in.fault("null where a value must be");
      return 0;
    }
    return length_plus_one - 1;
  }

  // Fields that a later release added: skipped.
  void tagged_fields() {
    for (std::uint32_t left = in.uvarint(); left > 0 && in.ok(); --left) {
      in.uvarint();
      const std::uint32_t size = in.uvarint();
      in.take(size);
    }
  }

  wire::reader in;

 private:
  string_form form_;
};

// In double quotes where it is not one plain word.
std::string quoted(std::string_view text) {
  const bool is_plain = !text.empty() && text.find_first_of(" \"\\=[]\n\r\t") == std::string_view::npos;
  if (is_plain) return std::string(text);
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (static_cast<unsigned char>(c) < 0x20) out += fmt::format("\\x{:02x}", c);
    else out += c;
  }
  return out + '"';
}

// {name=value, ...} without the braces; nested records and arrays in them.
class field_printer {
 public:
  void operator()(std::string_view name, bool v) { put(name, v ? "true" : "false"); }
  void operator()(std::string_view name, core::partition_state v) { put(name, core::name(v)); }
  void operator()(std::string_view name, std::int16_t v) { put(name, std::to_string(v)); }
  void operator()(std::string_view name, std::int32_t v) { put(name, std::to_string(v)); }
  void operator()(std::string_view name, std::int64_t v) { put(name, std::to_string(v)); }
  void operator()(std::string_view name, const topic_id& id) { put(name, id.text()); }
  void operator()(std::string_view name, const std::string& text) { put(name, quoted(text)); }
  void nullable(std::string_view name, const std::string& text) {
    if (!text.empty()) (*this)(name, text);
  }
  void begin_array(std::string_view name, std::size_t) { put(name, "["), first_ = true; }
  void end_array() { out += ']', first_ = false; }

  std::string out;

 private:
  void put(std::string_view name, std::string_view value) {
    if (!first_) out += ' ';
    first_ = false;
    if (!name.empty()) out.append(name) += '=';
    out += value;
  }

  bool first_ = true;
};

error malformed(std::string_view what, std::string_view fault) {
  return fail(errc::malformed, fmt::format("state record {}: {}", what, fault));
}

template <class Key>
inspection inspect_as(std::string_view key, std::optional<std::string_view> value) {
  const auto k = decode_key<Key>(key);
  if (!k) return {readability::malformed, {}, k.error().message()};
  const std::string route = route_of(*k);
  if (!value) return {readability::readable, route, {}};
  const auto v = decode_value<typename Key::value_type>(*value);
  if (!v) return {readability::malformed, route, v.error().message()};
  return {*v ? readability::readable : readability::newer_version, route, {}};
}

template <class Record>
std::string text_of(const Record& record) {
  field_printer p;
  fields(p, record);
  return p.out;
}

template <class Key>
printed_record print_as(std::string_view key, std::optional<std::string_view> value) {
  printed_record printed;
  if (const auto k = decode_key<Key>(key)) printed.key = text_of(*k);
  if (!value) return printed;
  const auto v = decode_value<typename Key::value_type>(*value);
  if (v && *v) printed.value = text_of(**v);
  return printed;
}

// Calls `use` with a null pointer of the kind's key type; not at all for kinds that we do not know.
template <class Use>
void with_key_type(record_kind kind, Use use) {
  switch (kind) {
    case record_kind::mirror_partition_state: return use(static_cast<partition_state_key*>(nullptr));
    case record_kind::last_mirror_epochs: return use(static_cast<last_mirror_epochs_key*>(nullptr));
    case record_kind::mirror: return use(static_cast<mirror_key*>(nullptr));
    case record_kind::producer_id: return use(static_cast<producer_id_key*>(nullptr));
    case record_kind::mirror_topic: return use(static_cast<mirror_topic_key*>(nullptr));
    case record_kind::fill_plan: return use(static_cast<fill_plan_key*>(nullptr));
    case record_kind::hand_over: return use(static_cast<hand_over_key*>(nullptr));
    case record_kind::open_slot: return use(static_cast<open_slot_key*>(nullptr));
    case record_kind::producer_epoch: return use(static_cast<producer_epoch_key*>(nullptr));
    case record_kind::desired_state: return use(static_cast<desired_state_key*>(nullptr));
    case record_kind::source_config: return use(static_cast<source_config_key*>(nullptr));
    case record_kind::stop_plan: return use(static_cast<stop_plan_key*>(nullptr));
    case record_kind::request: return use(static_cast<request_key*>(nullptr));
    case record_kind::report: return use(static_cast<report_key*>(nullptr));
  }
}

}  // namespace

template <class Key>
std::string encode_key(const Key& key) {
  field_writer w(string_form::plain);
  w.out.int16(static_cast<std::int16_t>(Key::kind));
  fields(w, key);
  return string_of(w.out.own_bytes());
}

template <class Value>
std::string encode_value(const Value& value) {
  field_writer w(string_form::compact);
  w.out.int16(newest_version);
  fields(w, value);
  w.out.uvarint(0);  // no tagged fields
  return string_of(w.out.own_bytes());
}

template <class Key>
result<Key> decode_key(std::string_view bytes) {
  field_reader r(bytes, string_form::plain);
  if (const std::int16_t kind = r.in.int16(); r.in.ok() && kind != static_cast<std::int16_t>(Key::kind)) {
    r.in.fault(fmt::format("kind {} instead of {}", kind, static_cast<std::int16_t>(Key::kind)));
  }
  Key key;
  fields(r, key);
  r.in.expect_end();
  if (!r.in.ok()) return malformed("key", r.in.fault_text());
  return key;
}

template <class Value>
result<std::optional<Value>> decode_value(std::string_view bytes) {
  field_reader r(bytes, string_form::compact);
  const std::int16_t version = r.in.int16();
  if (version > newest_version) return std::optional<Value>();
  if (version < 0) r.in.fault("negative version");
  Value value;
  fields(r, value);
  r.tagged_fields();
  r.in.expect_end();
  if (!r.in.ok()) return malformed("value", r.in.fault_text());
  return std::optional<Value>(std::move(value));
}

std::optional<record_kind> kind_of(std::string_view key) noexcept {
  if (key.size() < 2) return std::nullopt;
  return static_cast<record_kind>(static_cast<std::int16_t>(static_cast<std::uint8_t>(key[0]) << 8 | static_cast<std::uint8_t>(key[1])));
}

template <class Key>
std::string kind_prefix() {
  field_writer w(string_form::plain);
  w.out.int16(static_cast<std::int16_t>(Key::kind));
  return string_of(w.out.own_bytes());
}

template <class Key>
std::string key_prefix(std::string_view mirror) {
  field_writer w(string_form::plain);
  w.out.int16(static_cast<std::int16_t>(Key::kind));
  w({}, std::string(mirror));
  return string_of(w.out.own_bytes());
}

std::int32_t state_partition(std::string_view route, std::int32_t partitions) {
  MIRRORD_CHECK(partitions > 0, "{} partitions", partitions);
  std::uint32_t hash = 0;
  for (const char unit : route) hash = hash * 31 + static_cast<std::uint8_t>(unit);
  const auto h = static_cast<std::int32_t>(hash);
  if (h == std::numeric_limits<std::int32_t>::min()) return 0;
  return (h < 0 ? -h : h) % partitions;
}

std::string route_of(const mirrored_partition& p) { return fmt::format("{}:{}:{}", p.mirror, p.destination_topic.text(), p.partition); }

inspection inspect(std::string_view key, std::optional<std::string_view> value) {
  const auto kind = kind_of(key);
  if (!kind) return {readability::malformed, {}, "state record key: no kind"};
  inspection seen{readability::unknown_kind, {}, {}};
  with_key_type(*kind, [&](auto* type) { seen = inspect_as<std::remove_pointer_t<decltype(type)>>(key, value); });
  return seen;
}

std::string_view name(record_kind kind) noexcept {
  switch (kind) {
    case record_kind::mirror_partition_state: return "MirrorPartitionState";
    case record_kind::last_mirror_epochs: return "LastMirrorEpochs";
    case record_kind::mirror: return "Mirror";
    case record_kind::producer_id: return "ProducerId";
    case record_kind::mirror_topic: return "MirrorTopic";
    case record_kind::fill_plan: return "FillPlan";
    case record_kind::hand_over: return "HandOver";
    case record_kind::open_slot: return "OpenSlot";
    case record_kind::producer_epoch: return "ProducerEpoch";
    case record_kind::desired_state: return "DesiredState";
    case record_kind::source_config: return "SourceConfig";
    case record_kind::stop_plan: return "StopPlan";
    case record_kind::request: return "Request";
    case record_kind::report: return "Report";
  }
  return "Unknown";
}

printed_record print(std::string_view key, std::optional<std::string_view> value) {
  printed_record printed;
  if (const auto kind = kind_of(key)) {
    with_key_type(*kind, [&](auto* type) { printed = print_as<std::remove_pointer_t<decltype(type)>>(key, value); });
  }
  return printed;
}

#define MIRRORD_STATE_RECORD(key, value)                                                         \
  template std::string encode_key<key>(const key&);                                              \
  template std::string encode_value<value>(const value&);                                        \
  template result<key> decode_key<key>(std::string_view);                                        \
  template result<std::optional<value>> decode_value<value>(std::string_view);                   \
  template std::string kind_prefix<key>();                                                       \
  template std::string key_prefix<key>(std::string_view);

MIRRORD_STATE_RECORD(mirror_key, mirror_value)
MIRRORD_STATE_RECORD(producer_id_key, producer_id_value)
MIRRORD_STATE_RECORD(mirror_topic_key, mirror_topic_value)
MIRRORD_STATE_RECORD(fill_plan_key, fill_plan_value)
MIRRORD_STATE_RECORD(hand_over_key, hand_over_value)
MIRRORD_STATE_RECORD(open_slot_key, open_slot_value)
MIRRORD_STATE_RECORD(producer_epoch_key, producer_epoch_value)
MIRRORD_STATE_RECORD(partition_state_key, partition_state_value)
MIRRORD_STATE_RECORD(last_mirror_epochs_key, last_mirror_epochs_value)
MIRRORD_STATE_RECORD(desired_state_key, desired_state_value)
MIRRORD_STATE_RECORD(source_config_key, source_config_value)
MIRRORD_STATE_RECORD(stop_plan_key, stop_plan_value)
MIRRORD_STATE_RECORD(request_key, request_value)
MIRRORD_STATE_RECORD(report_key, report_value)
#undef MIRRORD_STATE_RECORD

}  // namespace mirrord::mirror
