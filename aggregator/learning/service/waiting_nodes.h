// The nodes that are connected and in no run yet, for whoever asks, from any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/runtime/mutex.h"

namespace tributary::learning {

struct WaitingNode {
  std::string node;
  std::uint64_t sample_count = 0;  // 0: it has not said
};

// Thread-safe. Adding and leaving cost the logarithm of how many wait.
class WaitingNodes {
 public:
  // Waits until the last copy of this is gone, which may outlive this object.
  using Place = std::shared_ptr<void>;

  Place Add(WaitingNode node);
  std::vector<WaitingNode> List() const;
  std::size_t size() const;

 private:
  struct Shared {
    mutable runtime::Mutex mutex;
    std::uint64_t next GUARDED_BY(mutex) = 0;
    std::map<std::uint64_t, WaitingNode> nodes GUARDED_BY(mutex);
  };
  std::shared_ptr<Shared> shared_ = std::make_shared<Shared>();
};

}  // namespace tributary::learning
