// A limit on what many do at once, first come, first served.
#pragma once

#include <algorithm>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <utility>

namespace tributary::learning {

// Everyone who enters takes a share of a capacity until the last copy of its place is gone. Places may be
// given up on any thread; everything else is one thread's. Who does not fit waits; a share larger than all is
// taken as all.
class Gate {
 public:
  using Place = std::shared_ptr<void>;
  using Entered = std::function<void(Place)>;
  // Has a command done on the gate's thread. Outlives every place, as the gate does.
  using Post = std::function<void(std::function<void()>)>;

  Gate(std::size_t capacity, Post post) : free_(capacity), capacity_(capacity), post_(std::move(post)) {}

  // `entered` is called at once or when there is room.
  void Enter(std::size_t share, Entered entered) {
    waiting_.emplace_back(std::min(share, capacity_), std::move(entered));
    AdmitNext();
  }

 private:
  void AdmitNext() {
    while (!waiting_.empty() && waiting_.front().first <= free_) {
      const std::size_t share = waiting_.front().first;
      const Entered entered = std::move(waiting_.front().second);
      waiting_.pop_front();
      free_ -= share;
      entered(Place(nullptr, [this, share](void*) {
        post_([this, share] {
          free_ += share;
          AdmitNext();
        });
      }));
    }
  }

  std::size_t free_;
  const std::size_t capacity_;
  const Post post_;
  std::deque<std::pair<std::size_t, Entered>> waiting_;
};

}  // namespace tributary::learning
