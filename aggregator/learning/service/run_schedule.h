// Which runs to look at: those that something may have happened to, and those whose time has come.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <set>
#include <utility>
#include <vector>

namespace tributary::learning {

class Run;

// The cost of a command must not depend on how many runs there are, most of which have ended. O(log n) each.
// One thread at a time.
class RunSchedule {
 public:
  static constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();

  // To be looked at next.
  void Touch(Run& run) { touched_.insert(&run); }
  // To be looked at then, whatever happens; kNever takes that back. Steady.
  void SetDue(Run& run, std::int64_t due_ns) {
    const auto [due, added] = due_.try_emplace(&run, due_ns);
    if (!added) by_time_.erase({due->second, &run});
    due->second = due_ns;
    if (due_ns == kNever) {
      due_.erase(due);
    } else {
      by_time_.emplace(due_ns, &run);
    }
  }
  void Forget(Run& run) {
    touched_.erase(&run);
    SetDue(run, kNever);
  }
  // Those to be looked at now, each once.
  std::vector<Run*> Take(std::int64_t now_ns) {
    while (!by_time_.empty() && by_time_.begin()->first <= now_ns) {
      Run* const run = by_time_.begin()->second;
      touched_.insert(run);
      SetDue(*run, kNever);
    }
    const std::vector<Run*> taken(touched_.begin(), touched_.end());
    touched_.clear();
    return taken;
  }
  // When to call Take; in the past if some run has been touched since.
  std::int64_t next_ns() const {
    if (!touched_.empty()) return 0;
    return by_time_.empty() ? kNever : by_time_.begin()->first;
  }

 private:
  std::set<Run*> touched_;
  std::map<Run*, std::int64_t> due_;
  std::set<std::pair<std::int64_t, Run*>> by_time_;
};

}  // namespace tributary::learning
