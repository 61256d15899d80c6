// Takes ranges from a serial line on which this node is the beacon board (docs/serial-line.md).
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "core/estimate/slot_length.h"
#include "core/nn/beacon/beacon_network.h"
#include "core/runtime/clock.h"
#include "core/runtime/mutex.h"
#include "core/runtime/serial_port.h"
#include "core/serial/board.h"
#include "core/serial/session.h"
#include "node/source/source.h"

namespace tributary::source {

struct SerialSourceOptions {
  std::string panel;  // its name, for the log
  std::string port;   // as "/dev/ttyUSB0"
  std::uint32_t baud = runtime::kSerialBaud;
  estimate::SlotLength slot;
};

struct SerialCounters {
  serial::SessionCounters session;
  std::uint64_t lost_lines = 0;      // times that the device vanished
  std::uint64_t unsent_replies = 0;  // the line took nothing for a second

  SerialCounters& operator+=(const SerialCounters& other) {
    session += other.session;
    lost_lines += other.lost_lines;
    unsent_replies += other.unsent_replies;
    return *this;
  }
};

// Thread-safe: the panel's thread writes. Readers share it, so its counts outlive the source.
class SerialAccount {
 public:
  void Set(const SerialCounters& counters) {
    const runtime::MutexLock lock(mutex_);
    counters_ = counters;
  }
  SerialCounters counters() const {
    const runtime::MutexLock lock(mutex_);
    return counters_;
  }

 private:
  mutable runtime::Mutex mutex_;
  SerialCounters counters_ GUARDED_BY(mutex_);
};

// Each computation that the master asks for is a frame, taken when its last number arrived; its inputs are
// the subjects 1, 2 and so on, as ranges in m. `board` answers the master. A device that vanishes is opened
// again every half second; the board keeps its weights. `network` has the scales of inputs; `clock` outlives
// the source. Errors: as SerialPort::Open.
absl::StatusOr<std::unique_ptr<Source>> CreateSerial(const SerialSourceOptions& options,
                                                     std::unique_ptr<serial::Board> board,
                                                     std::shared_ptr<const nn::BeaconNetwork> network,
                                                     const runtime::Clock& clock);

}  // namespace tributary::source
