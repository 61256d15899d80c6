#include "aggregator/publish/slot_feed.h"

#include <cstdlib>
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
  std::shared_ptr<const Sinks> sinks;
  {
    const runtime::MutexLock lock(mutex_);
    sinks = sinks_;
  }
  for (const std::shared_ptr<SlotSink>& sink : *sinks) sink->OnSlots(slots);
}

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
  const std::uint64_t skipped = seen == 0 || seen > number_ ? 0 : number_ - seen - 1;
  seen = number_;
  return BoardSlot{latest_, number_, skipped};
}

}  // namespace tributary::publish
