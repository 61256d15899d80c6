// A limit on what many do at once, fair between those who want to.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "aggregator/learning/service/command_thread.h"
#include "aggregator/learning/service/fair_queue.h"
#include "core/runtime/clock.h"

namespace tributary::learning {

// Everyone who enters takes a share of a capacity until the last copy of its place is gone. Any thread may
// enter and give up a place; `entered` is called on the command thread, at once, when there is room, or
// without a place: too many wait, or it has waited for kPatience. A share larger than all is taken as all.
// Owners take turns (FairQueue).
class Gate {
 public:
  using Place = std::shared_ptr<const FairQueue::Held>;
  using Entered = std::function<void(std::optional<Place>)>;

  static constexpr std::chrono::seconds kPatience{15};

  // The thread outlives every place, as the gate and the clock do.
  Gate(std::size_t capacity, CommandThread& thread, const runtime::Clock& clock)
      : capacity_(capacity), thread_(thread), clock_(clock), queue_(capacity) {}

  void Enter(std::string owner, std::size_t share, Entered entered) {
    thread_.Post([this, owner = std::move(owner), share = std::min(share, capacity_),
                  entered = std::move(entered)]() mutable {
      if (!queue_.HasRoomFor(owner)) return entered(std::nullopt);
      queue_.Add({std::move(owner), share, clock_.SteadyNs(), std::move(entered)});
      AdmitNext();
    });
  }

  // The command thread only: sends away those who have waited too long. The steady time of the next one.
  std::int64_t Expire() {
    const std::int64_t patience_ns = std::chrono::nanoseconds(kPatience).count();
    const std::int64_t now_ns = clock_.SteadyNs();
    auto since_ns = queue_.FirstSince();
    for (; since_ns && *since_ns + patience_ns <= now_ns; since_ns = queue_.FirstSince()) {
      queue_.TakeFirst().entered(std::nullopt);
    }
    AdmitNext();  // a small share may have waited behind a large one
    since_ns = queue_.FirstSince();
    return since_ns ? *since_ns + patience_ns : CommandThread::kNever;
  }

 private:
  void AdmitNext() {
    while (const auto next = queue_.TakeNext()) {
      const auto* held = new FairQueue::Held(queue_.HeldBy(next->owner));
      next->entered(Place(held, [this, owner = next->owner, share = next->share](const auto* left) {
        delete left;
        thread_.Post([this, owner, share] {
          queue_.GiveBack(owner, share);
          AdmitNext();
        });
      }));
    }
  }

  const std::size_t capacity_;
  CommandThread& thread_;
  const runtime::Clock& clock_;
  FairQueue queue_;
};

}  // namespace tributary::learning
