// Samples come from here. Raw samples do not leave the node.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <vector>

#include "absl/status/status.h"
#include "core/estimate/slot_length.h"
#include "core/radio/burst.h"

namespace tributary::source {

class SerialAccount;
class UdpAccount;

// Bursts of samples that were not used, by radio::BurstFault.
using BurstCounts = std::array<std::uint64_t, radio::kBurstFaults>;

// A panel's samples in one slot: `width` features for each of n subjects. Members are reused from slot to
// slot; vectors keep their capacity.
struct SensorFrame {
  estimate::Epoch epoch = 0;
  std::int64_t captured_unix_ns = 0;
  std::vector<std::uint32_t> subjects;  // [n]
  std::vector<float> features;          // [n × width], row-major; units are the source's
};

// Owned and called by one panel thread.
class Source {
 public:
  virtual ~Source() = default;

  // Waits until the next frame is due and writes it. Errors: Cancelled once stop is requested, OutOfRange at
  // the end of a finite recording, DataLoss for a recording or datagram that cannot be read further.
  virtual absl::Status Next(std::stop_token stop, SensorFrame& frame) = 0;

  // Frames since the start that were due but not produced (the panel was too slow) or not readable.
  virtual std::uint64_t missed_frames() const = 0;

  // The account of its datagrams; null if it takes none.
  virtual std::shared_ptr<const UdpAccount> udp_account() const { return nullptr; }

  // The account of its serial line; null if it has none.
  virtual std::shared_ptr<const SerialAccount> serial_account() const { return nullptr; }

  // Since the start; none if the source gives no bursts.
  virtual std::optional<BurstCounts> unusable_bursts() const { return std::nullopt; }
};

}  // namespace tributary::source
