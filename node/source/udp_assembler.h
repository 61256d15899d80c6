// Assembles the datagrams of one panel, in any order and with losses, into frames in ascending order. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "core/estimate/slot_length.h"
#include "node/source/source.h"
#include "node/source/udp_account.h"
#include "node/source/udp_datagram.h"

namespace tributary::source {

struct UdpAssemblerOptions {
  std::uint16_t panel = 0;
  std::uint16_t width = 1024;       // features per subject
  std::uint16_t max_subjects = 64;  // per slot
  estimate::SlotLength slot;        // what epochs count
};

// Holds at most kOpenSlots slots. When a newer slot is complete or needs room, hands on the oldest with its
// complete subjects. Memory is bounded by kOpenSlots · max_subjects · width floats and as many bytes. One
// thread.
class UdpAssembler {
 public:
  static constexpr std::size_t kOpenSlots = 4;
  static constexpr std::int64_t kMaxDistanceNs = 5'000'000'000;  // a larger difference means unsynchronised
                                                                 // clocks

  explicit UdpAssembler(const UdpAssemblerOptions& options);

  // Takes one datagram at the time `now_unix_ns` (of this machine's clock), or returns why it cannot be used.
  std::optional<UdpRefusal> Add(std::span<const std::byte> datagram, std::int64_t now_unix_ns);

  bool ready() const { return !ready_.empty(); }

  // Moves the next frame in order into `frame`; false if none is ready.
  bool Take(SensorFrame& frame);

  // lost_subjects and lost_slots since the last call.
  UdpCounters TakeLosses() { return std::exchange(losses_, {}); }

 private:
  struct Subject {
    std::uint32_t number = 0;
    std::size_t received = 0;     // features
    std::vector<float> features;  // [width]
    std::vector<char> present;    // [width]
  };
  struct Slot {
    estimate::Epoch epoch = 0;
    std::int64_t captured_unix_ns = 0;
    std::uint16_t expected = 0;  // subjects
    std::size_t complete = 0;    // subjects
    std::size_t used = 0;        // of `subjects`, which keep their capacity
    std::vector<Subject> subjects;
  };

  Slot* SlotFor(const UdpFragment& fragment);
  Subject* SubjectFor(Slot& slot, std::uint32_t number);
  std::optional<UdpRefusal> Check(const UdpFragment& fragment, std::int64_t now_unix_ns) const;
  std::optional<UdpRefusal> Place(const UdpFragment& fragment);
  std::optional<UdpRefusal> Store(Slot& slot, Subject& subject, const UdpFragment& fragment);
  void GiveOutThrough(estimate::Epoch epoch);
  void GiveOut(Slot& slot);

  const UdpAssemblerOptions options_;
  std::vector<Slot> slots_;         // [kOpenSlots]; epoch 0: free
  std::vector<SensorFrame> ready_;  // oldest first
  estimate::Epoch last_epoch_ = 0;  // handed on
  UdpCounters losses_;
};

}  // namespace tributary::source
