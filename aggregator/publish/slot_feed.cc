#include "aggregator/publish/slot_feed.h"

#include <utility>

namespace tributary::publish {

void SlotFeed::Add(std::shared_ptr<SlotSink> sink) {
  const runtime::MutexLock lock(mutex_);
  auto sinks = std::make_shared<Sinks>(*sinks_);
  sinks->push_back(std::move(sink));
  sinks_ = std::move(sinks);
}

void SlotFeed::Remove(const SlotSink* sink) {
  std::shared_ptr<const Sinks> before;  // released after the lock: it may be a sink's last owner
  const runtime::MutexLock lock(mutex_);
  auto sinks = std::make_shared<Sinks>(*sinks_);
  std::erase_if(*sinks, [sink](const std::shared_ptr<SlotSink>& each) { return each.get() == sink; });
  before = std::exchange(sinks_, std::move(sinks));
}

void SlotFeed::Publish(std::span<const estimate::FusedSlot> slots) const {
  if (slots.empty()) return;
  std::shared_ptr<const Sinks> sinks;
  {
    const runtime::MutexLock lock(mutex_);
    sinks = sinks_;
  }
  for (const std::shared_ptr<SlotSink>& sink : *sinks) sink->OnSlots(slots);
}

}  // namespace tributary::publish
