// Whose task or status may have changed: what a caller has to tell, and to whom.
#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace tributary::learning {

struct ChangedNodes {
  bool everyone = false;
  std::vector<std::string> nodes;  // ascending, each once; empty if everyone
};

// Bounded: beyond kNamed names it says everyone, so that nothing is lost. One thread at a time.
class ChangeLog {
 public:
  static constexpr std::size_t kNamed = 256;

  void Add(std::string_view node) {
    if (!everyone_) names_.emplace(node);
    if (names_.size() > kNamed) AddEveryone();
  }
  void AddEveryone() {
    everyone_ = true;
    names_.clear();
  }
  // What has changed since the last call.
  ChangedNodes Take() {
    ChangedNodes changed{everyone_, {names_.begin(), names_.end()}};
    everyone_ = false;
    names_.clear();
    return changed;
  }

 private:
  bool everyone_ = false;
  std::set<std::string, std::less<>> names_;
};

}  // namespace tributary::learning
