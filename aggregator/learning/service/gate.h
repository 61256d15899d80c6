// A limit on what many do at once, fair between those who want to.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
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

  static constexpr std::size_t kMaxWaiting = 1024;
  static constexpr std::size_t kMaxOwners = 16'384;  // whose turns are remembered
  static constexpr std::chrono::seconds kPatience{15};

  // The thread outlives every place, as the gate and the clock do.
  Gate(std::size_t capacity, CommandThread& thread, const runtime::Clock& clock)
      : free_(capacity), capacity_(capacity), thread_(thread), clock_(clock) {}

  void Enter(std::string owner, std::size_t share, Entered entered) {
    thread_.Post([this, owner = std::move(owner), share = std::min(share, capacity_),
                  entered = std::move(entered)]() mutable {
      if (waiting_.size() >= kMaxWaiting) return entered(std::nullopt);
      waiting_.push_back({std::move(owner), share, clock_.SteadyNs(), std::move(entered)});
      AdmitNext();
    });
  }

  // The command thread only: sends away those who have waited too long. The steady time of the next one.
  std::int64_t Expire() {
    const std::int64_t now_ns = clock_.SteadyNs();
    while (!waiting_.empty() && waiting_.front().since_ns + kPatienceNs <= now_ns) {
      const Entered entered = std::move(waiting_.front().entered);
      waiting_.pop_front();
      Note();
      entered(std::nullopt);
    }
    return waiting_.empty() ? CommandThread::kNever : waiting_.front().since_ns + kPatienceNs;
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
  static constexpr std::int64_t kPatienceNs = std::chrono::nanoseconds(kPatience).count();

  struct Owner {
    std::size_t held = 0;
    std::uint64_t turn = 0;  // the last one, counted from 1

    auto operator<=>(const Owner&) const = default;
  };

  void Note() { waited_for_ = !waiting_.empty(); }
  Owner OwnerOf(const Waiting& waiting) const {
    const auto found = owners_.find(waiting.owner);
    return found == owners_.end() ? Owner() : found->second;
  }

  void AdmitNext() {
    while (!waiting_.empty()) {
      const auto next =
          std::ranges::min_element(waiting_, {}, [this](const Waiting& each) { return OwnerOf(each); });
      if (next->share > free_) break;
      const Waiting admitted = std::move(*next);
      waiting_.erase(next);
      free_ -= admitted.share;
      if (owners_.size() >= kMaxOwners) ForgetTurns();
      Owner& owner = owners_[admitted.owner];
      owner.held += admitted.share;
      owner.turn = ++turns_;
      admitted.entered(Place(nullptr, [this, owner = admitted.owner, share = admitted.share](void*) {
        thread_.Post([this, owner, share] { Leave(owner, share); });
      }));
    }
    Note();
  }

  void Leave(const std::string& owner, std::size_t share) {
    free_ += share;
    owners_.find(owner)->second.held -= share;
    AdmitNext();
  }

  void ForgetTurns() {
    std::erase_if(owners_, [](const auto& each) { return each.second.held == 0; });
  }

  std::size_t free_;
  const std::size_t capacity_;
  CommandThread& thread_;
  const runtime::Clock& clock_;
  std::list<Waiting> waiting_;  // in the order of arrival
  std::map<std::string, Owner> owners_;
  std::uint64_t turns_ = 0;
  std::atomic<bool> waited_for_ = false;
};

}  // namespace tributary::learning
