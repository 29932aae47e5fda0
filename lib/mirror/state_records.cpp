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

// One list of fields per struct drives both directions: `field(record.member)` in the order of the bytes.

template <class Field, class Record>
void fields(Field& field, Record& r);

// Compact: the number of elements + 1, then the elements.
template <class Field, class Vector>
void array(Field& field, Vector& elements) {
  using element = typename std::remove_const_t<Vector>::value_type;
  const auto one = [&](auto& e) {
    if constexpr (std::is_integral_v<element> || std::is_same_v<element, std::string>) field(e);
    else fields(field, e);
  };
  if constexpr (std::is_const_v<Vector>) {
    field.length(elements.size());
    for (const element& e : elements) one(e);
  } else {
    for (std::uint32_t left = field.length(); left > 0 && field.in.ok(); --left) one(elements.emplace_back());
  }
}

template <class Field, class Record>
void fields(Field& field, Record& r) {
  using type = std::remove_const_t<Record>;
  if constexpr (std::is_same_v<type, mirrored_partition>) {
    field(r.mirror), field(r.destination_topic), field(r.partition);
  } else if constexpr (std::is_same_v<type, mirror_key> || std::is_same_v<type, producer_epoch_key>) {
    field(r.mirror);
  } else if constexpr (std::is_same_v<type, mirror_value>) {
    field(r.source_cluster_id), field(r.created_ms);
  } else if constexpr (std::is_same_v<type, producer_epoch_value>) {
    field(r.epoch);
  } else if constexpr (std::is_same_v<type, producer_id_key>) {
    field(r.mirror), field(r.index), field(r.producer.value);
  } else if constexpr (std::is_same_v<type, producer_id_value>) {
    field(r.claimed_by);
  } else if constexpr (std::is_same_v<type, mirror_topic_key>) {
    field(r.mirror), field(r.destination_topic);
  } else if constexpr (std::is_same_v<type, mirror_topic_value>) {
    field(r.topic), field(r.source_topic), field(r.source_cluster_id);
  } else if constexpr (std::is_same_v<type, fill_plan_key> || std::is_same_v<type, hand_over_key> || std::is_same_v<type, stop_plan_key> ||
                       std::is_same_v<type, partition_state_key> || std::is_same_v<type, last_mirror_epochs_key>) {
    fields(field, r.of);
  } else if constexpr (std::is_same_v<type, partition_state_value>) {
    field(r.state), field(r.leader_epoch), field(r.state_epoch), field.nullable(r.error_message), field(r.retry_attempt), field(r.previous_state);
  } else if constexpr (std::is_same_v<type, last_mirror_epochs_value>) {
    field(r.last_mirror_epoch), field(r.last_mirror_offset);
  } else if constexpr (std::is_same_v<type, desired_state_key>) {
    field(r.mirror), field(r.topic);
  } else if constexpr (std::is_same_v<type, desired_state_value>) {
    field(r.mirror_name), field(r.changed_by), field(r.changed_ms);
  } else if constexpr (std::is_same_v<type, config_property>) {
    field(r.key), field(r.value);
  } else if constexpr (std::is_same_v<type, source_config_key>) {
    field(r.mirror), field(r.destination_topic);
  } else if constexpr (std::is_same_v<type, source_config_value>) {
    array(field, r.dynamic);
  } else if constexpr (std::is_same_v<type, stop_plan_value>) {
    field(r.mirrored_end), array(field, r.open_producers), field(r.reset_epoch), field(r.end_offset);
  } else if constexpr (std::is_same_v<type, request_key>) {
    field(r.mirror), field(r.id);
  } else if constexpr (std::is_same_v<type, request_value>) {
    field(r.action), array(field, r.topics), array(field, r.exclude), array(field, r.flags), field(r.asked_by), field(r.asked_ms);
  } else if constexpr (std::is_same_v<type, report_key>) {
    field(r.mirror), field(r.id), field(r.part);
  } else if constexpr (std::is_same_v<type, report_item>) {
    field(r.mirror), field(r.topic), field(r.partition), field(r.ok), field(r.state), field(r.source_end), field(r.destination_end);
    field(r.retry_attempt), field(r.message), array(field, r.details);
  } else if constexpr (std::is_same_v<type, report_value>) {
    field(r.instance), field(r.parts), array(field, r.items);
  } else if constexpr (std::is_same_v<type, fill_plan_value>) {
    field(r.fill_to);
  } else if constexpr (std::is_same_v<type, hand_over_value>) {
    field(r.instance), field(r.end_offset), field(r.left_ms);
  } else if constexpr (std::is_same_v<type, open_slot_key>) {
    fields(field, r.of), field(r.slot);
  } else {
    static_assert(std::is_same_v<type, open_slot_value>);
    field(r.producer.value), field(r.first_offset), field(r.epoch), field(r.seen_ms);
  }
}

enum class string_form { plain, compact };  // int16 length; unsigned varint of length + 1

class field_writer {
 public:
  explicit field_writer(string_form form) : form_(form) {}

  void operator()(bool v) { out.int8(v ? 1 : 0); }
  void operator()(core::partition_state v) { out.int8(static_cast<std::int8_t>(v)); }
  void operator()(std::int16_t v) { out.int16(v); }
  void operator()(std::int32_t v) { out.int32(v); }
  void operator()(std::int64_t v) { out.int64(v); }
  void operator()(const topic_id& id) { out.bytes(std::as_bytes(std::span(id.bytes))); }
  void operator()(const std::string& text) {
    MIRRORD_CHECK(text.size() <= static_cast<std::size_t>(std::numeric_limits<std::int16_t>::max()), "string of {} bytes", text.size());
    if (form_ == string_form::plain) out.int16(static_cast<std::int16_t>(text.size()));
    else length(text.size());
    out.text(text);
  }
  // Null for an empty text; in values only.
  void nullable(const std::string& text) {
    if (text.empty()) out.uvarint(0);
    else (*this)(text);
  }
  void length(std::size_t elements) { out.uvarint(static_cast<std::uint32_t>(elements) + 1); }

  wire::writer out;

 private:
  string_form form_;
};

class field_reader {
 public:
  field_reader(std::string_view bytes, string_form form) : in(bytes_of(bytes)), form_(form) {}

  void operator()(bool& v) { v = in.int8() != 0; }
  void operator()(core::partition_state& v) {
    const std::int8_t number = in.int8();
    const auto known = core::partition_state_of(number);
    if (known) v = *known;
    else in.fault(fmt::format("state {}", number));
  }
  void operator()(std::int16_t& v) { v = in.int16(); }
  void operator()(std::int32_t& v) { v = in.int32(); }
  void operator()(std::int64_t& v) { v = in.int64(); }
  void operator()(topic_id& id) {
    const auto bytes = in.take(id.bytes.size());
    for (std::size_t i = 0; i < bytes.size(); ++i) id.bytes[i] = std::to_integer<std::uint8_t>(bytes[i]);
  }
  void operator()(std::string& text) {
    if (form_ == string_form::plain) {
      const std::int16_t length = in.int16();
      if (length < 0) return in.fault("null string");
      text = string_of(in.take(static_cast<std::size_t>(length)));
    } else {
      text = string_of(in.take(length()));
    }
  }
  void nullable(std::string& text) {
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
  w(std::string(mirror));
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
  switch (*kind) {
    case record_kind::mirror: return inspect_as<mirror_key>(key, value);
    case record_kind::producer_id: return inspect_as<producer_id_key>(key, value);
    case record_kind::mirror_topic: return inspect_as<mirror_topic_key>(key, value);
    case record_kind::fill_plan: return inspect_as<fill_plan_key>(key, value);
    case record_kind::hand_over: return inspect_as<hand_over_key>(key, value);
    case record_kind::open_slot: return inspect_as<open_slot_key>(key, value);
    case record_kind::producer_epoch: return inspect_as<producer_epoch_key>(key, value);
    case record_kind::mirror_partition_state: return inspect_as<partition_state_key>(key, value);
    case record_kind::last_mirror_epochs: return inspect_as<last_mirror_epochs_key>(key, value);
    case record_kind::desired_state: return inspect_as<desired_state_key>(key, value);
    case record_kind::source_config: return inspect_as<source_config_key>(key, value);
    case record_kind::stop_plan: return inspect_as<stop_plan_key>(key, value);
    case record_kind::request: return inspect_as<request_key>(key, value);
    case record_kind::report: return inspect_as<report_key>(key, value);
  }
  return {readability::unknown_kind, {}, {}};
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
