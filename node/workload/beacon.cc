#include "node/workload/beacon.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "node/workload/inference.h"

namespace tributary::workload {
absl::StatusOr<std::unique_ptr<BeaconWorkload>> BeaconWorkload::Create(
    std::unique_ptr<accelerator::Accelerator> accelerator, const nn::BeaconNetwork& network) {
  const accelerator::Accelerator::Shape shape = accelerator->shape();
  if (shape.inputs != nn::BeaconNetwork::kInputs || shape.outputs != nn::BeaconNetwork::kOutputs ||
      shape.max_batch == 0) {
    return absl::InvalidArgumentError(absl::StrCat("beacon needs an accelerator of 3 inputs and 2 outputs; ",
                                                   accelerator->description(), " has ", shape.inputs, " and ",
                                                   shape.outputs));
  }
  return std::unique_ptr<BeaconWorkload>(new BeaconWorkload(std::move(accelerator), network));
}

BeaconWorkload::BeaconWorkload(std::unique_ptr<accelerator::Accelerator> accelerator,
                               const nn::BeaconNetwork& network)
    : accelerator_(std::move(accelerator)), network_(network) {}

absl::Status BeaconWorkload::Run(const source::SensorFrame& samples, estimate::TupleFrame& tuples) {
  if (absl::Status status = InferFrame(*accelerator_, samples, outputs_, tuples); !status.ok()) return status;
  tuples.dimension = dimension();
  for (std::size_t i = 0; i < samples.subjects.size(); ++i) {
    Append(samples.subjects[i], &samples.features[i * nn::BeaconNetwork::kInputs],
           &outputs_[i * nn::BeaconNetwork::kOutputs], tuples);
  }
  return absl::OkStatus();
}

void BeaconWorkload::Append(std::uint32_t subject, const float* ranges_m, const float* position_m,
                            estimate::TupleFrame& tuples) {
  nn::BeaconInputs ranges;
  std::copy_n(ranges_m, nn::BeaconNetwork::kInputs, ranges.begin());
  const std::array<double, 3> cholesky = nn::BeaconCholesky(network_, nn::NormaliseRanges(network_, ranges));
  std::array<float, 3> factor;
  std::ranges::transform(cholesky, factor.begin(), [](double v) { return static_cast<float>(v); });
  if (!std::isfinite(position_m[0]) || !std::isfinite(position_m[1]) ||
      !std::ranges::all_of(factor, [](float v) { return std::isfinite(v); }) || !(factor[0] > 0.0f) ||
      !(factor[2] > 0.0f)) {
    ++unusable_tuples_;
    return;
  }
  tuples.subjects.push_back(subject);
  tuples.means.insert(tuples.means.end(), position_m, position_m + nn::BeaconNetwork::kOutputs);
  tuples.cholesky.insert(tuples.cholesky.end(), factor.begin(), factor.end());
}

}  // namespace tributary::workload
