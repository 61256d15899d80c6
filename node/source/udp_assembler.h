// Assembles the datagrams of one panel, in any order and with losses, into frames in ascending order. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <span>
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
  estimate::SlotLength slot{};      // what epochs count
};

// Holds at most kOpenSlots slots. When a newer slot is complete or needs room, hands on the oldest with its
// complete subjects. Memory is bounded by kOpenSlots · max_subjects · width floats and as many bytes. One
// thread.
class UdpAssembler {
 public:
  static constexpr std::size_t kOpenSlots = 4;
  // A slot lies no further from this machine's clock and from its capture: more means unsynchronised clocks.
  static constexpr std::int64_t kMaxDistanceNs = 5'000'000'000;

  explicit UdpAssembler(const UdpAssemblerOptions& options) : options_(options) {}

  // Takes one datagram at the time `now_unix_ns` (of this machine's clock), or returns why it cannot be used.
  std::optional<UdpRefusal> Add(std::span<const std::byte> datagram, std::int64_t now_unix_ns);

  bool ready() const { return !ready_.empty(); }

  // Moves the next frame in order into `frame`; false if none is ready.
  bool Take(SensorFrame& frame);

  // lost_subjects and lost_slots since the last call.
  UdpCounters TakeLosses() { return std::exchange(losses_, {}); }

 private:
  // A row of the frame is a subject; rows are in the order of arrival.
  struct Slot {
    SensorFrame frame;
    std::size_t expected = 0;           // subjects
    std::size_t complete = 0;           // subjects
    std::vector<std::size_t> received;  // [subjects]: features
    std::vector<char> present;          // [subjects × width]
  };

  // Whether a time (not negative) lies in the slot or at most kMaxDistanceNs beside it.
  bool NearSlot(std::int64_t unix_ns, estimate::Epoch epoch) const;
  std::optional<UdpRefusal> Check(const UdpFragment& fragment, std::int64_t now_unix_ns) const;
  Slot* SlotFor(const UdpFragment& fragment);
  std::optional<UdpRefusal> Store(Slot& slot, const UdpFragment& fragment);
  void GiveOutThrough(estimate::Epoch epoch);
  void RemoveIncomplete(Slot& slot) const;

  const UdpAssemblerOptions options_;
  std::map<estimate::Epoch, Slot> open_;
  std::deque<SensorFrame> ready_;   // oldest first
  estimate::Epoch last_epoch_ = 0;  // handed on
  UdpCounters losses_;
};

}  // namespace tributary::source
