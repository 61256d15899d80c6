// Turns samples into estimates.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/estimate/tuple_frame.h"
#include "core/nn/beacon/beacon_network.h"
#include "core/nn/geometry/range_geometry.h"
#include "node/accelerator/accelerator.h"
#include "node/source/source.h"

namespace tributary::workload {

// Positions are in the plane.
inline constexpr std::uint32_t kDimension = 2;

// Owned and called by one panel thread.
class Workload {
 public:
  virtual ~Workload() = default;

  // Fills epoch, capture time, shape, subjects and either means and Cholesky factors (site frame, m) or
  // log-probabilities of `tuples`; the caller sets sequence, source and revision. Leaves out and counts
  // subjects without a usable result.
  // Errors: as the accelerator's; InvalidArgument if the number of features does not fit the subjects. Tuples
  // are empty after an error.
  virtual absl::Status Run(const source::SensorFrame& samples, estimate::TupleFrame& tuples) = 0;

  // Tuples left out since the start because the result was not finite or not positive definite.
  virtual std::uint64_t unusable_tuples() const = 0;

  // Counts of the device since the start; all zero without one.
  virtual accelerator::Accelerator::Counters accelerator_counters() const { return {}; }
};

// The pose of a panel's frame in the site's: a point p of the panel's frame is at (x_m, y_m) + R(angle) · p,
// counter-clockwise. The panels of one room share its centre as origin and differ by their angle.
struct PanelPose {
  double x_m = 0.0;
  double y_m = 0.0;
  double angle_deg = 0.0;
};

// Turns channel features into positions in the site's frame. covariance_scale multiplies the Cholesky factor
// (PositioningNetwork::covariance_scale). A run allocates nothing once the vectors have grown to the number
// of subjects. Errors: InvalidArgument for an accelerator of another shape, a pose that is not finite or a
// scale that is not positive.
absl::StatusOr<std::unique_ptr<Workload>> CreatePositioning(
    std::unique_ptr<accelerator::Accelerator> accelerator, const PanelPose& pose, double covariance_scale);

// Turns any network's outputs into positions in the site's frame. Outputs of a subject: x, y and either the
// factor l11, l21, l22, whose diagonal a softplus makes positive, or with `log_deviation` the logarithms of
// both standard deviations. Errors: as CreatePositioning.
absl::StatusOr<std::unique_ptr<Workload>> CreateGaussian(
    std::unique_ptr<accelerator::Accelerator> accelerator, std::size_t inputs, bool log_deviation,
    const PanelPose& pose, double covariance_scale);

// Turns ranges into positions in the site's frame. The covariance is s²·I + s²·J(JᵀJ)⁻¹Jᵀ: the noise found on
// held-out data, and the uncertainty that the training set left in the parameters at these ranges. Errors:
// InvalidArgument for an accelerator of another shape.
absl::StatusOr<std::unique_ptr<Workload>> CreateBeacon(std::unique_ptr<accelerator::Accelerator> accelerator,
                                                       const nn::BeaconNetwork& network);
// With a network that its owner may replace between two runs, as the panel's thread.
absl::StatusOr<std::unique_ptr<Workload>> CreateBeacon(std::unique_ptr<accelerator::Accelerator> accelerator,
                                                       std::shared_ptr<const nn::BeaconNetwork> network);

// The same by geometry: the accelerator gives position and factor. Errors: InvalidArgument for an accelerator
// of another shape.
absl::StatusOr<std::unique_ptr<Workload>> CreateGeometry(
    std::unique_ptr<accelerator::Accelerator> accelerator, const nn::RangeGeometry& geometry);

// Turns the logits of any network into log-probabilities of classes, log_softmax(logits / temperature).
// `inputs`: features of a subject. A run allocates nothing once the vectors have grown to the number of
// subjects. Errors: InvalidArgument for an accelerator of another shape, less than two classes or more than
// estimate::kMostClasses, and a temperature outside 0.001 to 1000.
absl::StatusOr<std::unique_ptr<Workload>> CreateCategorical(
    std::unique_ptr<accelerator::Accelerator> accelerator, std::size_t inputs, std::size_t classes,
    double temperature);

}  // namespace tributary::workload
