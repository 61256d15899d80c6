#include "node/accelerator/encoder_stages.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>

#include "core/nn/encoder/encoder.h"
#include "core/status/macros.h"

namespace tributary::accelerator {
namespace {

constexpr std::int64_t kKernelSide = 3;
constexpr std::uint64_t kTaps = kKernelSide * kKernelSide;
// Far above what the largest encoder takes.
constexpr std::uint64_t kMostSectionBytes = std::uint64_t{1} << 30;

graph::QuantisedTensor BytesOf(std::string name, std::size_t batch, std::size_t channels, std::size_t side) {
  const auto pixels = static_cast<std::int64_t>(side);
  return {.name = std::move(name),
          .shape = {static_cast<std::int64_t>(batch), static_cast<std::int64_t>(channels), pixels, pixels},
          .quantisation = {graph::ElementType::kUint8, nn::kPixelUnit, 0}};
}

graph::Window SquareWindow(std::int64_t size, std::int64_t stride, std::int64_t padding, std::size_t input) {
  const auto side = static_cast<std::int64_t>(input);
  const std::int64_t output = (side + 2 * padding - size) / stride + 1;
  return {.size = {size, size},
          .stride = {stride, stride},
          .dilation = {1, 1},
          .before = {padding, padding},
          .after = {padding, padding},
          .input = {side, side},
          .output = {output, output}};
}

// Stage by stage: convolution, and the maxima for the next. The weights are zeros.
absl::StatusOr<graph::QuantisedSection> SectionOf(const nn::EncoderOptions& options, std::size_t batch) {
  ASSIGN_OR_RETURN(const graph::Factor unit, graph::FactorOf(nn::kKernelUnit));
  ASSIGN_OR_RETURN(const graph::Factor one, graph::FactorOf(1));
  graph::QuantisedSection section;
  const auto add = [&section](graph::QuantisedTensor tensor) {
    section.tensors.push_back(std::move(tensor));
    return static_cast<int>(section.tensors.size()) - 1;
  };
  int input = add(BytesOf("images", batch, options.input_channels, options.side));
  section.inputs = {input};
  std::size_t inputs = options.input_channels, side = options.side;
  for (std::size_t i = 0; i < options.channels.size(); ++i) {
    const std::size_t outputs = options.channels[i];
    const int convolved = add(BytesOf(fmt::format("conv{}", i + 1), batch, outputs, side));
    section.layers.push_back({.name = section.tensors.back().name,
                              .kind = graph::LayerKind::kConvolution,
                              .input = input,
                              .output = convolved,
                              .window = SquareWindow(kKernelSide, 1, 1, side),
                              .weights = std::vector<std::int8_t>(outputs * inputs * kTaps),
                              .bias = std::vector<std::int32_t>(outputs),
                              .factors = {unit},
                              .highest = 255});
    section.outputs.push_back(convolved);
    if (i + 1 == options.channels.size()) break;
    input = add(BytesOf(fmt::format("pool{}", i + 1), batch, outputs, side / 2));
    section.layers.push_back({.name = section.tensors.back().name,
                              .kind = graph::LayerKind::kMaxPool,
                              .input = convolved,
                              .output = input,
                              .window = SquareWindow(2, 2, 0, side),
                              .factors = {one},
                              .highest = 255});
    inputs = outputs;
    side /= 2;
  }
  return section;
}

std::size_t Elements(const graph::QuantisedTensor& tensor) {
  return static_cast<std::size_t>(tensor.elements());
}

const graph::QuantisedTensor& TensorOf(const graph::QuantisedSection& section, int place) {
  return section.tensors[static_cast<std::size_t>(place)];
}

// The first layer that the target cannot compute, with its reason.
std::string WhyNotSection(const graph::QuantisedSection& section, const TensorTarget& target) {
  for (const graph::QuantisedLayer& layer : section.layers) {
    const std::string why =
        target.WhyNot(layer, TensorOf(section, layer.input), TensorOf(section, layer.output));
    if (!why.empty()) return fmt::format("{} does not fit the tensor unit: {}", layer.name, why);
  }
  return "";
}

}  // namespace

std::string EncoderStages::WhyNot(const nn::EncoderOptions& options, const TensorTarget& target) {
  const auto section = SectionOf(options, 1);
  return section.ok() ? WhyNotSection(*section, target) : std::string(section.status().message());
}

absl::StatusOr<std::unique_ptr<EncoderStages>> EncoderStages::Create(const nn::EncoderOptions& options,
                                                                     std::size_t batch,
                                                                     const TensorTarget& target) {
  RETURN_IF_ERROR(nn::Validate(options));
  if (!options.quantised) {
    return absl::InvalidArgumentError("the encoder is not quantised: the tensor unit computes 8 bits");
  }
  std::unique_ptr<EncoderStages> stages(new EncoderStages());
  ASSIGN_OR_RETURN(stages->section_, SectionOf(options, batch));
  const graph::QuantisedSection& section = stages->section_;
  if (const std::string why = WhyNotSection(section, target); !why.empty()) {
    return absl::InvalidArgumentError(why);
  }
  ASSIGN_OR_RETURN(stages->runner_, target.PrepareTensors(section, kMostSectionBytes));
  stages->images_.resize(Elements(section.tensors.front()));
  stages->specs_.push_back({graph::ElementType::kUint8, section.tensors.front().shape});
  for (const int output : section.outputs) {
    stages->results_.emplace_back(Elements(TensorOf(section, output)));
    stages->specs_.push_back({graph::ElementType::kUint8, TensorOf(section, output).shape});
  }
  return stages;
}

std::uint64_t EncoderStages::Bytes(const nn::EncoderOptions& options, std::size_t batch,
                                   const TensorTarget& target) {
  const fpga::TensorUnitSize& unit = target.size();
  constexpr std::uint64_t kCompiled = 2;  // copies of a program while its words become more
  const auto padded = [&unit](std::uint64_t channels) {
    return (channels + unit.lanes - 1) / unit.lanes * unit.lanes;
  };
  std::uint64_t inputs = options.input_channels, side = options.side;
  std::uint64_t own = batch * inputs * side * side, words = padded(inputs) * side * side / 8;
  for (const std::uint64_t outputs : options.channels) {
    own += batch * outputs * side * side + outputs * inputs * kTaps;
    // The weights are sent again for each strip of rows.
    const std::uint64_t rows = std::clamp<std::uint64_t>(unit.pixels / side, 1, side);
    const std::uint64_t strips = (side + rows - 1) / rows;
    words += padded(outputs) * side * side / 8 + fpga::kTensorCommandWords;
    words += (strips + 1) * (fpga::kTensorCommandWords + padded(outputs) * (padded(inputs) * kTaps / 8 + 1));
    inputs = outputs;
    side /= 2;
  }
  return own + target.JobBytes(words) + kCompiled * 8 * words;
}

absl::Status EncoderStages::Compute(std::span<const std::uint8_t> images,
                                    std::span<const std::int8_t> kernels) {
  std::size_t weights = 0;
  for (const graph::QuantisedLayer& layer : section_.layers) weights += layer.weights.size();
  if (images.size() != images_.size() || kernels.size() != weights) {
    return absl::InvalidArgumentError(fmt::format("{} pixels and {} weights; the encoder has {} and {}",
                                                  images.size(), kernels.size(), images_.size(), weights));
  }
  for (graph::QuantisedLayer& layer : section_.layers) {
    const std::span<const std::int8_t> given = kernels.first(layer.weights.size());
    kernels = kernels.subspan(given.size());
    if (std::ranges::equal(given, layer.weights)) continue;
    std::ranges::copy(given, layer.weights.begin());
    loaded_ = false;
  }
  if (!loaded_) RETURN_IF_ERROR(runner_->Reload(section_));
  loaded_ = true;
  std::ranges::copy(images, images_.begin());
  const graph::View input{&specs_[0], reinterpret_cast<std::byte*>(images_.data())};
  std::vector<graph::View> outputs;
  for (std::size_t i = 0; i < results_.size(); ++i) {
    outputs.push_back({&specs_[i + 1], reinterpret_cast<std::byte*>(results_[i].data())});
  }
  return runner_->Run({&input, 1}, outputs);
}

std::uint64_t EncoderStages::cycles() const {
  const graph::SectionCycles cycles = runner_->cycles();
  const std::uint64_t all = std::accumulate(cycles.layers.begin(), cycles.layers.end(), cycles.transfers);
  return all / static_cast<std::uint64_t>(section_.tensors.front().images());
}

}  // namespace tributary::accelerator
