// Where the results of nodes lie in one block of memory: a place is used again when its value is not needed
// any more.
#pragma once

#include <cstddef>
#include <map>

namespace tributary::graph {

// Sizes in bytes. Not for threads.
class MemoryPlan {
 public:
  static constexpr std::size_t kAlignment = 64;

  // Where a value of this size lies: the smallest gap that takes it, or the end.
  std::size_t Take(std::size_t size);
  // Gives a place back.
  void GiveBack(std::size_t offset, std::size_t size);

  std::size_t bytes() const { return end_; }  // of the whole block

 private:
  static std::size_t Rounded(std::size_t size) { return (size + kAlignment - 1) / kAlignment * kAlignment; }

  std::size_t end_ = 0;
  std::map<std::size_t, std::size_t> gaps_;  // offset to size; no two touch
};

}  // namespace tributary::graph
