#include "aggregator/publish/site_board.h"

#include <cstdlib>

namespace tributary::publish {

void SiteBoard::OnSlots(std::span<const estimate::FusedSlot> slots) {
  const estimate::FusedSlot& slot = slots.back();
  const runtime::MutexLock lock(mutex_);
  published_ += slots.size();
  // The distance, so that a clock that was set back does not stop the board.
  if (number_ > 0 && std::abs(slot.fused_unix_ns - latest_.fused_unix_ns) < kIntervalNs) return;
  latest_ = slot;
  number_ = published_;
}

std::optional<BoardSlot> SiteBoard::Latest() const {
  std::uint64_t seen = 0;
  return LatestAfter(seen);
}

std::optional<BoardSlot> SiteBoard::LatestAfter(std::uint64_t& seen) const {
  const runtime::MutexLock lock(mutex_);
  if (number_ == seen) return std::nullopt;
  const std::uint64_t skipped = seen == 0 ? 0 : number_ - seen - 1;
  seen = number_;
  return BoardSlot{latest_, skipped};
}

}  // namespace tributary::publish
