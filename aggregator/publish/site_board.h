// The latest fused slot of a site, for occasional readers.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "aggregator/publish/slot_feed.h"
#include "core/estimate/fused_slot.h"
#include "core/runtime/mutex.h"

namespace tributary::publish {

// Thread-safe. Takes a copy at most every kIntervalNs, which bounds the cost to the fusing thread.
class SiteBoard final : public SlotSink {
 public:
  static constexpr std::int64_t kIntervalNs = 10'000'000;

  void OnSlots(std::span<const estimate::FusedSlot> slots) override;

  // Nothing before the first slot.
  std::optional<estimate::FusedSlot> Latest() const;
  // The same, or nothing if `seen` already names that slot; `seen` becomes the returned one. 0: none seen.
  std::optional<estimate::FusedSlot> LatestAfter(std::uint64_t& seen) const;

 private:
  mutable runtime::Mutex mutex_;
  estimate::FusedSlot latest_ GUARDED_BY(mutex_);
  std::uint64_t taken_ GUARDED_BY(mutex_) = 0;  // number of copies; 0: latest_ is empty
};

}  // namespace tributary::publish
