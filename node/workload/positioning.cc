#include "node/workload/positioning.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/nn/optimise/gaussian_nll.h"
#include "core/nn/positioning/positioning_network.h"
#include "node/workload/inference.h"

namespace tributary::workload {
namespace {

constexpr std::size_t kInputs = nn::PositioningNetwork::kInputs;
constexpr std::size_t kOutputs = nn::kGaussianOutputs;

using Factor = std::array<double, 3>;  // l11, l21, l22

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

}  // namespace

absl::StatusOr<std::unique_ptr<PositioningWorkload>> PositioningWorkload::Create(
    std::unique_ptr<accelerator::Accelerator> accelerator, const PanelPose& pose, double covariance_scale) {
  const accelerator::Accelerator::Shape shape = accelerator->shape();
  if (shape.inputs != kInputs || shape.outputs != kOutputs || shape.max_batch == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("positioning needs an accelerator of ", kInputs, " inputs and ", kOutputs, " outputs; ",
                     accelerator->description(), " has ", shape.inputs, " and ", shape.outputs));
  }
  if (!(std::isfinite(pose.x_m) && std::isfinite(pose.y_m) && std::isfinite(pose.angle_deg))) {
    return absl::InvalidArgumentError("the panel's pose is not finite");
  }
  if (!(std::isfinite(covariance_scale) && covariance_scale > 0.0)) {
    return absl::InvalidArgumentError("covariance_scale is not positive");
  }
  return std::unique_ptr<PositioningWorkload>(
      new PositioningWorkload(std::move(accelerator), pose, covariance_scale));
}

PositioningWorkload::PositioningWorkload(std::unique_ptr<accelerator::Accelerator> accelerator,
                                         const PanelPose& pose, double covariance_scale)
    : accelerator_(std::move(accelerator)),
      pose_(pose),
      cosine_(std::cos(pose.angle_deg * std::numbers::pi / 180.0)),
      sine_(std::sin(pose.angle_deg * std::numbers::pi / 180.0)),
      covariance_scale_(covariance_scale) {}

absl::Status PositioningWorkload::Run(const source::SensorFrame& samples, estimate::TupleFrame& tuples) {
  if (absl::Status status = InferFrame(*accelerator_, samples, outputs_, tuples); !status.ok()) return status;
  tuples.dimension = dimension();
  for (std::size_t i = 0; i < samples.subjects.size(); ++i)
    Append(samples.subjects[i], &outputs_[i * kOutputs], tuples);
  return absl::OkStatus();
}

void PositioningWorkload::Append(std::uint32_t subject, const float* outputs, estimate::TupleFrame& tuples) {
  std::array<double, kOutputs> raw;
  std::copy_n(outputs, kOutputs, raw.begin());
  const nn::GaussianPosition panel = nn::GaussianHead(raw);
  const Factor site = Rotate(panel.cholesky, cosine_, sine_);
  const std::array<float, 2> mean = {
      static_cast<float>(pose_.x_m + cosine_ * panel.mean[0] - sine_ * panel.mean[1]),
      static_cast<float>(pose_.y_m + sine_ * panel.mean[0] + cosine_ * panel.mean[1])};
  std::array<float, 3> factor;
  for (std::size_t i = 0; i < factor.size(); ++i) factor[i] = static_cast<float>(site[i] * covariance_scale_);

  const auto finite = [](float v) { return std::isfinite(v); };
  if (!std::all_of(mean.begin(), mean.end(), finite) || !std::all_of(factor.begin(), factor.end(), finite) ||
      !(factor[0] > 0.0f) || !(factor[2] > 0.0f)) {
    ++unusable_tuples_;
    return;
  }
  tuples.subjects.push_back(subject);
  tuples.means.insert(tuples.means.end(), mean.begin(), mean.end());
  tuples.cholesky.insert(tuples.cholesky.end(), factor.begin(), factor.end());
}

}  // namespace tributary::workload
