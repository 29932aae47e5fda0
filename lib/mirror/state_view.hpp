// What the records of `__mirror_state` add up to: the latest value of each key, and which claim of a producer id won.
//
// Fed by state_store with every record in log order; pure otherwise. Values stay as bytes, so records of a later
// release live here untouched. Typed look-ups skip what we cannot read.
#pragma once

#include "mirror/state_records.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mirrord::mirror {

class state_view {
 public:
  // `offset` is the record's; `value` is none for a tombstone. Records of one key come in the order of their offsets.
  void apply(std::string_view key, std::int64_t offset, std::optional<std::string_view> value);

  template <class Key>
  [[nodiscard]] std::optional<typename Key::value_type> find(const Key& key) const {
    const auto at = entries_.find(encode_key(key));
    if (at == entries_.end()) return std::nullopt;
    auto value = decode_value<typename Key::value_type>(at->second.value);
    return value ? std::move(*value) : std::nullopt;
  }

  // All of that kind and mirror, in the order of their encoded keys.
  template <class Key>
  [[nodiscard]] std::vector<std::pair<Key, typename Key::value_type>> list(std::string_view mirror) const {
    return list_from<Key>(key_prefix<Key>(mirror));
  }

  // The same of all mirrors.
  template <class Key>
  [[nodiscard]] std::vector<std::pair<Key, typename Key::value_type>> list_all() const {
    return list_from<Key>(kind_prefix<Key>());
  }

  // The mirror's pool: for each index the producer id whose claim has the lowest offset.
  [[nodiscard]] std::map<core::slot_index, destination_pid> producer_ids(std::string_view mirror) const;

  // Whether a release after ours wrote the present value of this key; such a value is not ours to replace.
  [[nodiscard]] bool holds_newer_version(std::string_view key) const;

  // Every entry, by kind, mirror and the rest of the key: use(key, value).
  template <class Use>
  void for_each(Use use) const {
    for (const auto& [key, at] : entries_) use(std::string_view(key), std::string_view(at.value));
  }

  [[nodiscard]] std::size_t size() const noexcept { return entries_.size(); }

 private:
  struct entry {
    std::int64_t offset;
    std::string value;
  };

  template <class Key>
  [[nodiscard]] std::vector<std::pair<Key, typename Key::value_type>> list_from(const std::string& prefix) const {
    std::vector<std::pair<Key, typename Key::value_type>> found;
    for (auto at = entries_.lower_bound(prefix); at != entries_.end() && at->first.starts_with(prefix); ++at) {
      auto key = decode_key<Key>(at->first);
      auto value = decode_value<typename Key::value_type>(at->second.value);
      if (key && value && *value) found.emplace_back(std::move(*key), std::move(**value));
    }
    return found;
  }

  std::map<std::string, entry, std::less<>> entries_;  // by encoded key, so that a kind and mirror lie side by side
};

}  // namespace mirrord::mirror
