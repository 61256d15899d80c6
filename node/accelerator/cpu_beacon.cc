#include "node/accelerator/cpu_beacon.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"

namespace tributary::accelerator {
absl::StatusOr<std::unique_ptr<CpuBeacon>> CpuBeacon::Create(const nn::BeaconNetwork& network,
                                                             fpga::NumberFormat format,
                                                             std::size_t max_batch) {
  if (format != fpga::NumberFormat::kFloat && format != fpga::NumberFormat::kInt16) {
    return absl::InvalidArgumentError(absl::StrCat("the beacon network runs in float or int16, not in ",
                                                   std::string(fpga::NumberFormatName(format))));
  }
  if (max_batch == 0) return absl::InvalidArgumentError("max_batch is 0");
  return std::unique_ptr<CpuBeacon>(new CpuBeacon(network, format, max_batch));
}

CpuBeacon::CpuBeacon(const nn::BeaconNetwork& network, fpga::NumberFormat format, std::size_t max_batch)
    : network_(network), model_(network), format_(format), max_batch_(max_batch) {}

Accelerator::Shape CpuBeacon::shape() const {
  return {
      .inputs = nn::BeaconNetwork::kInputs, .outputs = nn::BeaconNetwork::kOutputs, .max_batch = max_batch_};
}

std::string CpuBeacon::description() const {
  return absl::StrCat("cpu (beacon, ", std::string(fpga::NumberFormatName(format_)), ")");
}

absl::Status CpuBeacon::Infer(std::span<const float> features, std::size_t batch, std::span<float> outputs) {
  if (batch > max_batch_ || features.size() != batch * nn::BeaconNetwork::kInputs ||
      outputs.size() != batch * nn::BeaconNetwork::kOutputs) {
    return absl::InvalidArgumentError(absl::StrCat("beacon on the cpu: batch ", batch, " of at most ",
                                                   max_batch_, " with ", features.size(), " features and ",
                                                   outputs.size(), " outputs; 3 and 2 each are expected"));
  }
  for (std::size_t i = 0; i < batch; ++i) {
    nn::BeaconInputs ranges;
    std::copy_n(&features[i * nn::BeaconNetwork::kInputs], nn::BeaconNetwork::kInputs, ranges.begin());
    const auto result = outputs.subspan(i * nn::BeaconNetwork::kOutputs, nn::BeaconNetwork::kOutputs);
    const nn::BeaconInputs inputs = nn::NormaliseRanges(network_, ranges);
    if (!std::ranges::all_of(inputs, [](double v) { return std::isfinite(v); })) {
      std::ranges::fill(result, std::numeric_limits<float>::quiet_NaN());
      continue;
    }
    const nn::BeaconOutputs normalised = format_ == fpga::NumberFormat::kFloat
                                             ? nn::BeaconForward(network_.parameters, inputs)
                                             : model_.Infer(inputs);
    const nn::BeaconOutputs position = nn::PositionOf(network_, normalised);
    for (std::size_t o = 0; o < nn::BeaconNetwork::kOutputs; ++o) result[o] = static_cast<float>(position[o]);
  }
  return absl::OkStatus();
}

}  // namespace tributary::accelerator
