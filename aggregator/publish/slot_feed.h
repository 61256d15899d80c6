// The fused slots of one site, handed to all who want them.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "core/estimate/fused_slot.h"
#include "core/runtime/mutex.h"

namespace tributary::publish {

// Told of every slot, on the thread that fused it: it must be quick, must not block and must copy what it
// keeps. With several ingest threads it is called from each of them.
class SlotSink {
 public:
  virtual ~SlotSink() = default;
  virtual void OnSlots(std::span<const estimate::FusedSlot> slots) = 0;
};

// Thread-safe. A sink that is being removed may still be told once of slots on another thread.
class SlotFeed {
 public:
  void Add(std::shared_ptr<SlotSink> sink);
  void Remove(const SlotSink* sink);
  void Publish(std::span<const estimate::FusedSlot> slots) const;

 private:
  using Sinks = std::vector<std::shared_ptr<SlotSink>>;

  mutable runtime::Mutex mutex_;
  // Replaced as a whole, so that Publish calls out without the lock.
  std::shared_ptr<const Sinks> sinks_ GUARDED_BY(mutex_) = std::make_shared<const Sinks>();
};

}  // namespace tributary::publish
