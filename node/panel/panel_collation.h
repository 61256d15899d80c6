// Collates the frames of a board's panels by slot.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <map>
#include <vector>

#include "core/estimate/slot_length.h"
#include "core/estimate/tuple_frame.h"

namespace tributary::panel {

struct PanelSlot {
  estimate::Epoch epoch = 0;
  std::int64_t due_ns = 0;
  std::size_t arrived = 0;
  std::vector<estimate::TupleFrame> frames;  // [panels]; no subjects where a panel has not delivered
  std::vector<char> present;                 // [panels]
};

// Each panel's epochs ascend, so a complete slot also ends the wait for every earlier one. An epoch out of
// order (a front end whose clock jumps) makes a slot of its own and does not affect others. When full, the
// oldest slot is dropped and counted. One thread at a time; memory is reused.
class PanelCollation {
 public:
  static constexpr std::size_t kCapacity = 64;  // slots
  static constexpr std::size_t kRemembered = 256;
  static constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();

  struct Counters {
    std::uint64_t late_frames = 0;    // of a slot already fused, or a second one of a panel
    std::uint64_t dropped_slots = 0;  // not taken in time
  };

  // A slot waits at most `deadline_ns` for its panels, counted from its first frame.
  PanelCollation(std::size_t panels, std::int64_t deadline_ns) : panels_(panels), deadline_ns_(deadline_ns) {}

  // Takes the frame of a panel; `frame` gets the memory of an old one.
  void Add(std::size_t panel, estimate::TupleFrame& frame, std::int64_t now_ns);

  // The oldest due slot: it or a later one is complete, or its deadline has passed. False if none is due.
  bool Take(std::int64_t now_ns, PanelSlot& slot);

  // The time at which Take will give a slot if no frame arrives: kNever if none waits.
  std::int64_t next_due_ns() const;

  const Counters& counters() const { return counters_; }

 private:
  // nullptr: the slot was fused.
  PanelSlot* SlotOf(estimate::Epoch epoch, std::int64_t now_ns);
  PanelSlot RemoveOldest();

  const std::size_t panels_;
  const std::int64_t deadline_ns_;
  std::map<estimate::Epoch, PanelSlot> slots_;
  std::deque<estimate::Epoch> out_;  // the latest kRemembered fused or dropped slots
  PanelSlot spare_;                  // memory for the next slot
  Counters counters_;
};

}  // namespace tributary::panel
