// Where the sources of a site are, for a site that does not judge epochs by its clock.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "aggregator/fusion/source_table.h"
#include "core/estimate/slot_length.h"

namespace tributary::fusion {

// A recording keeps its own epochs: nothing but the sources says which are sensible. The front is the epoch
// where two of them last were at the same time, give or take kReach windows. One source alone cannot move it,
// however large its epochs are. Not thread-safe.
class EpochFront {
 public:
  static constexpr std::uint64_t kReach = 4;  // windows

  explicit EpochFront(std::uint64_t window_slots) : reach_slots_(kReach * window_slots) {}

  bool Far(estimate::Epoch a, estimate::Epoch b) const { return (a > b ? a - b : b - a) > reach_slots_; }
  // False as long as no two sources were at one place.
  bool Strays(estimate::Epoch epoch) const { return front_ && Far(epoch, *front_); }

  // Mostly O(1): the source beside whom this one was last is looked at first.
  void Report(SourceHandle source, estimate::Epoch epoch) {
    Place& place = places_[source];
    place.epoch = epoch;
    if (IsBeside(place.beside, source)) {
      front_ = epoch;
      return;
    }
    for (SourceHandle other = 0; other < places_.size(); ++other) {
      if (!IsBeside(other, source)) continue;
      place.beside = other;
      front_ = epoch;
      return;
    }
  }
  void Forget(SourceHandle source) { places_[source] = {}; }

 private:
  struct Place {
    std::optional<estimate::Epoch> epoch;
    SourceHandle beside = 0;
  };

  bool IsBeside(SourceHandle other, SourceHandle source) const {
    return other != source && places_[other].epoch && !Far(*places_[other].epoch, *places_[source].epoch);
  }

  const std::uint64_t reach_slots_;
  std::array<Place, SourceTable::kCapacity> places_ = {};
  std::optional<estimate::Epoch> front_;
};

}  // namespace tributary::fusion
