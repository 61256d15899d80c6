// Datagrams of one panel, in any order and with losses, to frames in ascending order. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/estimate/slot_length.h"
#include "node/source/source.h"
#include "node/source/udp_datagram.h"

namespace tributary {

struct UdpAssemblerOptions {
  std::uint16_t panel = 0;
  std::uint16_t width = 1024;       // features per subject
  std::uint16_t max_subjects = 64;  // per slot
  SlotLength slot;                  // what epochs count
};

// What was received and not used, since the start.
struct UdpCounters {
  std::uint64_t malformed = 0;      // not decodable, wrong width, too many subjects, not finite
  std::uint64_t foreign = 0;        // of another panel
  std::uint64_t out_of_window = 0;  // slot further than kMaxDistanceNs from the clock
  std::uint64_t late = 0;           // of a slot that has been given out
  std::uint64_t duplicate = 0;      // features that were there already
  std::uint64_t lost_subjects = 0;  // incomplete when their slot was given out
  std::uint64_t lost_slots = 0;     // of which no subject was complete
};

// Holds at most kOpenSlots slots; the oldest is given out with the subjects that are complete when a newer
// one is complete or needs its place. Memory is bounded by kOpenSlots · max_subjects · width floats and as
// many bytes. One thread.
class UdpAssembler {
 public:
  static constexpr std::size_t kOpenSlots = 4;
  static constexpr std::int64_t kMaxDistanceNs = 5'000'000'000;  // beyond, no clock is synchronised

  explicit UdpAssembler(const UdpAssemblerOptions& options);

  // Takes one datagram at the time `now_unix_ns` (of this machine's clock). Never fails: what cannot be used
  // is counted.
  void Add(std::span<const std::byte> datagram, std::int64_t now_unix_ns);

  bool ready() const { return !ready_.empty(); }

  // Moves the next frame in order into `frame`; false if none is ready.
  bool Take(SensorFrame& frame);

  const UdpCounters& counters() const { return counters_; }

 private:
  struct Subject {
    std::uint32_t number = 0;
    std::size_t received = 0;     // features
    std::vector<float> features;  // [width]
    std::vector<char> present;    // [width]
  };
  struct Slot {
    Epoch epoch = 0;
    std::int64_t captured_unix_ns = 0;
    std::uint16_t expected = 0;  // subjects
    std::size_t complete = 0;    // subjects
    std::size_t used = 0;        // of `subjects`, which keep their capacity
    std::vector<Subject> subjects;
  };

  Slot* SlotFor(const UdpFragment& fragment);
  Subject* SubjectFor(Slot& slot, std::uint32_t number);
  void Store(Slot& slot, Subject& subject, const UdpFragment& fragment);
  void GiveOutThrough(Epoch epoch);
  void GiveOut(Slot& slot);

  const UdpAssemblerOptions options_;
  std::vector<Slot> slots_;         // [kOpenSlots]; epoch 0: free
  std::vector<SensorFrame> ready_;  // oldest first
  Epoch last_epoch_ = 0;            // given out
  UdpCounters counters_;
};

}  // namespace tributary
