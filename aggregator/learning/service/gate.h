// A limit on what many do at once, first come, first served.
#pragma once

#include <algorithm>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <utility>

#include "aggregator/learning/service/command_thread.h"

namespace tributary::learning {

// Everyone who enters takes a share of a capacity until the last copy of its place is gone. Any thread may
// enter and give up a place; `entered` is called on the command thread, at once or when there is room. A
// share larger than all is taken as all.
class Gate {
 public:
  using Place = std::shared_ptr<void>;
  using Entered = std::function<void(Place)>;

  // The thread outlives every place, as the gate does.
  Gate(std::size_t capacity, CommandThread& thread) : free_(capacity), capacity_(capacity), thread_(thread) {}

  void Enter(std::size_t share, Entered entered) {
    thread_.Post([this, share = std::min(share, capacity_), entered = std::move(entered)]() mutable {
      waiting_.emplace_back(share, std::move(entered));
      AdmitNext();
    });
  }

 private:
  void AdmitNext() {
    while (!waiting_.empty() && waiting_.front().first <= free_) {
      const std::size_t share = waiting_.front().first;
      const Entered entered = std::move(waiting_.front().second);
      waiting_.pop_front();
      free_ -= share;
      entered(Place(nullptr, [this, share](void*) {
        thread_.Post([this, share] {
          free_ += share;
          AdmitNext();
        });
      }));
    }
  }

  std::size_t free_;
  const std::size_t capacity_;
  CommandThread& thread_;
  std::deque<std::pair<std::size_t, Entered>> waiting_;
};

}  // namespace tributary::learning
