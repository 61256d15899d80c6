#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/runtime/log.h"
#include "core/status/macros.h"
#include "fpga/model/beacon_image.h"
#include "fpga/model/beacon_model.h"
#include "node/accelerator/create.h"
#include "node/accelerator/xrt_fallback.h"
#include "node/accelerator/xrt_frames.h"

namespace tributary::accelerator {
namespace {

std::vector<std::uint64_t> BeaconParameters(const nn::BeaconNetwork& network) {
  const fpga::BeaconParameterWords words = fpga::ToBeaconWords(fpga::BeaconModel(network).weights());
  return {words.begin(), words.end()};
}

// A frame is a subject; to read the weights, a word of them.
class XrtBeacon final : public BeaconAccelerator {
 public:
  XrtBeacon(const nn::BeaconNetwork& network, std::size_t max_batch, std::unique_ptr<XrtFrames> frames)
      : BeaconAccelerator(max_batch), network_(network), frames_(std::move(frames)), finite_(max_batch) {}

  std::string description() const override {
    return fmt::format("xrt (beacon, int16, {})", frames_->description());
  }
  Counters counters() const override { return frames_->counters(); }

  absl::StatusOr<Weights> weights() override {
    fpga::BeaconParameterWords read;
    const auto fill = [](std::size_t first, std::size_t count, std::span<std::uint64_t> words) {
      for (std::size_t i = 0; i < count; ++i) words[i] = first + i;
    };
    const auto take = [&](std::size_t first, std::size_t count, std::span<const std::uint64_t> words) {
      std::copy_n(words.begin(), count, &read[first]);
    };
    RETURN_IF_ERROR(frames_->Run(read.size(), 1, fpga::BeaconConfiguration::kRead, fill, take));
    Weights weights;
    std::ranges::transform(fpga::FromBeaconWords(read), weights.begin(),
                           [](std::int32_t word) { return std::ldexp(word, -fpga::kBeaconWeightFraction); });
    return weights;
  }

 private:
  absl::Status ReplaceWeights(const Weights& weights) override {
    network_.parameters = weights;
    return frames_->Load(BeaconParameters(network_));
  }

  absl::Status Run(std::span<const float> features, std::size_t batch, std::span<float> outputs) override {
    const auto fill = [&](std::size_t first, std::size_t count, std::span<std::uint64_t> words) {
      for (std::size_t i = 0; i < count; ++i) {
        nn::BeaconInputs ranges_m;
        std::copy_n(&features[(first + i) * ranges_m.size()], ranges_m.size(), ranges_m.begin());
        const nn::BeaconInputs inputs = nn::NormaliseRanges(network_, ranges_m);
        const bool finite = std::ranges::all_of(inputs, [](double input) { return std::isfinite(input); });
        finite_[first + i] = finite;
        words[i] = finite ? fpga::BeaconInputWord(fpga::BeaconModel::Quantise(inputs)) : 0;
      }
    };
    const auto take = [&](std::size_t first, std::size_t count, std::span<const std::uint64_t> words) {
      for (std::size_t i = 0; i < count; ++i) {
        nn::BeaconOutputs normalised;
        std::ranges::transform(fpga::BeaconOutputsOf(words[i]), normalised.begin(), [](std::int32_t word) {
          return std::ldexp(word, -fpga::kBeaconWordFraction);
        });
        std::ranges::transform(nn::PositionOf(network_, normalised),
                               &outputs[(first + i) * normalised.size()], [&](double metres) {
                                 return finite_[first + i] ? static_cast<float>(metres)
                                                           : std::numeric_limits<float>::quiet_NaN();
                               });
      }
    };
    return frames_->Run(batch, 1, fpga::BeaconConfiguration::kCompute, fill, take);
  }

  nn::BeaconNetwork network_;  // its weights as they were set, before they are rounded
  const std::unique_ptr<XrtFrames> frames_;
  std::vector<char> finite_;  // [max_batch]
};

class BeaconFallback final : public XrtFallback<BeaconAccelerator> {
 public:
  using XrtFallback::XrtFallback;

  absl::StatusOr<Weights> weights() override {
    if (board() != nullptr) {
      absl::StatusOr<Weights> read = board()->weights();
      if (read.ok()) return read;
    }
    return cpu().weights();
  }

 private:
  // A board that fails now has the new weights when it is opened again; until then the processor computes
  // with them.
  absl::Status ReplaceWeights(const Weights& weights) override {
    RETURN_IF_ERROR(cpu().SetWeights(weights));
    if (board() == nullptr) return absl::OkStatus();
    if (const absl::Status status = board()->SetWeights(weights); !status.ok()) {
      runtime::LogWarning("{}; the board gets the new weights when it is opened again",
                          std::string(status.message()));
    }
    return absl::OkStatus();
  }
};

}  // namespace

CreatedBeacon CreateXrtBeacon(const nn::BeaconNetwork& network, std::size_t max_batch,
                              const XrtOptions& options) {
  const auto create_board = [&]() -> CreatedBeacon {
    ASSIGN_OR_RETURN(
        auto frames,
        XrtFrames::Create({std::string(kXrtBeaconKernel), 1, 1, BeaconParameters(network)}, options));
    return std::make_unique<XrtBeacon>(network, max_batch, std::move(frames));
  };
  return WithFallback<BeaconFallback, BeaconAccelerator>(create_board(), options, [&] {
    return CreateCpuBeacon(network, fpga::NumberFormat::kInt16, max_batch);
  });
}

}  // namespace tributary::accelerator
