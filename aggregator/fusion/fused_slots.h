// The output of fusion.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/estimate/fused_slot.h"

namespace tributary::fusion {

// A tuple that the chi-square gate removed after its frame was accepted.
struct GatedTuple {
  std::uint32_t source = 0;  // SourceHandle
  std::uint64_t sequence = 0;
  estimate::Epoch epoch = 0;
  std::uint32_t subject = 0;
};

// Slots in the order in which they were fused. One thread's; buffers are reused from Clear to Clear.
class FusedSlots {
 public:
  // Forgets the slots, keeps their memory.
  void Clear() {
    size_ = 0;
    gated.clear();
  }

  // A slot to fill; its vectors have unspecified contents and old capacity. Valid until the next Append.
  estimate::FusedSlot& Append() {
    if (size_ == slots_.size()) slots_.emplace_back();
    return slots_[size_++];
  }
  void DropLast() { --size_; }

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  std::span<const estimate::FusedSlot> slots() const { return {slots_.data(), size_}; }
  const estimate::FusedSlot& operator[](std::size_t i) const { return slots_[i]; }

  std::vector<GatedTuple> gated;

 private:
  std::vector<estimate::FusedSlot> slots_;
  std::size_t size_ = 0;
};

}  // namespace tributary::fusion
