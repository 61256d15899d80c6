// The model that a run trains, and for FedBuff the versions before it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "core/parameters/identity.h"

namespace tributary::learning {

struct ModelFacts {
  parameters::Sha256 schema{};
  parameters::Sha256 model{};  // of the present parameters
  std::uint64_t element_count = 0;
};

// One thread at a time.
class ModelVersions {
 public:
  // Keeps the last `earlier` versions before the present one.
  ModelVersions(const ModelFacts& present, std::size_t earlier) : present_(present), limit_(earlier) {}

  const ModelFacts& present() const { return present_; }
  std::size_t earlier() const { return earlier_.size(); }
  // The version that many steps before the present one; at most earlier().
  const parameters::Sha256& Before(std::size_t steps) const {
    return steps == 0 ? present_.model : earlier_[earlier_.size() - steps];
  }

  // A round has made the model go on.
  void GoOn(const parameters::Sha256& model) {
    earlier_.push_back(present_.model);
    if (earlier_.size() > limit_) earlier_.pop_front();
    present_.model = model;
  }
  // The run goes on from another model: updates to the earlier versions are void.
  void Replace(const parameters::Sha256& model) {
    earlier_.clear();
    present_.model = model;
  }

  // Oldest first.
  std::vector<parameters::Sha256> Earlier() const { return {earlier_.begin(), earlier_.end()}; }
  void RestoreEarlier(const std::vector<parameters::Sha256>& earlier) {
    earlier_.assign(earlier.begin(), earlier.end());
  }

 private:
  ModelFacts present_;
  std::size_t limit_;
  std::deque<parameters::Sha256> earlier_;  // oldest first
};

}  // namespace tributary::learning
