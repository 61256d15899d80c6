#include "node/accelerator/encoder_gradients.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/nn/kernel/convolution_3x3.h"
#include "core/status/macros.h"

namespace tributary::accelerator {
namespace {

std::vector<ConvolutionShape> ShapesOf(const nn::EncoderOptions& options) {
  std::vector<ConvolutionShape> shapes;
  std::size_t side = options.side, inputs = options.input_channels;
  for (const std::size_t outputs : options.channels) {
    shapes.push_back({side, inputs, outputs});
    side /= 2;
    inputs = outputs;
  }
  return shapes;
}

// What one call of AddWeights has: nn::Encoder gives the first stage's outputs in groups.
ConvolutionShape WeightsOf(const std::vector<ConvolutionShape>& shapes, std::size_t stage) {
  ConvolutionShape shape = shapes[stage];
  if (stage == 0) shape.outputs = std::min(shape.outputs, nn::Convolution3x3::kGroup);
  return shape;
}

}  // namespace

std::string EncoderGradients::WhyNot(const nn::EncoderOptions& options, const TensorTarget& target) {
  if (!options.quantised) return "the encoder is not quantised";
  const std::vector<ConvolutionShape> shapes = ShapesOf(options);
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    std::string why = EncoderWeightGradient::WhyNot(WeightsOf(shapes, i), target.size());
    if (why.empty() && i > 0) why = EncoderInputGradient::WhyNot(shapes[i], target.size());
    if (!why.empty()) return fmt::format("conv{}: {}", i + 1, why);
  }
  return "";
}

absl::StatusOr<std::unique_ptr<EncoderGradients>> EncoderGradients::Create(const nn::EncoderOptions& options,
                                                                           std::size_t batch,
                                                                           const TensorTarget& target) {
  if (const std::string why = WhyNot(options, target); !why.empty()) return absl::InvalidArgumentError(why);
  std::unique_ptr<EncoderGradients> gradients(new EncoderGradients());
  const std::vector<ConvolutionShape> shapes = ShapesOf(options);
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    Stage& stage = gradients->stages_.emplace_back();
    ASSIGN_OR_RETURN(stage.weights, EncoderWeightGradient::Create(WeightsOf(shapes, i), target));
    if (i == 0) continue;
    ASSIGN_OR_RETURN(stage.inputs, EncoderInputGradient::Create(shapes[i], batch, target));
  }
  return gradients;
}

std::uint64_t EncoderGradients::Bytes(const nn::EncoderOptions& options, std::size_t batch,
                                      const TensorTarget& target) {
  if (!WhyNot(options, target).empty()) return 0;
  const std::vector<ConvolutionShape> shapes = ShapesOf(options);
  std::uint64_t bytes = 0;
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    bytes += EncoderWeightGradient::Bytes(WeightsOf(shapes, i), target);
    if (i > 0) bytes += EncoderInputGradient::Bytes(shapes[i], batch, target);
  }
  return bytes;
}

}  // namespace tributary::accelerator
