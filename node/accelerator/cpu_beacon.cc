#include <algorithm>
#include <cmath>
#include <limits>

#include "fmt/format.h"
#include "fpga/model/beacon_model.h"
#include "node/accelerator/create.h"

namespace tributary::accelerator {
namespace {

using Beacon = nn::BeaconNetwork;

class CpuBeacon final : public BeaconAccelerator {
 public:
  CpuBeacon(const Beacon& network, fpga::NumberFormat format, std::size_t max_batch)
      : BeaconAccelerator(max_batch), network_(network), model_(network), format_(format) {}

  std::string description() const override {
    return fmt::format("cpu (beacon, {})", fpga::NumberFormatName(format_));
  }

  absl::StatusOr<Weights> weights() override {
    if (format_ == fpga::NumberFormat::kFloat) return network_.parameters;
    Weights weights;
    std::ranges::transform(model_.weights(), weights.begin(),
                           [](std::int32_t word) { return std::ldexp(word, -fpga::kBeaconWeightFraction); });
    return weights;
  }

 private:
  absl::Status ReplaceWeights(const Weights& weights) override {
    network_.parameters = weights;
    model_ = fpga::BeaconModel(network_);
    return absl::OkStatus();
  }

  absl::Status Run(std::span<const float> features, std::size_t batch, std::span<float> outputs) override {
    for (std::size_t i = 0; i < batch; ++i) {
      nn::BeaconInputs ranges;
      std::copy_n(&features[i * Beacon::kInputs], Beacon::kInputs, ranges.begin());
      InferOne(ranges, outputs.subspan(i * Beacon::kOutputs, Beacon::kOutputs));
    }
    return absl::OkStatus();
  }

  void InferOne(const nn::BeaconInputs& ranges, std::span<float> result) const {
    const nn::BeaconInputs inputs = nn::NormaliseRanges(network_, ranges);
    if (!std::ranges::all_of(inputs, [](double v) { return std::isfinite(v); })) {
      std::ranges::fill(result, std::numeric_limits<float>::quiet_NaN());
      return;
    }
    const nn::BeaconOutputs normalised = format_ == fpga::NumberFormat::kFloat
                                             ? nn::BeaconForward(network_.parameters, inputs)
                                             : model_.Infer(inputs);
    std::ranges::transform(nn::PositionOf(network_, normalised), result.begin(),
                           [](double metres) { return static_cast<float>(metres); });
  }

  Beacon network_;
  fpga::BeaconModel model_;
  const fpga::NumberFormat format_;
};

}  // namespace

CreatedBeacon CreateCpuBeacon(const nn::BeaconNetwork& network, fpga::NumberFormat format,
                              std::size_t max_batch) {
  if (format != fpga::NumberFormat::kFloat && format != fpga::NumberFormat::kInt16) {
    return absl::InvalidArgumentError(
        fmt::format("the beacon network runs in float or int16, not in {}", fpga::NumberFormatName(format)));
  }
  return std::make_unique<CpuBeacon>(network, format, max_batch);
}

}  // namespace tributary::accelerator
