// A limit on what many do at once, fair between those who want to.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "aggregator/learning/service/command_thread.h"
#include "core/runtime/clock.h"

namespace tributary::learning {

// Everyone who enters takes a share of a capacity until the last copy of its place is gone. Any thread may
// enter and give up a place; `entered` is called on the command thread, at once, when there is room, or
// without a place: too many wait, or it has waited for kPatience. A share larger than all is taken as all.
//
// The next to enter is of the owner that holds least; among several, of the one whose last turn is longest
// ago: an owner who takes all places, or is sent away and comes again, takes no turn of the others.
class Gate {
 public:
  using Place = std::shared_ptr<void>;
  using Entered = std::function<void(std::optional<Place>)>;

  // As many as there may be calls. Ten thousand nodes may wait, without TLS all of one host.
  static constexpr std::size_t kMaxWaiting = 32'768;
  static constexpr std::size_t kMaxWaitingOfOwner = kMaxWaiting / 2;
  static constexpr std::size_t kMaxOwners = 2 * kMaxWaiting;  // whose turns are remembered
  static constexpr std::chrono::seconds kPatience{15};

  // The thread outlives every place, as the gate and the clock do.
  Gate(std::size_t capacity, CommandThread& thread, const runtime::Clock& clock)
      : free_(capacity), capacity_(capacity), thread_(thread), clock_(clock) {}

  void Enter(std::string owner, std::size_t share, Entered entered) {
    thread_.Post([this, owner = std::move(owner), share = std::min(share, capacity_),
                  entered = std::move(entered)]() mutable {
      if (!MayWait(owner)) return entered(std::nullopt);
      const std::uint64_t arrival = ++arrivals_;
      waiting_.emplace(arrival, Waiting{owner, share, clock_.SteadyNs(), std::move(entered)});
      Change(owner, [&](Owner& its) { its.waiting.push_back(arrival); });
      AdmitNext();
    });
  }

  // The command thread only: sends away those who have waited too long. The steady time of the next one.
  std::int64_t Expire() {
    const std::int64_t now_ns = clock_.SteadyNs();
    while (!waiting_.empty() && waiting_.begin()->second.since_ns + kPatienceNs <= now_ns) {
      const Entered entered = TakeOut(waiting_.begin()->first).entered;
      Note();
      entered(std::nullopt);
    }
    return waiting_.empty() ? CommandThread::kNever : waiting_.begin()->second.since_ns + kPatienceNs;
  }

  // Any thread.
  bool waited_for() const { return waited_for_; }

 private:
  struct Waiting {
    std::string owner;
    std::size_t share = 0;
    std::int64_t since_ns = 0;
    Entered entered;
  };
  struct Owner {
    std::size_t held = 0;
    std::uint64_t turn = 0;             // the last one, counted from 1
    std::deque<std::uint64_t> waiting;  // its arrivals, in their order
  };
  // What an owner holds, its last turn and its first arrival that waits: the least is the next.
  using Rank = std::tuple<std::size_t, std::uint64_t, std::uint64_t>;

  static constexpr std::int64_t kPatienceNs = std::chrono::nanoseconds(kPatience).count();

  static Rank RankOf(const Owner& owner) { return {owner.held, owner.turn, owner.waiting.front()}; }

  // One owner leaves half of all to the others, or what its first place leaves.
  bool MayHoldMore(const Owner& owner) const {
    return owner.held == 0 ||
           owner.held + waiting_.find(owner.waiting.front())->second.share <= capacity_ / 2;
  }

  void Note() { waited_for_ = !waiting_.empty(); }

  bool MayWait(const std::string& owner) {
    if (owners_.size() >= kMaxOwners) {
      std::erase_if(owners_,
                    [](const auto& each) { return each.second.held == 0 && each.second.waiting.empty(); });
    }
    const auto known = owners_.find(owner);
    return waiting_.size() < kMaxWaiting &&
           (known == owners_.end() || known->second.waiting.size() < kMaxWaitingOfOwner);
  }

  template <class How>
  void Change(const std::string& name, const How& change) {
    Owner& owner = owners_[name];
    if (!owner.waiting.empty()) ranks_.erase(RankOf(owner));
    change(owner);
    if (!owner.waiting.empty() && MayHoldMore(owner)) ranks_.insert(RankOf(owner));
  }

  // The first that waits of its owner.
  Waiting TakeOut(std::uint64_t arrival) {
    auto taken = waiting_.find(arrival);
    const std::string owner = taken->second.owner;
    Change(owner, [](Owner& its) { its.waiting.pop_front(); });
    return std::move(waiting_.extract(taken).mapped());
  }

  void AdmitNext() {
    while (!ranks_.empty()) {
      const std::uint64_t arrival = std::get<2>(*ranks_.begin());
      if (waiting_.find(arrival)->second.share > free_) break;
      const Waiting admitted = TakeOut(arrival);
      free_ -= admitted.share;
      Change(admitted.owner, [&](Owner& its) {
        its.held += admitted.share;
        its.turn = ++turns_;
      });
      admitted.entered(Place(nullptr, [this, owner = admitted.owner, share = admitted.share](void*) {
        thread_.Post([this, owner, share] { Leave(owner, share); });
      }));
    }
    Note();
  }

  void Leave(const std::string& owner, std::size_t share) {
    free_ += share;
    Change(owner, [share](Owner& its) { its.held -= share; });
    AdmitNext();
  }

  std::size_t free_;
  const std::size_t capacity_;
  CommandThread& thread_;
  const runtime::Clock& clock_;
  std::map<std::uint64_t, Waiting> waiting_;  // by arrival
  std::unordered_map<std::string, Owner> owners_;
  std::set<Rank> ranks_;  // of the owners that wait and may hold more
  std::uint64_t arrivals_ = 0;
  std::uint64_t turns_ = 0;
  std::atomic<bool> waited_for_ = false;
};

}  // namespace tributary::learning
