#include "node/panel/panel_collation.h"

#include <algorithm>
#include <utility>

namespace tributary::panel {

PanelCollation::PanelCollation(std::size_t panels, std::int64_t deadline_ns)
    : panels_(panels), deadline_ns_(deadline_ns), slots_(kCapacity) {}

void PanelCollation::RemoveOldest() {
  if (out_.size() < kRemembered) {
    out_.push_back(slots_[0].epoch);
  } else {
    out_[next_out_++ % kRemembered] = slots_[0].epoch;
  }
  if (last_complete_ == slots_[0].epoch) last_complete_.reset();
  std::rotate(slots_.begin(), slots_.begin() + 1, slots_.begin() + static_cast<std::ptrdiff_t>(used_));
  --used_;
}

PanelSlot* PanelCollation::SlotOf(estimate::Epoch epoch, std::int64_t now_ns) {
  const auto used_end = slots_.begin() + static_cast<std::ptrdiff_t>(used_);
  auto place = std::lower_bound(slots_.begin(), used_end, epoch,
                                [](const PanelSlot& slot, estimate::Epoch e) { return slot.epoch < e; });
  if (place != used_end && place->epoch == epoch) return &*place;
  if (std::find(out_.begin(), out_.end(), epoch) != out_.end()) return nullptr;
  if (used_ == kCapacity) {
    if (place == slots_.begin()) return nullptr;
    RemoveOldest();
    ++counters_.dropped_slots;
    --place;
  }
  const auto free = slots_.begin() + static_cast<std::ptrdiff_t>(used_);
  std::rotate(place, free, free + 1);
  ++used_;
  place->epoch = epoch;
  place->due_ns = now_ns + deadline_ns_;
  place->arrived = 0;
  place->frames.resize(panels_);
  place->present.assign(panels_, 0);
  for (estimate::TupleFrame& frame : place->frames) frame.subjects.clear();
  return &*place;
}

void PanelCollation::Add(std::size_t panel, estimate::TupleFrame& frame, std::int64_t now_ns) {
  PanelSlot* slot = SlotOf(frame.epoch, now_ns);
  if (slot == nullptr || slot->present[panel]) {
    ++counters_.late_frames;
    return;
  }
  std::swap(slot->frames[panel], frame);
  slot->present[panel] = 1;
  if (++slot->arrived < panels_) return;
  last_complete_ = last_complete_.has_value() ? std::max(*last_complete_, slot->epoch) : slot->epoch;
}

bool PanelCollation::Take(std::int64_t now_ns, PanelSlot& slot) {
  if (used_ == 0 || next_due_ns() > now_ns) return false;
  RemoveOldest();
  std::swap(slots_[used_], slot);
  return true;
}

std::int64_t PanelCollation::next_due_ns() const {
  if (used_ == 0) return kNever;
  if (last_complete_.has_value() && slots_[0].epoch <= *last_complete_) return 0;
  return slots_[0].due_ns;
}

}  // namespace tributary::panel
