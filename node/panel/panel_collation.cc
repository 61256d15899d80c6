#include "node/panel/panel_collation.h"

#include <algorithm>
#include <utility>

namespace tributary::panel {

PanelSlot PanelCollation::RemoveOldest() {
  PanelSlot oldest = std::move(slots_.begin()->second);
  slots_.erase(slots_.begin());
  out_.push_back(oldest.epoch);
  if (out_.size() > kRemembered) out_.pop_front();
  return oldest;
}

PanelSlot* PanelCollation::SlotOf(estimate::Epoch epoch, std::int64_t now_ns) {
  if (const auto found = slots_.find(epoch); found != slots_.end()) return &found->second;
  if (std::ranges::find(out_, epoch) != out_.end()) return nullptr;
  if (slots_.size() == kCapacity) {
    if (epoch < slots_.begin()->first) return nullptr;
    RemoveOldest();
    ++counters_.dropped_slots;
  }
  PanelSlot& slot = slots_[epoch] = std::exchange(spare_, {});
  slot.epoch = epoch;
  slot.due_ns = now_ns + deadline_ns_;
  slot.arrived = 0;
  slot.frames.resize(panels_);
  slot.present.assign(panels_, 0);
  for (estimate::TupleFrame& frame : slot.frames) frame.subjects.clear();
  return &slot;
}

void PanelCollation::Add(std::size_t panel, estimate::TupleFrame& frame, std::int64_t now_ns) {
  PanelSlot* slot = SlotOf(frame.epoch, now_ns);
  if (slot == nullptr || slot->present[panel]) {
    ++counters_.late_frames;
    return;
  }
  std::swap(slot->frames[panel], frame);
  slot->present[panel] = 1;
  ++slot->arrived;
}

bool PanelCollation::Take(std::int64_t now_ns, PanelSlot& slot) {
  if (slots_.empty() || next_due_ns() > now_ns) return false;
  spare_ = std::exchange(slot, RemoveOldest());
  return true;
}

std::int64_t PanelCollation::next_due_ns() const {
  if (slots_.empty()) return kNever;
  const bool complete =
      std::ranges::any_of(slots_, [this](const auto& entry) { return entry.second.arrived == panels_; });
  return complete ? 0 : slots_.begin()->second.due_ns;
}

}  // namespace tributary::panel
