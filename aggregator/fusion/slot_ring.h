// The remembered slots with their frames: those that wait, by the time since which they do, and those fused
// lately.
#pragma once

#include <algorithm>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <utility>
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
  std::vector<float> evidence;          // [n × classes] of categorical tuples

  const LeafSet& LeavesOf(std::size_t row) const { return tuple_leaves.empty() ? leaves : tuple_leaves[row]; }
  // Nothing if the source does not speak of the subject.
  std::optional<std::size_t> RowOf(std::uint32_t subject) const {
    const auto found = std::ranges::find(subjects, subject);
    if (found == subjects.end()) return std::nullopt;
    return static_cast<std::size_t>(found - subjects.begin());
  }
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
  std::int64_t waits_since_ns = 0;  // steady: arrival of its first frame, or its beginning if that is later
  bool early = false;               // its first frame came before it began
  LeafSet covered;                  // leaves of the sources that reported in time, or in a revision
  std::bitset<256> reported;        // sources, by handle
  std::uint32_t revision = 0;       // of the last output
  std::unique_ptr<SlotPayload> payload;  // null once it is released
  std::list<Slot*>::iterator arrival;    // in the order of arrival, while it is open and not early
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

  // Turns an empty or fused place into the open slot of `epoch`. `lead_ns`: how long after this moment it
  // begins; not positive if it has begun.
  void Open(Slot& slot, estimate::Epoch epoch, std::int64_t steady_ns, std::int64_t lead_ns);
  // The slot waits no longer. Its payload stays until Release.
  void Close(Slot& slot);
  // Returns the payload to the pool, if the slot has one.
  void Release(Slot& slot);

  // The open slot that waits longest, or null.
  Slot* Oldest() const;
  // The sources whose frames are in a slot that waits or may be revised.
  std::bitset<256> Sources() const;
  // The source has reported nothing yet: its number was another's.
  void Forget(std::uint32_t source);

  std::size_t open_slots() const { return open_.size() + early_.size(); }
  std::size_t OpenTuples() const;

 private:
  std::vector<Slot> slots_;
  const std::uint64_t mask_;
  std::vector<std::unique_ptr<SlotPayload>> pool_;  // those that are free
  std::list<Slot*> open_;                           // by arrival, without the early ones
  // Few, or of a peer whose clock is ahead: these may allocate.
  std::set<std::pair<std::int64_t, Slot*>> early_;  // by waits_since_ns
  std::list<Slot*> spare_;                          // nodes for open_, so that opening does not allocate
};

}  // namespace tributary::fusion
