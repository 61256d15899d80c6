// The latest fused slot of a site, for those who look now and then.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "aggregator/publish/slot_feed.h"
#include "core/estimate/fused_slot.h"
#include "core/runtime/mutex.h"

namespace tributary::publish {

// Thread-safe. Takes a copy at most every kIntervalNs, so that readers never cost the fusing thread more than
// that.
class SiteBoard final : public SlotSink {
 public:
  static constexpr std::int64_t kIntervalNs = 10'000'000;

  void OnSlots(std::span<const estimate::FusedSlot> slots) override;

  // Nothing before the first slot.
  std::optional<estimate::FusedSlot> Latest() const;
  // The same, or nothing if it is the slot that `seen` names; `seen` becomes the one returned. 0: none seen.
  std::optional<estimate::FusedSlot> LatestAfter(std::uint64_t& seen) const;

 private:
  mutable runtime::Mutex mutex_;
  estimate::FusedSlot latest_ GUARDED_BY(mutex_);
  std::uint64_t taken_ GUARDED_BY(mutex_) = 0;  // how many copies; 0: latest_ is empty
};

}  // namespace tributary::publish
