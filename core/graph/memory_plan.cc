#include "core/graph/memory_plan.h"

#include <iterator>

namespace tributary::graph {

std::size_t MemoryPlan::Take(std::size_t size) {
  size = Rounded(size);
  auto best = gaps_.end();
  for (auto gap = gaps_.begin(); gap != gaps_.end(); ++gap) {
    if (gap->second >= size && (best == gaps_.end() || gap->second < best->second)) best = gap;
  }
  if (best == gaps_.end()) {
    end_ += size;
    return end_ - size;
  }
  const auto [offset, room] = *best;
  gaps_.erase(best);
  if (room > size) gaps_[offset + size] = room - size;
  return offset;
}

void MemoryPlan::GiveBack(std::size_t offset, std::size_t size) {
  size = Rounded(size);
  if (size == 0) return;
  const auto next = gaps_.lower_bound(offset);
  if (next != gaps_.end() && next->first == offset + size) {
    size += next->second;
    gaps_.erase(next);
  }
  const auto after = gaps_.lower_bound(offset);
  if (after != gaps_.begin()) {
    const auto before = std::prev(after);
    if (before->first + before->second == offset) {
      before->second += size;
      return;
    }
  }
  gaps_[offset] = size;
}

}  // namespace tributary::graph
