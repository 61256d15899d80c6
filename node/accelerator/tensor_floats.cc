#include "node/accelerator/tensor_floats.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "core/status/macros.h"
#include "fpga/model/tensor_bfloat.h"
#include "fpga/model/tensor_layout.h"
#include "fpga/model/tensor_timing.h"

namespace tributary::accelerator {
namespace {

using graph::FloatLayer;
using graph::Window;

// How a layer lies in the unit's memory, and how it is cut into commands.
struct FloatLayout {
  std::uint32_t input_blocks, output_blocks;  // of the matrix
  std::uint32_t input_vectors;                // of an image; the results lie behind them
  std::uint32_t result_planes;                // that have channels
  std::uint32_t result_vectors;               // in memory
  std::uint32_t strip_rows, strips;

  FloatLayout(const FloatLayer& layer, const fpga::TensorUnitSize& unit) {
    const auto channels = [](std::int64_t count) { return static_cast<std::uint32_t>(count); };
    input_blocks = fpga::TensorHalfBlocks(channels(layer.inputs), unit);
    output_blocks = fpga::TensorHalfBlocks(channels(layer.outputs), unit);
    result_planes = fpga::TensorQuarterBlocks(channels(layer.outputs), unit);
    const auto pixels = static_cast<std::uint32_t>(layer.window.windows());
    input_vectors = input_blocks * static_cast<std::uint32_t>(layer.window.pixels());
    result_vectors = 2 * output_blocks * pixels;
    const auto rows = static_cast<std::uint32_t>(layer.window.output[0]);
    strip_rows = std::clamp(unit.pixels / static_cast<std::uint32_t>(layer.window.output[1]), 1u, rows);
    strips = (rows + strip_rows - 1) / strip_rows;
  }

  fpga::TensorBuffers Buffers(const FloatLayer& layer, const fpga::TensorUnitSize& unit) const {
    const auto pixels = static_cast<std::uint64_t>(layer.window.windows());
    return {std::uint64_t{input_vectors} * unit.vector_words(), result_planes * pixels * unit.vector_words()};
  }
};

fpga::TensorCommand FloatCommandOf(const FloatLayer& layer, const FloatLayout& layout, std::uint32_t strip) {
  const Window& window = layer.window;
  const std::uint32_t row = strip * layout.strip_rows;
  const auto rows = static_cast<std::uint32_t>(window.output[0]);
  const auto columns = static_cast<std::uint32_t>(window.output[1]);
  fpga::TensorCommand command = {
      .opcode = fpga::TensorOpcode::kConvolve,
      .precision = fpga::TensorPrecision::kBfloat16,
      .flags = fpga::kTensorFloat32,
      .input_blocks = static_cast<std::uint16_t>(layout.input_blocks),
      .output_blocks = static_cast<std::uint16_t>(layout.output_blocks),
      .input_address = 0,
      .input_plane = static_cast<std::uint32_t>(window.pixels()),
      .input_height = static_cast<std::uint16_t>(window.input[0]),
      .input_width = static_cast<std::uint16_t>(window.input[1]),
      .origin_y = static_cast<std::int16_t>(row * window.stride[0] - window.before[0]),
      .origin_x = static_cast<std::int16_t>(-window.before[1]),
      .output_height = static_cast<std::uint16_t>(std::min(layout.strip_rows, rows - row)),
      .output_width = static_cast<std::uint16_t>(columns),
      .kernel_height = static_cast<std::uint8_t>(window.size[0]),
      .kernel_width = static_cast<std::uint8_t>(window.size[1]),
      .stride_y = static_cast<std::uint8_t>(window.stride[0]),
      .stride_x = static_cast<std::uint8_t>(window.stride[1]),
      .output_address = layout.input_vectors + row * columns,
      .output_plane = rows * columns};
  fpga::SetBfloatOutput({}, command);
  return command;
}

std::uint64_t ProgramWords(const FloatLayer& layer, const FloatLayout& layout,
                           const fpga::TensorUnitSize& unit) {
  const std::uint64_t weights = fpga::TensorWeightWords(FloatCommandOf(layer, layout, 0), unit);
  return 3 * fpga::kTensorCommandWords + layout.strips * (fpga::kTensorCommandWords + weights);
}

absl::StatusOr<std::vector<std::uint64_t>> Compile(const FloatLayer& layer, const FloatLayout& layout,
                                                   const fpga::TensorUnitSize& unit,
                                                   graph::SectionCycles& cycles) {
  const std::vector<std::uint16_t> weights = fpga::Bfloat16sOf(layer.weights);
  const fpga::TensorBuffers buffers = layout.Buffers(layer, unit);
  fpga::TensorProgramBuilder builder(unit);
  builder.Load(0, 0, layout.input_vectors);
  for (std::uint32_t strip = 0; strip < layout.strips; ++strip) {
    RETURN_IF_ERROR(builder.ConvolveBfloat(FloatCommandOf(layer, layout, strip),
                                           static_cast<std::uint32_t>(layer.outputs),
                                           static_cast<std::uint32_t>(layer.inputs), weights, layer.bias));
  }
  const auto result_vectors = static_cast<std::uint32_t>(buffers.output_words / unit.vector_words());
  builder.Store(layout.input_vectors, 0, result_vectors);
  builder.End();
  RETURN_IF_ERROR(fpga::CheckTensorProgram(builder.words(), unit, buffers));
  fpga::TensorTiming products(unit), transfers(unit);
  for (std::uint32_t strip = 0; strip < layout.strips; ++strip)
    products.Add(FloatCommandOf(layer, layout, strip));
  transfers.Add({.opcode = fpga::TensorOpcode::kLoad, .input_plane = layout.input_vectors});
  transfers.Add({.opcode = fpga::TensorOpcode::kStore, .input_plane = result_vectors});
  cycles.layers = {products.cycles() * static_cast<std::uint64_t>(layer.images)};
  cycles.transfers = transfers.cycles() * static_cast<std::uint64_t>(layer.images);
  return builder.words();
}

std::string WhyNoFloatWindow(const Window& window, const fpga::TensorUnitSize& unit) {
  for (std::size_t d = 0; d < 2; ++d) {
    if (window.dilation[d] != 1) return "its window has gaps";
    if (window.size[d] > fpga::kTensorMaxKernel) {
      return fmt::format("its window has a side of {}; at most {}", window.size[d], fpga::kTensorMaxKernel);
    }
    if (window.stride[d] > fpga::kTensorMaxStride) return fmt::format("its stride is {}", window.stride[d]);
    if (std::max(window.input[d], window.output[d]) > fpga::kTensorMaxSide) {
      return fmt::format("an image has a side above {}", fpga::kTensorMaxSide);
    }
  }
  if (window.output[1] > unit.pixels) return "a row of its result has more pixels than the unit accumulators";
  return "";
}

std::int64_t MostChannels(const fpga::TensorUnitSize& unit) {
  return std::int64_t{fpga::kTensorMaxBlocks} * unit.half_lanes();
}

// A product with more inputs than the unit has channels becomes a convolution over a row of pixels, whose
// window is the row: the elements of both operands stay in their places.
void SpreadOverRow(FloatLayer& layer, std::int64_t most_channels) {
  if (layer.window.pixels() != 1 || layer.window.taps() != 1 || layer.inputs <= most_channels) return;
  std::int64_t pixels = (layer.inputs + most_channels - 1) / most_channels;
  while (pixels <= fpga::kTensorMaxKernel && layer.inputs % pixels != 0) ++pixels;
  if (pixels > fpga::kTensorMaxKernel) return;
  layer.inputs /= pixels;
  layer.window.size[1] = layer.window.input[1] = pixels;
}

std::string WhyNotInFloats(const FloatLayer& layer, const fpga::TensorUnitSize& unit) {
  if (std::min({layer.images, layer.inputs, layer.outputs, layer.window.windows()}) == 0)
    return "it has no element";
  if (std::string why = WhyNoFloatWindow(layer.window, unit); !why.empty()) return why;
  const std::int64_t most = MostChannels(unit);
  if (std::max(layer.inputs, layer.outputs) > most) {
    return fmt::format("{} channels; at most {}", std::max(layer.inputs, layer.outputs), most);
  }
  const FloatLayout layout(layer, unit);
  const std::uint64_t vectors = std::uint64_t{layout.input_vectors} + layout.result_vectors;
  if (vectors <= unit.activations) return "";
  return fmt::format("an image and its result have {} vectors; the activation memory {}", vectors,
                     unit.activations);
}

// An image of an array in ONNX's order.
std::span<float> FloatImageOf(const graph::View& view, std::size_t image, std::size_t elements) {
  return view.As<float>().subspan(image * elements, elements);
}

}  // namespace

TensorFloatLayer::TensorFloatLayer(const FloatLayer& layer, const fpga::TensorUnitSize& unit)
    : unit_(unit),
      images_(static_cast<std::size_t>(layer.images)),
      inputs_(static_cast<std::size_t>(layer.inputs)),
      outputs_(static_cast<std::size_t>(layer.outputs)),
      input_pixels_(static_cast<std::size_t>(layer.window.pixels())),
      output_pixels_(static_cast<std::size_t>(layer.window.windows())) {}

absl::StatusOr<std::unique_ptr<TensorFloatLayer>> TensorFloatLayer::Create(FloatLayer layer,
                                                                           FloatLayers precision,
                                                                           const TensorTarget& target,
                                                                           std::uint64_t memory_bytes) {
  const fpga::TensorUnitSize& unit = target.size();
  SpreadOverRow(layer, MostChannels(unit));
  if (const std::string why = WhyNotInFloats(layer, unit); !why.empty())
    return absl::InvalidArgumentError(why);
  const FloatLayout layout(layer, unit);
  const fpga::TensorBuffers buffers = layout.Buffers(layer, unit);
  const std::uint64_t bytes =
      target.JobBytes(ProgramWords(layer, layout, unit) + buffers.input_words + buffers.output_words);
  if (bytes > memory_bytes) {
    return absl::ResourceExhaustedError(
        fmt::format("its program and buffers take {} bytes; {} are left", bytes, memory_bytes));
  }
  std::unique_ptr<TensorFloatLayer> made(new TensorFloatLayer(layer, unit));
  ASSIGN_OR_RETURN(std::vector<std::uint64_t> program, Compile(layer, layout, unit, made->cycles_));
  ASSIGN_OR_RETURN(made->job_, target.MakeJob(std::move(program), buffers, made->images_));
  made->memory_bytes_ = bytes;
  return made;
}

absl::Status TensorFloatLayer::Run(std::span<const graph::View> inputs,
                                   std::span<const graph::View> outputs) {
  const auto fill = [&](std::size_t image, std::span<std::uint64_t> words) {
    const std::vector<std::uint16_t> values =
        fpga::Bfloat16sOf(FloatImageOf(inputs[0], image, inputs_ * input_pixels_));
    std::ranges::copy(fpga::PackBfloatTensor(values, static_cast<std::uint32_t>(inputs_), unit_),
                      words.begin());
  };
  const auto take = [&](std::size_t image, std::span<const std::uint64_t> words) {
    const std::vector<float> values =
        fpga::UnpackFloatTensor(words, static_cast<std::uint32_t>(outputs_), unit_);
    std::ranges::copy(values, FloatImageOf(outputs[0], image, outputs_ * output_pixels_).begin());
  };
  ASSIGN_OR_RETURN(counted_cycles_, job_->Run(images_, fill, take));
  return absl::OkStatus();
}

}  // namespace tributary::accelerator
