// The remembered slots with their frames: those that wait, in the order of arrival, and those fused lately.
#pragma once

#include <bitset>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <span>
#include <vector>

#include "aggregator/fusion/site_config.h"
#include "core/estimate/slot_length.h"
#include "core/estimate/tuple_planes.h"

namespace tributary::fusion {

// Valid tuples of one source. They are moved, not copied, between the stage and the slot; buffers keep their
// capacity.
struct SlotInput {
  std::uint32_t source = 0;  // SourceHandle
  std::uint32_t revision = 0;
  std::uint64_t sequence = 0;
  std::int64_t captured_unix_ns = 0;
  bool fused_before = false;  // was in an earlier revision of its slot

  LeafSet leaves;                     // of the source
  std::vector<LeafSet> tuple_leaves;  // [n], or empty: `leaves` holds for every tuple

  std::vector<std::uint32_t> subjects;  // [n]
  estimate::TuplePlanes planes;         // [n] in two dimensions
  std::vector<float> means;             // [n × d] otherwise
  std::vector<float> cholesky;          // [n × d(d+1)/2]

  const LeafSet& LeavesOf(std::size_t row) const { return tuple_leaves.empty() ? leaves : tuple_leaves[row]; }
};

// Elements that keep their memory when they are cleared.
template <typename T>
class Recycled {
 public:
  // An element to fill; its contents are unspecified. Valid until the next Append.
  T& Append() {
    if (size_ == elements_.size()) elements_.emplace_back();
    return elements_[size_++];
  }
  void Clear() { size_ = 0; }
  std::span<T> all() { return {elements_.data(), size_}; }
  std::span<const T> all() const { return {elements_.data(), size_}; }

 private:
  std::vector<T> elements_;
  std::size_t size_ = 0;
};

// The frames of one slot.
using SlotPayload = Recycled<SlotInput>;

struct Slot {
  enum class State : std::uint8_t { kEmpty, kOpen, kFused };

  estimate::Epoch epoch = 0;
  std::int64_t first_steady_ns = 0;      // arrival of its first frame
  LeafSet covered;                       // leaves of the sources that reported in time, or in a revision
  std::bitset<256> reported;             // sources, by handle
  std::uint32_t revision = 0;            // of the last output
  std::unique_ptr<SlotPayload> payload;  // null once it is released
  std::list<Slot*>::iterator arrival;    // in the order of arrival, while it is open
  State state = State::kEmpty;
};

// A slot's place is its epoch modulo the size, so no look-up searches. Payloads come from a pool, last used
// first: the few in use stay in the cache, however many slots are remembered. Not thread-safe.
class SlotRing {
 public:
  // `slots` is rounded up to a power of two.
  explicit SlotRing(std::uint32_t slots);

  // The place of an epoch: its slot, an empty one, or another epoch's slot.
  Slot& At(estimate::Epoch epoch) { return slots_[epoch & mask_]; }

  // Turns an empty or fused place into the open slot of `epoch`, last in the order of arrival.
  void Open(Slot& slot, estimate::Epoch epoch, std::int64_t steady_ns);
  // Removes the slot from the order of arrival. Its payload stays until Release.
  void Close(Slot& slot);
  // Returns the payload to the pool, if the slot has one.
  void Release(Slot& slot);

  // The open slot that arrived first, or null.
  Slot* Oldest() const { return open_.empty() ? nullptr : open_.front(); }

  std::size_t open_slots() const { return open_.size(); }

 private:
  std::vector<Slot> slots_;
  const std::uint64_t mask_;
  std::vector<std::unique_ptr<SlotPayload>> pool_;  // those that are free
  std::list<Slot*> open_;                           // by arrival
  std::list<Slot*> spare_;                          // nodes for open_, so that opening does not allocate
};

}  // namespace tributary::fusion
