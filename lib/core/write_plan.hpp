// From the batches of a source partition to the writes that keep every offset, in order and without a gap.
//
// Each source offset is occupied by exactly one thing on the destination: a record, a transaction marker, or filler.
// A batch goes on as it is wherever the destination's broker would take it; otherwise it is decoded and built anew
// with the same offsets (legacy formats, append times, holes inside, over the size limit, begun below the position).
//
// Pure: no I/O, no clock. One planner per partition and round; after an error it is of no further use, because the
// position must then be read from the destination again anyway.
#pragma once

#include "base/error.hpp"
#include "core/producer_slots.hpp"
#include "wire/record_batch.hpp"
#include "wire/records.hpp"

#include <cstdint>
#include <memory>
#include <span>
#include <variant>
#include <vector>

namespace mirrord::core {

// One batch of consecutive offsets for one destination producer.
struct data_write {
  slot_index producer = writer_index;
  std::int64_t base_offset = 0;
  wire::stored_batch batch;           // dense: record_count == last_offset_delta + 1, magic 2, create time
  std::shared_ptr<const void> owner;  // set where the bytes are new; otherwise they belong to the fetched chunk
};

// The end of the transaction that the slot carries.
struct marker_write {
  slot_index slot = 0;
  std::int64_t offset = 0;
  bool commit = false;
};

// `count` offsets that the source no longer has, or whose control record means nothing here.
struct filler_write {
  std::int64_t base_offset = 0;
  std::int64_t count = 0;
};

using planned_write = std::variant<data_write, marker_write, filler_write>;

[[nodiscard]] std::int64_t base_offset(const planned_write& write) noexcept;
[[nodiscard]] std::int64_t next_offset(const planned_write& write) noexcept;

struct plan_limits {
  std::int64_t hole_fill_max = 0;   // offsets per gap
  std::size_t batch_bytes_max = 0;  // what the destination topic takes in one batch
};

// What a filler marker costs in the destination's log: a batch header and one control record.
inline constexpr std::int64_t filler_bytes_per_offset = 78;

class write_planner {
 public:
  // `position` is the next offset to write; `slots` are the transactions open there.
  write_planner(std::int64_t position, producer_slots slots, plan_limits limits)
      : position_(position), slots_(std::move(slots)), limits_(limits) {}

  // Tells when the chunk whose batches follow was asked for (Unix time), and where the source's log began then.
  void begin_chunk(std::int64_t asked_ms, std::int64_t source_start);

  // Plans one source batch, in source order. Offsets below the position are left out; a gap before it becomes filler.
  // errc::outcome_unknown where the batch would join a transaction whose end was missed.
  [[nodiscard]] result<void> add(const wire::stored_batch& batch, std::vector<planned_write>& plan);

  // Plans filler up to `offset`: the source's log begins there, or its end is there with nothing in between.
  [[nodiscard]] result<void> fill_to(std::int64_t offset, std::vector<planned_write>& plan);

  // The source was found to hold data of this producer's open transaction at that time.
  void note_data_seen(source_pid producer, std::int64_t seen_ms);

  // The source was found to hold nothing of this producer's open transaction any more: neither its data nor its end. It
  // is aborted at the next offset that carries nothing else.
  void note_gone(source_pid producer);

  [[nodiscard]] std::int64_t position() const noexcept { return position_; }
  [[nodiscard]] const producer_slots& slots() const noexcept { return slots_; }

 private:
  void add_control(const wire::batch_header& header, wire::control_type type, std::vector<planned_write>& plan);
  [[nodiscard]] result<void> add_rebuilt(const wire::stored_batch& batch, std::vector<planned_write>& plan);
  [[nodiscard]] result<void> build(std::span<const wire::record_view> records, const wire::batch_header& from,
                                   std::vector<planned_write>& plan);
  [[nodiscard]] result<slot_index> producer_of(const wire::batch_header& header, std::int64_t first_offset);

  std::int64_t position_;
  producer_slots slots_;
  plan_limits limits_;
  std::int64_t asked_ms_ = 0;
  std::int64_t source_start_ = 0;
};

}  // namespace mirrord::core
