// Turns channel features into positions in the site's frame.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "node/accelerator/accelerator.h"
#include "node/workload/workload.h"

namespace tributary::workload {

// The pose of a panel's frame in the site's: a point p of the panel's frame is at (x_m, y_m) + R(angle) · p,
// counter-clockwise. The panels of one room share its centre as origin and differ by their angle.
struct PanelPose {
  double x_m = 0.0;
  double y_m = 0.0;
  double angle_deg = 0.0;
};

// Owned and called by one panel thread. Owns the accelerator and all buffers; a run allocates nothing once
// the vectors have grown to the number of subjects.
class PositioningWorkload final : public Workload {
 public:
  // covariance_scale multiplies the Cholesky factor (PositioningNetwork::covariance_scale). Errors:
  // InvalidArgument for an accelerator of another shape, a pose that is not finite or a scale that is not
  // positive.
  static absl::StatusOr<std::unique_ptr<PositioningWorkload>> Create(
      std::unique_ptr<accelerator::Accelerator> accelerator, const PanelPose& pose, double covariance_scale);

  std::uint32_t dimension() const override { return 2; }

  // Adds to the accelerator's errors: InvalidArgument if the number of features does not fit the subjects.
  // Tuples are empty after an error.
  absl::Status Run(const source::SensorFrame& samples, estimate::TupleFrame& tuples) override;

  std::uint64_t unusable_tuples() const override { return unusable_tuples_; }
  accelerator::Accelerator::Counters accelerator_counters() const override {
    return accelerator_->counters();
  }

 private:
  PositioningWorkload(std::unique_ptr<accelerator::Accelerator> accelerator, const PanelPose& pose,
                      double covariance_scale);
  void Append(std::uint32_t subject, const float* outputs, estimate::TupleFrame& tuples);

  std::unique_ptr<accelerator::Accelerator> accelerator_;
  PanelPose pose_;
  double cosine_;
  double sine_;
  double covariance_scale_;
  std::vector<float> outputs_;
  std::uint64_t unusable_tuples_ = 0;
};

}  // namespace tributary::workload
