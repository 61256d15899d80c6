// Turns samples into estimates.
#pragma once

#include "absl/status/status.h"
#include "core/estimate/tuple_frame.h"
#include "node/accelerator/accelerator.h"
#include "node/source/source.h"

namespace tributary::workload {

// Owned and called by one panel thread.
class Workload {
 public:
  virtual ~Workload() = default;

  // Dimension of the tuples: 1, 2 or 3.
  virtual std::uint32_t dimension() const = 0;

  // Fills epoch, capture time, subjects, means and Cholesky factors (site frame, m) of `tuples`; the caller
  // sets sequence, source and revision. Leaves out and counts subjects without a usable result. Errors: as
  // the accelerator's.
  virtual absl::Status Run(const source::SensorFrame& samples, estimate::TupleFrame& tuples) = 0;

  // Tuples left out since the start because the result was not finite or not positive definite.
  virtual std::uint64_t unusable_tuples() const = 0;

  // Counts of the device since the start; all zero without one.
  virtual accelerator::Accelerator::Counters accelerator_counters() const { return {}; }
};

}  // namespace tributary::workload
