#include "aggregator/fusion/slot_ring.h"

#include <bit>
#include <utility>

namespace tributary::fusion {

SlotRing::SlotRing(std::uint32_t slots) : slots_(std::bit_ceil(slots)), mask_(slots_.size() - 1) {}

void SlotRing::Open(Slot& slot, estimate::Epoch epoch, std::int64_t steady_ns) {
  Release(slot);
  slot = Slot();
  slot.epoch = epoch;
  slot.first_steady_ns = steady_ns;
  slot.state = Slot::State::kOpen;
  if (pool_.empty()) pool_.push_back(std::make_unique<SlotPayload>());
  slot.payload = std::move(pool_.back());
  pool_.pop_back();
  slot.previous = newest_;
  const std::uint32_t index = IndexOf(slot);
  (newest_ == Slot::kNone ? oldest_ : slots_[newest_].next) = index;
  newest_ = index;
  ++open_slots_;
}

void SlotRing::Close(Slot& slot) {
  (slot.previous == Slot::kNone ? oldest_ : slots_[slot.previous].next) = slot.next;
  (slot.next == Slot::kNone ? newest_ : slots_[slot.next].previous) = slot.previous;
  slot.previous = slot.next = Slot::kNone;
  slot.state = Slot::State::kFused;
  --open_slots_;
}

void SlotRing::Release(Slot& slot) {
  if (slot.payload == nullptr) return;
  slot.payload->Clear();
  pool_.push_back(std::move(slot.payload));
}

}  // namespace tributary::fusion
