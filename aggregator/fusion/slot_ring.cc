#include "aggregator/fusion/slot_ring.h"

#include <bit>
#include <utility>

namespace tributary::fusion {

SlotRing::SlotRing(std::uint32_t slots) : slots_(std::bit_ceil(slots)), mask_(slots_.size() - 1) {}

void SlotRing::Open(Slot& slot, estimate::Epoch epoch, std::int64_t steady_ns, std::int64_t lead_ns) {
  Release(slot);
  slot = Slot();
  slot.epoch = epoch;
  slot.early = lead_ns > 0;
  slot.waits_since_ns = slot.early ? steady_ns + lead_ns : steady_ns;
  slot.state = Slot::State::kOpen;
  if (pool_.empty()) pool_.push_back(std::make_unique<SlotPayload>());
  slot.payload = std::move(pool_.back());
  pool_.pop_back();
  if (slot.early) {
    early_.emplace(slot.waits_since_ns, &slot);
    return;
  }
  if (spare_.empty()) spare_.emplace_back();
  slot.arrival = spare_.begin();
  *slot.arrival = &slot;
  open_.splice(open_.end(), spare_, slot.arrival);
}

void SlotRing::Close(Slot& slot) {
  if (slot.early) {
    early_.erase({slot.waits_since_ns, &slot});
  } else {
    spare_.splice(spare_.begin(), open_, slot.arrival);
  }
  slot.state = Slot::State::kFused;
}

Slot* SlotRing::Oldest() const {
  if (early_.empty()) return open_.empty() ? nullptr : open_.front();
  const auto& [since_ns, slot] = *early_.begin();
  return open_.empty() || since_ns < open_.front()->waits_since_ns ? slot : open_.front();
}

void SlotRing::Release(Slot& slot) {
  if (slot.payload == nullptr) return;
  slot.payload->Clear();
  pool_.push_back(std::move(slot.payload));
}

std::size_t SlotRing::OpenTuples() const {
  std::size_t tuples = 0;
  const auto add = [&tuples](const Slot& slot) {
    for (const SlotInput& input : std::as_const(*slot.payload).all()) tuples += input.subjects.size();
  };
  for (const Slot* slot : open_) add(*slot);
  for (const auto& [since_ns, slot] : early_) add(*slot);
  return tuples;
}

std::bitset<256> SlotRing::Sources() const {
  std::bitset<256> sources;
  for (const Slot& slot : slots_) {
    if (slot.payload != nullptr) sources |= slot.reported;
  }
  return sources;
}

void SlotRing::Forget(std::uint32_t source) {
  for (Slot& slot : slots_) slot.reported.reset(source);
}

}  // namespace tributary::fusion
