#include "node/workload/workload.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <numbers>
#include <utility>

#include "core/estimate/tuple_planes.h"
#include "core/nn/optimise/gaussian_nll.h"
#include "core/nn/positioning/positioning_network.h"
#include "core/status/macros.h"
#include "node/accelerator/create.h"
#include "node/workload/network_run.h"

namespace tributary::workload {
namespace {

using Accelerator = accelerator::Accelerator;
using Factor = std::array<double, 3>;  // l11, l21, l22

// The position of a subject from its features and the network's outputs; not finite if there is none.
using PositionOf = std::function<nn::GaussianPosition(const float* features, const float* outputs)>;

// Runs the network and makes a position of each subject's outputs.
class PositionWorkload final : public Workload {
 public:
  PositionWorkload(std::unique_ptr<Accelerator> accelerator, PositionOf position_of)
      : run_(std::move(accelerator)), position_of_(std::move(position_of)) {}

  std::uint64_t unusable_tuples() const override { return unusable_tuples_; }
  Accelerator::Counters accelerator_counters() const override { return run_.counters(); }

  absl::Status Run(const source::SensorFrame& samples, estimate::TupleFrame& tuples) override {
    tuples.Begin(samples.epoch, samples.captured_unix_ns, {.dimension = kDimension, .classes = 0});
    RETURN_IF_ERROR(run_.Infer(samples));
    for (std::size_t i = 0; i < samples.subjects.size(); ++i) {
      Append(samples.subjects[i], position_of_(run_.features(samples, i).data(), run_.outputs(i).data()),
             tuples);
    }
    return absl::OkStatus();
  }

 private:
  void Append(std::uint32_t subject, const nn::GaussianPosition& position, estimate::TupleFrame& tuples) {
    std::array<float, kDimension> mean;
    std::array<float, 3> factor;
    std::ranges::copy(position.mean, mean.begin());
    std::ranges::copy(position.cholesky, factor.begin());
    if (!estimate::ValidTuples(kDimension, mean, factor)) {
      ++unusable_tuples_;
      return;
    }
    tuples.subjects.push_back(subject);
    tuples.means.insert(tuples.means.end(), mean.begin(), mean.end());
    tuples.cholesky.insert(tuples.cholesky.end(), factor.begin(), factor.end());
  }

  NetworkRun run_;
  const PositionOf position_of_;
  std::uint64_t unusable_tuples_ = 0;
};

// The lower factor of R·L·Lᵀ·Rᵀ: R·L brought to lower form by a rotation from the right, which leaves the
// product with its transpose as it is. The determinant stays l11·l22, so no difference of nearly equal
// numbers is formed.
Factor Rotate(const Factor& l, double cosine, double sine) {
  const double a11 = cosine * l[0] - sine * l[1];
  const double a12 = -sine * l[2];
  const double a21 = sine * l[0] + cosine * l[1];
  const double a22 = cosine * l[2];
  const double l11 = std::hypot(a11, a12);
  return {l11, (a11 * a21 + a12 * a22) / l11, l[0] * l[2] / l11};
}

nn::GaussianPosition OfFactor(const float* outputs) {
  std::array<double, nn::kGaussianOutputs> raw;
  std::copy_n(outputs, raw.size(), raw.begin());
  return nn::GaussianHead(raw);
}

nn::GaussianPosition OfLogDeviations(const float* outputs) {
  return {{outputs[0], outputs[1]}, {std::exp(double{outputs[2]}), 0, std::exp(double{outputs[3]})}};
}

}  // namespace

absl::StatusOr<std::unique_ptr<Workload>> CreatePositioning(std::unique_ptr<Accelerator> accelerator,
                                                            const PanelPose& pose, double covariance_scale) {
  return CreateGaussian(std::move(accelerator), nn::PositioningNetwork::kInputs, false, pose,
                        covariance_scale);
}

absl::StatusOr<std::unique_ptr<Workload>> CreateGaussian(std::unique_ptr<Accelerator> accelerator,
                                                         std::size_t inputs, bool log_deviation,
                                                         const PanelPose& pose, double covariance_scale) {
  RETURN_IF_ERROR(CheckShape("positioning", *accelerator, inputs, log_deviation ? 4 : nn::kGaussianOutputs));
  if (!(std::isfinite(pose.x_m) && std::isfinite(pose.y_m) && std::isfinite(pose.angle_deg))) {
    return absl::InvalidArgumentError("the panel's pose is not finite");
  }
  if (!(std::isfinite(covariance_scale) && covariance_scale > 0.0)) {
    return absl::InvalidArgumentError("covariance_scale is not positive");
  }
  const double angle = pose.angle_deg * std::numbers::pi / 180.0;
  const auto position_of = [log_deviation, pose, covariance_scale, cosine = std::cos(angle),
                            sine = std::sin(angle)](const float*,
                                                    const float* outputs) -> nn::GaussianPosition {
    const nn::GaussianPosition panel = log_deviation ? OfLogDeviations(outputs) : OfFactor(outputs);
    Factor site = Rotate(panel.cholesky, cosine, sine);
    for (double& value : site) value *= covariance_scale;
    return {{pose.x_m + cosine * panel.mean[0] - sine * panel.mean[1],
             pose.y_m + sine * panel.mean[0] + cosine * panel.mean[1]},
            site};
  };
  return std::make_unique<PositionWorkload>(std::move(accelerator), position_of);
}

absl::StatusOr<std::unique_ptr<Workload>> CreateBeacon(std::unique_ptr<Accelerator> accelerator,
                                                       const nn::BeaconNetwork& network) {
  return CreateBeacon(std::move(accelerator), std::make_shared<const nn::BeaconNetwork>(network));
}

absl::StatusOr<std::unique_ptr<Workload>> CreateBeacon(std::unique_ptr<Accelerator> accelerator,
                                                       std::shared_ptr<const nn::BeaconNetwork> network) {
  RETURN_IF_ERROR(
      CheckShape("beacon", *accelerator, nn::BeaconNetwork::kInputs, nn::BeaconNetwork::kOutputs));
  const auto position_of = [network = std::move(network)](const float* features,
                                                          const float* outputs) -> nn::GaussianPosition {
    nn::BeaconInputs ranges_m;
    std::copy_n(features, ranges_m.size(), ranges_m.begin());
    return {{outputs[0], outputs[1]}, nn::BeaconCholesky(*network, nn::NormaliseRanges(*network, ranges_m))};
  };
  return std::make_unique<PositionWorkload>(std::move(accelerator), position_of);
}

absl::StatusOr<std::unique_ptr<Workload>> CreateGeometry(std::unique_ptr<Accelerator> accelerator,
                                                         const nn::RangeGeometry& geometry) {
  RETURN_IF_ERROR(
      CheckShape("range geometry", *accelerator, geometry.inputs(), accelerator::kGeometryOutputs));
  const auto position_of = [](const float*, const float* outputs) -> nn::GaussianPosition {
    return {{outputs[0], outputs[1]}, {outputs[2], outputs[3], outputs[4]}};
  };
  return std::make_unique<PositionWorkload>(std::move(accelerator), position_of);
}

}  // namespace tributary::workload
