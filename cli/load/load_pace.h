// When the slots of a paced load are due, and their epochs.
#pragma once

#include <cstdint>
#include <optional>

#include "core/estimate/slot_length.h"

namespace tributary::cli {

// A value; one thread's. The first slot of a run is due one period after the run begins. A slot has the epoch
// of the time at which it was due, however late it is sent: a load that falls behind does not send ahead of
// time afterwards. Only at a rate above that of the site's slots do epochs run ahead.
class LoadPace {
 public:
  LoadPace(double rate_hz, estimate::SlotLength slot) : period_ns_(1e9 / rate_hz), slot_(slot) {}

  // A run of this length begins, at this time by both clocks. Epochs are not used again.
  void Begin(std::int64_t unix_ns, std::int64_t steady_ns, std::int64_t duration_ns);

  // By the steady clock.
  std::int64_t NextDueNs() const;

  // The epoch of the next slot, if it is due by then and before the run's end.
  std::optional<estimate::Epoch> Take(std::int64_t steady_ns);

  // Leaves out all that Take would return. Returns how many.
  std::uint64_t Skip(std::int64_t steady_ns);

 private:
  const double period_ns_;
  const estimate::SlotLength slot_;
  std::int64_t start_unix_ns_ = 0;
  std::int64_t start_ns_ = 0;
  std::int64_t end_ns_ = 0;
  std::uint64_t slots_ = 0;  // of the run, taken and left out
  estimate::Epoch next_epoch_ = 0;
};

}  // namespace tributary::cli
