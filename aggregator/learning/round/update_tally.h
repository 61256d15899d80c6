// The updates of one round: which are being sent, how many have been accepted, and for whom they speak.
#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <string_view>

#include "aggregator/learning/round/submission.h"

namespace tributary::learning {

// Keeps names and sums, not the headers: the store has those. An operation costs O(log n), Add also one such
// step per contributor. One thread at a time.
class UpdateTally {
 public:
  // An upload is reserved from its admission until it is accepted, refused or broken off.
  bool Reserved(std::string_view node) const { return under_way_.contains(node); }
  void Reserve(std::string_view node) { under_way_.emplace(node); }
  void Release(std::string_view node) {
    if (const auto found = under_way_.find(node); found != under_way_.end()) under_way_.erase(found);
  }
  void ReleaseAll() { under_way_.clear(); }

  void Add(const SubmissionHeader& header, double weight) {
    counted_.insert(header.node);
    for (const Contribution& each : header.contributors) counted_.insert(each.node);
    ++count_;
    total_weight_ += weight;
  }
  // As the sender of an accepted update, or as one of its contributors.
  bool Counts(std::string_view node) const { return counted_.contains(node); }
  std::size_t count() const { return count_; }
  double total_weight() const { return total_weight_; }

 private:
  using Names = std::set<std::string, std::less<>>;

  Names under_way_;
  Names counted_;
  std::size_t count_ = 0;
  double total_weight_ = 0;
};

}  // namespace tributary::learning
