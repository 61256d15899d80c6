#include "node/accelerator/xrt_positioning.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "fpga/model/positioning_image.h"
#include "node/accelerator/positioning_kernels.h"

namespace tributary::accelerator {
namespace {

constexpr std::size_t kInputWords = fpga::PositioningModel::kInputs / 8;
constexpr std::size_t kOutputWords = (fpga::PositioningModel::kOutputs + 1) / 2;

}  // namespace

absl::StatusOr<std::unique_ptr<XrtPositioning>> XrtPositioning::Create(const nn::PositioningNetwork& network,
                                                                       std::size_t max_batch,
                                                                       const XrtOptions& options) {
  if (max_batch == 0) return absl::InvalidArgumentError("positioning on xrt: the batch is at least 1");
  absl::StatusOr<fpga::PositioningModel> model =
      fpga::PositioningModel::Create(network, fpga::NumberFormat::kInt8Int16);
  if (!model.ok()) return model.status();
  absl::StatusOr<std::vector<std::uint64_t>> parameters = fpga::PositioningParameterWords(model->fixed());
  if (!parameters.ok()) return parameters.status();
  auto frames = XrtFrames::Create({kKernel, kInputWords, kOutputWords, *std::move(parameters)}, options);
  if (!frames.ok()) return frames.status();
  return std::unique_ptr<XrtPositioning>(
      new XrtPositioning(*std::move(model), max_batch, *std::move(frames)));
}

XrtPositioning::XrtPositioning(fpga::PositioningModel model, std::size_t max_batch,
                               std::unique_ptr<XrtFrames> frames)
    : model_(std::move(model)), max_batch_(max_batch), frames_(std::move(frames)), finite_(max_batch) {}

Accelerator::Shape XrtPositioning::shape() const {
  return {.inputs = fpga::PositioningModel::kInputs,
          .outputs = fpga::PositioningModel::kOutputs,
          .max_batch = max_batch_};
}

std::string XrtPositioning::description() const {
  return fmt::format("xrt (int8_16, {})", frames_->description());
}

absl::Status XrtPositioning::Infer(std::span<const float> features, std::size_t batch,
                                   std::span<float> outputs) {
  if (batch > max_batch_ || features.size() != batch * fpga::PositioningModel::kInputs ||
      outputs.size() != batch * fpga::PositioningModel::kOutputs) {
    return absl::InvalidArgumentError(
        fmt::format("positioning on xrt: batch {} of at most {} with {} features and {} outputs; {} and {} "
                    "each are expected",
                    batch, max_batch_, features.size(), outputs.size(), fpga::PositioningModel::kInputs,
                    fpga::PositioningModel::kOutputs));
  }
  const auto fill = [&](std::size_t first, std::size_t count, std::span<std::uint64_t> words) {
    auto* bytes = reinterpret_cast<std::int8_t*>(words.data());
    for (std::size_t i = 0; i < count; ++i) {
      finite_[first + i] =
          PrepareInput(model_.input(), features.data() + (first + i) * fpga::PositioningModel::kInputs,
                       bytes + i * fpga::PositioningModel::kInputs);
      if (!finite_[first + i])
        std::fill_n(bytes + i * fpga::PositioningModel::kInputs, fpga::PositioningModel::kInputs,
                    std::int8_t{0});
    }
  };
  const float unit = std::ldexp(1.0f, -model_.fixed().output_fraction);
  const auto take = [&](std::size_t first, std::size_t count, std::span<const std::uint64_t> words) {
    std::array<std::int32_t, fpga::PositioningModel::kOutputs> results;
    for (std::size_t i = 0; i < count; ++i) {
      fpga::PositioningResults(words.subspan(i * kOutputWords, kOutputWords), results);
      for (std::size_t k = 0; k < fpga::PositioningModel::kOutputs; ++k) {
        outputs[(first + i) * fpga::PositioningModel::kOutputs + k] =
            finite_[first + i] ? unit * static_cast<float>(results[k])
                               : std::numeric_limits<float>::quiet_NaN();
      }
    }
  };
  return frames_->Run(batch, kInputWords, 0, fill, take);
}

}  // namespace tributary::accelerator
