// Hands the fused slots of one site to all sinks.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "core/estimate/fused_slot.h"
#include "core/runtime/mutex.h"

namespace tributary::publish {

// Called for every slot on the thread that fused it. It must be quick, must not block and must copy what it
// keeps. Several ingest threads may call it.
class SlotSink {
 public:
  virtual ~SlotSink() = default;
  virtual void OnSlots(std::span<const estimate::FusedSlot> slots) = 0;
};

// Thread-safe. A sink may still get one slot on another thread while it is removed.
class SlotFeed {
 public:
  void Add(std::shared_ptr<SlotSink> sink);
  void Remove(const SlotSink* sink);
  void Publish(std::span<const estimate::FusedSlot> slots) const;

 private:
  using Sinks = std::vector<std::shared_ptr<SlotSink>>;

  mutable runtime::Mutex mutex_;
  // Replaced as a whole, so that Publish calls sinks without the lock.
  std::shared_ptr<const Sinks> sinks_ GUARDED_BY(mutex_) = std::make_shared<const Sinks>();
};

}  // namespace tributary::publish
