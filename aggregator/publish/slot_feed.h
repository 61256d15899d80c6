// The fused slots of one site: handed to all sinks, and the latest kept for occasional readers.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "core/estimate/tuple_frame.h"
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

struct BoardSlot {
  estimate::FusedSlot slot;
  std::uint64_t number = 0;   // among the slots that the site has published, from 1
  std::uint64_t skipped = 0;  // slots between the one that the reader saw last and this one
};

// Thread-safe. Takes a copy at most every kIntervalNs, so that readers never cost the fusing thread more than
// that.
class SiteBoard {
 public:
  static constexpr std::int64_t kIntervalNs = 10'000'000;

  // As a SlotSink; at least one.
  void OnSlots(std::span<const estimate::FusedSlot> slots);

  // Nothing before the first slot.
  std::optional<BoardSlot> Latest() const;
  // The same, or nothing if it is the slot that `seen` names; `seen` becomes the one returned. 0, or a number
  // that no slot has yet: none seen.
  std::optional<BoardSlot> LatestAfter(std::uint64_t& seen) const;

 private:
  mutable runtime::Mutex mutex_;
  estimate::FusedSlot latest_ GUARDED_BY(mutex_);
  std::uint64_t published_ GUARDED_BY(mutex_) = 0;  // slots that the site has published
  std::uint64_t number_ GUARDED_BY(mutex_) = 0;     // of latest_ among them; 0: latest_ is empty
};

}  // namespace tributary::publish
