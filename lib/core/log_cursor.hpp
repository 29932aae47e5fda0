// One side's log of a partition, item by item: what stands at which offset, out of the batches that were read so far.
//
// Batches come in order and stay views into the bytes that they were read into, which the cursor keeps alive. They are
// decoded only when somebody asks for an item of theirs.
#pragma once

#include "base/error.hpp"
#include "wire/record_batch.hpp"
#include "wire/records.hpp"

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>

namespace mirrord::core {

enum class item_kind : std::uint8_t {
  record,
  commit,
  abort,
  other_control,  // means nothing to consumers
};

struct log_item {
  std::int64_t offset = 0;
  item_kind kind = item_kind::record;
  bool transactional = false;
  std::int64_t producer_id = wire::no_producer_id;
  wire::record_view record;  // of kind record; lives until the next pop()
};

class log_cursor {
 public:
  explicit log_cursor(std::int64_t start) : known_to_(start) {}

  // The next batch; what it holds below known_to() is left out.
  void push(const wire::stored_batch& batch, std::shared_ptr<const void> owner);

  // There is nothing between what is known and `offset`.
  void pass_to(std::int64_t offset);

  // Leaves out what is below `offset`, now and later.
  void drop_before(std::int64_t offset);

  // Everything before this offset has been pushed.
  [[nodiscard]] std::int64_t known_to() const noexcept { return known_to_; }

  // The next batch, if nothing of it has been taken or left out; else nullptr.
  [[nodiscard]] const wire::stored_batch* untouched() const noexcept;
  void pop_batch();

  // The next item, or nullptr where there is none before known_to(). An error for bytes that do not parse, or whose
  // checksum is wrong.
  [[nodiscard]] result<const log_item*> peek();
  void pop() { item_.reset(); }

 private:
  struct held_batch {
    wire::stored_batch batch;
    std::shared_ptr<const void> owner;
    std::int64_t from = 0;  // items below are left out
    bool touched = false;
  };

  [[nodiscard]] result<void> open_front();
  [[nodiscard]] result<void> next_record();

  std::int64_t known_to_;
  std::deque<held_batch> batches_;
  std::optional<wire::record_reader> reader_;  // of the front batch
  std::optional<log_item> item_;
};

}  // namespace mirrord::core
