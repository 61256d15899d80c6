// Who is the next of those who wait for a share of a capacity.
#pragma once

#include <atomic>
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

namespace tributary::learning {

// The next is of the owner that holds least; among several, of the one whose last turn is longest ago: an
// owner who takes all, or is sent away and comes again, takes no turn of the others. An owner leaves half of
// the capacity to the others, or what its first share leaves. Not thread-safe; each step takes logarithmic
// time in the number of those who wait.
class FairQueue {
 public:
  // Ten thousand nodes may wait, without TLS all of one host. ingest.max_calls allows fewer by default.
  static constexpr std::size_t kMaxWaiting = 32'768;
  static constexpr std::size_t kMaxWaitingOfOwner = kMaxWaiting / 2;
  static constexpr std::size_t kMaxOwners = 2 * kMaxWaiting;  // whose turns are remembered

  // A share that is taken. Any thread may ask.
  struct Held {
    const std::atomic<bool>& others_wait;                  // for room
    std::shared_ptr<const std::atomic<bool>> owner_waits;  // for one more share

    // Whether somebody could have it if it were given back.
    bool waited_for() const { return others_wait || *owner_waits; }
  };

  struct Waiting {
    std::string owner;
    std::size_t share = 0;  // up to the capacity
    std::int64_t since_ns = 0;
    std::function<void(std::optional<std::shared_ptr<const Held>>)> entered;
  };

  explicit FairQueue(std::size_t capacity) : capacity_(capacity), free_(capacity) {}

  // Whether one more of this owner may wait.
  bool HasRoomFor(const std::string& owner);
  void Add(Waiting newcomer);
  // The next, if its share is free; it holds the share until GiveBack.
  std::optional<Waiting> TakeNext();
  // For an owner that has just taken a share. The queue outlives it.
  Held HeldBy(const std::string& owner) const { return {others_wait_, owners_.find(owner)->second.waits}; }
  void GiveBack(const std::string& owner, std::size_t share);
  // Since when the first one waits; nullopt: nobody waits.
  std::optional<std::int64_t> FirstSince() const;
  // That first one, which does not wait any more.
  Waiting TakeFirst();

 private:
  struct Owner {
    std::size_t held = 0;
    std::uint64_t turn = 0;             // the last one, counted from 1
    std::deque<std::uint64_t> waiting;  // its arrivals, in their order
    std::shared_ptr<std::atomic<bool>> waits = std::make_shared<std::atomic<bool>>(false);
  };
  // What an owner holds, its last turn and its first arrival that waits: the least is the next.
  using Rank = std::tuple<std::size_t, std::uint64_t, std::uint64_t>;

  static Rank RankOf(const Owner& owner) { return {owner.held, owner.turn, owner.waiting.front()}; }
  bool MayHoldMore(const Owner& owner) const;
  // Keeps the ranks right while an owner changes.
  void Change(const std::string& name, const std::function<void(Owner&)>& change);
  // The first that waits of its owner.
  Waiting TakeOut(std::uint64_t arrival);

  const std::size_t capacity_;
  std::size_t free_;
  std::map<std::uint64_t, Waiting> waiting_;  // by arrival
  std::unordered_map<std::string, Owner> owners_;
  std::set<Rank> ranks_;  // of the owners that wait and may hold more
  std::uint64_t arrivals_ = 0;
  std::uint64_t turns_ = 0;
  std::atomic<bool> others_wait_ = false;  // whether there are such owners
};

}  // namespace tributary::learning
