#include "aggregator/publish/site_board.h"

#include <cstdlib>

namespace tributary::publish {

void SiteBoard::OnSlots(std::span<const estimate::FusedSlot> slots) {
  const estimate::FusedSlot& slot = slots.back();
  const runtime::MutexLock lock(mutex_);
  // By distance, so that a clock that was set back does not stop the board.
  if (taken_ > 0 && std::abs(slot.fused_unix_ns - latest_.fused_unix_ns) < kIntervalNs) return;
  latest_ = slot;
  ++taken_;
}

std::optional<estimate::FusedSlot> SiteBoard::Latest() const {
  std::uint64_t seen = 0;
  return LatestAfter(seen);
}

std::optional<estimate::FusedSlot> SiteBoard::LatestAfter(std::uint64_t& seen) const {
  const runtime::MutexLock lock(mutex_);
  if (taken_ == seen) return std::nullopt;
  seen = taken_;
  return latest_;
}

}  // namespace tributary::publish
