#include "core/log_cursor.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace mirrord::core {

void log_cursor::push(const wire::stored_batch& batch, std::shared_ptr<const void> owner) {
  if (batch.header.next_offset() <= known_to_) return;
  batches_.push_back({batch, std::move(owner), known_to_, batch.header.base_offset < known_to_});
  known_to_ = batch.header.next_offset();
}

void log_cursor::pass_to(std::int64_t offset) { known_to_ = std::max(known_to_, offset); }

void log_cursor::drop_before(std::int64_t offset) {
  pass_to(offset);
  for (held_batch& held : batches_) {
    held.from = std::max(held.from, offset);
    if (held.batch.header.base_offset < held.from) held.touched = true;
  }
  if (item_ && item_->offset < offset) item_.reset();
}

const wire::stored_batch* log_cursor::untouched() const noexcept {
  return batches_.empty() || item_ || batches_.front().touched ? nullptr : &batches_.front().batch;
}

void log_cursor::pop_batch() {
  item_.reset();
  reader_.reset();
  batches_.pop_front();
}

result<const log_item*> log_cursor::peek() {
  while (!item_) {
    if (batches_.empty()) return nullptr;
    held_batch& front = batches_.front();
    result<void> read;
    if (!reader_) {
      front.touched = true;
      read = open_front();
    } else {
      read = next_record();
    }
    if (!read) return std::move(read.error()).within(fmt::format("the batch at offset {}", front.batch.header.base_offset));
  }
  return &*item_;
}

// A control batch is taken whole; a data batch gets its reader.
result<void> log_cursor::open_front() {
  const held_batch& front = batches_.front();
  const wire::batch_header& header = front.batch.header;
  if (auto intact = wire::verify_crc(front.batch); !intact) return intact;
  if (!header.is_control()) {
    auto opened = wire::record_reader::open(front.batch);
    if (!opened) return std::move(opened.error());
    reader_.emplace(std::move(*opened));
    return {};
  }
  auto marker = wire::read_control_marker(front.batch);
  if (!marker) return std::move(marker.error());
  if (marker->type != wire::control_type::none && header.base_offset >= front.from) {
    item_.emplace();
    item_->offset = header.base_offset;
    item_->kind = marker->type == wire::control_type::commit  ? item_kind::commit
                  : marker->type == wire::control_type::abort ? item_kind::abort
                                                              : item_kind::other_control;
    item_->producer_id = header.producer_id;
  }
  batches_.pop_front();
  return {};
}

result<void> log_cursor::next_record() {
  const held_batch& front = batches_.front();
  auto record = reader_->next();
  if (!record) return std::move(record.error());
  if (!*record) {
    reader_.reset();
    batches_.pop_front();
    return {};
  }
  if ((*record)->offset < front.from) return {};
  item_.emplace();
  item_->offset = (*record)->offset;
  item_->transactional = front.batch.header.is_transactional();
  item_->producer_id = front.batch.header.producer_id;
  item_->record = **record;
  return {};
}

}  // namespace mirrord::core
