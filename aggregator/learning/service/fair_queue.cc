#include "aggregator/learning/service/fair_queue.h"

#include <utility>

namespace tributary::learning {

bool FairQueue::HasRoomFor(const std::string& owner) {
  if (owners_.size() >= kMaxOwners) {
    std::erase_if(owners_,
                  [](const auto& each) { return each.second.held == 0 && each.second.waiting.empty(); });
  }
  const auto known = owners_.find(owner);
  return waiting_.size() < kMaxWaiting &&
         (known == owners_.end() || known->second.waiting.size() < kMaxWaitingOfOwner);
}

void FairQueue::Add(Waiting newcomer) {
  const std::uint64_t arrival = ++arrivals_;
  const std::string owner = newcomer.owner;
  waiting_.emplace(arrival, std::move(newcomer));
  Change(owner, [arrival](Owner& its) { its.waiting.push_back(arrival); });
}

std::optional<FairQueue::Waiting> FairQueue::TakeNext() {
  if (ranks_.empty()) return std::nullopt;
  const std::uint64_t arrival = std::get<2>(*ranks_.begin());
  if (waiting_.find(arrival)->second.share > free_) return std::nullopt;
  Waiting next = TakeOut(arrival);
  free_ -= next.share;
  Change(next.owner, [&](Owner& its) {
    its.held += next.share;
    its.turn = ++turns_;
  });
  return next;
}

void FairQueue::GiveBack(const std::string& owner, std::size_t share) {
  free_ += share;
  Change(owner, [share](Owner& its) { its.held -= share; });
}

std::optional<std::int64_t> FairQueue::FirstSince() const {
  if (waiting_.empty()) return std::nullopt;
  return waiting_.begin()->second.since_ns;
}

FairQueue::Waiting FairQueue::TakeFirst() { return TakeOut(waiting_.begin()->first); }

bool FairQueue::MayHoldMore(const Owner& owner) const {
  return owner.held == 0 || owner.held + waiting_.find(owner.waiting.front())->second.share <= capacity_ / 2;
}

void FairQueue::Change(const std::string& name, const std::function<void(Owner&)>& change) {
  Owner& owner = owners_[name];
  if (!owner.waiting.empty()) ranks_.erase(RankOf(owner));
  change(owner);
  if (!owner.waiting.empty() && MayHoldMore(owner)) ranks_.insert(RankOf(owner));
  *owner.waits = !owner.waiting.empty();
  others_wait_ = !ranks_.empty();
}

FairQueue::Waiting FairQueue::TakeOut(std::uint64_t arrival) {
  const auto taken = waiting_.find(arrival);
  Change(taken->second.owner, [](Owner& its) { its.waiting.pop_front(); });
  return std::move(waiting_.extract(taken).mapped());
}

}  // namespace tributary::learning
