// The output side of a streaming decompressor: a buffer that grows as it fills and ends at a limit.
//
// Its first size follows the input that is really there; then it doubles. One byte beyond the limit is allowed for,
// so that "exactly at the limit" and "beyond it" are told apart by what the decoder produced.
#pragma once

#include <algorithm>
#include <cstddef>
#include <limits>
#include <span>
#include <utility>
#include <vector>

namespace mirrord::wire {

class bounded_output {
 public:
  bounded_output(std::size_t input_bytes, std::size_t limit)
      : most_(limit == std::numeric_limits<std::size_t>::max() ? limit : limit + 1), first_(std::max<std::size_t>(4096, input_bytes * 2)) {}

  // Where to write next; empty only when the limit has been passed.
  [[nodiscard]] std::span<std::byte> room() {
    if (used_ == buffer_.size()) buffer_.resize(std::min(most_, std::max(first_, buffer_.size() * 2)));
    return std::span(buffer_).subspan(used_);
  }
  void produced(std::size_t n) noexcept { used_ += n; }
  [[nodiscard]] bool limit_passed() const noexcept { return used_ == most_; }

  [[nodiscard]] std::vector<std::byte> take() && {
    buffer_.resize(used_);
    return std::move(buffer_);
  }

 private:
  std::size_t most_;
  std::size_t first_;
  std::size_t used_ = 0;
  std::vector<std::byte> buffer_;
};

}  // namespace mirrord::wire
