#include "aggregator/learning/service/waiting_nodes.h"

#include <utility>

namespace tributary::learning {

WaitingNodes::Place WaitingNodes::Add(WaitingNode node) {
  std::uint64_t number = 0;
  {
    const runtime::MutexLock lock(shared_->mutex);
    number = shared_->next++;
    shared_->nodes.emplace(number, std::move(node));
  }
  // The pointer is not followed: what counts is when it goes.
  return Place(shared_.get(), [shared = shared_, number](void*) {
    const runtime::MutexLock lock(shared->mutex);
    shared->nodes.erase(number);
  });
}

std::vector<WaitingNode> WaitingNodes::List() const {
  std::vector<WaitingNode> all;
  const runtime::MutexLock lock(shared_->mutex);
  for (const auto& [number, node] : shared_->nodes) all.push_back(node);
  return all;
}

std::size_t WaitingNodes::size() const {
  const runtime::MutexLock lock(shared_->mutex);
  return shared_->nodes.size();
}

}  // namespace tributary::learning
