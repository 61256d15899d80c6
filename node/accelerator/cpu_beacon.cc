#include "node/accelerator/cpu_beacon.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"

namespace tributary {
namespace {

constexpr std::size_t kInputs = BeaconNetwork::kInputs;
constexpr std::size_t kOutputs = BeaconNetwork::kOutputs;

}  // namespace

absl::StatusOr<std::unique_ptr<CpuBeacon>> CpuBeacon::Create(const BeaconNetwork& network,
                                                             NumberFormat format, std::size_t max_batch) {
  if (format != NumberFormat::kFloat && format != NumberFormat::kInt16) {
    return absl::InvalidArgumentError(absl::StrCat("the beacon network runs in float or int16, not in ",
                                                   std::string(NumberFormatName(format))));
  }
  if (max_batch == 0) return absl::InvalidArgumentError("max_batch is 0");
  return std::unique_ptr<CpuBeacon>(new CpuBeacon(network, format, max_batch));
}

CpuBeacon::CpuBeacon(const BeaconNetwork& network, NumberFormat format, std::size_t max_batch)
    : network_(network), model_(network), format_(format), max_batch_(max_batch) {}

Accelerator::Shape CpuBeacon::shape() const {
  return {.inputs = kInputs, .outputs = kOutputs, .max_batch = max_batch_};
}

std::string CpuBeacon::description() const {
  return absl::StrCat("cpu (beacon, ", std::string(NumberFormatName(format_)), ")");
}

absl::Status CpuBeacon::Infer(std::span<const float> features, std::size_t batch, std::span<float> outputs) {
  if (batch > max_batch_ || features.size() != batch * kInputs || outputs.size() != batch * kOutputs) {
    return absl::InvalidArgumentError(absl::StrCat("beacon on the cpu: batch ", batch, " of at most ",
                                                   max_batch_, " with ", features.size(), " features and ",
                                                   outputs.size(), " outputs; 3 and 2 each are expected"));
  }
  for (std::size_t i = 0; i < batch; ++i) {
    BeaconInputs ranges;
    std::copy_n(&features[i * kInputs], kInputs, ranges.begin());
    const auto result = outputs.subspan(i * kOutputs, kOutputs);
    const BeaconInputs inputs = NormaliseRanges(network_, ranges);
    if (!std::ranges::all_of(inputs, [](double v) { return std::isfinite(v); })) {
      std::ranges::fill(result, std::numeric_limits<float>::quiet_NaN());
      continue;
    }
    const BeaconOutputs normalised =
        format_ == NumberFormat::kFloat ? BeaconForward(network_.parameters, inputs) : model_.Infer(inputs);
    const BeaconOutputs position = PositionOf(network_, normalised);
    for (std::size_t o = 0; o < kOutputs; ++o) result[o] = static_cast<float>(position[o]);
  }
  return absl::OkStatus();
}

}  // namespace tributary
