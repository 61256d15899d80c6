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
  if (spare_.empty()) spare_.emplace_back();
  slot.arrival = spare_.begin();
  *slot.arrival = &slot;
  open_.splice(open_.end(), spare_, slot.arrival);
}

void SlotRing::Close(Slot& slot) {
  spare_.splice(spare_.begin(), open_, slot.arrival);
  slot.state = Slot::State::kFused;
}

void SlotRing::Release(Slot& slot) {
  if (slot.payload == nullptr) return;
  slot.payload->Clear();
  pool_.push_back(std::move(slot.payload));
}

}  // namespace tributary::fusion
