// What fusion puts out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/estimate/epoch.h"

namespace tributary {

// One slot of a site: n subjects, dimension d. Rows are in the frames' order if all frames of the slot list
// the same subjects in the same order, else in ascending order of the subject.
struct FusedSlot {
  Epoch epoch = 0;
  std::int64_t captured_unix_ns = 0;  // the earliest of its contributions
  std::int64_t fused_unix_ns = 0;
  std::uint32_t revision = 0;
  std::uint32_t dimension = 2;
  std::uint32_t contributor_words = 1;      // per subject: ceil(leaves / 64)
  std::vector<std::uint32_t> subjects;      // [n]
  std::vector<float> means;                 // [n × d], m
  std::vector<float> cholesky;              // [n × d(d+1)/2], m: rows of the lower factor
  std::vector<std::uint64_t> contributors;  // [n × contributor_words], bits of SiteConfig::leaves
  // [n]: sum over the contributions of their squared Mahalanobis distance to the fused mean, divided by its
  // expectation d(k-1); about 1 for consistent sources, 0 where only one contributed.
  std::vector<float> consistency;
  std::vector<float> velocities;  // [n × d], m/s; empty unless the site tracks its subjects
};

// A tuple that the chi-square gate left out after its frame had been taken.
struct GatedTuple {
  std::uint32_t source = 0;  // SourceHandle
  std::uint64_t sequence = 0;
  Epoch epoch = 0;
  std::uint32_t subject = 0;
};

// Slots in the order in which they were fused. One thread's; buffers are reused from Clear to Clear.
class FusedSlots {
 public:
  // Forgets the slots, keeps their memory.
  void Clear() {
    size_ = 0;
    gated.clear();
  }

  // A slot to be filled; its vectors have unspecified contents and old capacity. Valid until the next Append.
  FusedSlot& Append() {
    if (size_ == slots_.size()) slots_.emplace_back();
    return slots_[size_++];
  }
  void DropLast() { --size_; }

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  std::span<const FusedSlot> slots() const { return {slots_.data(), size_}; }
  const FusedSlot& operator[](std::size_t i) const { return slots_[i]; }

  std::vector<GatedTuple> gated;

 private:
  std::vector<FusedSlot> slots_;
  std::size_t size_ = 0;
};

}  // namespace tributary
