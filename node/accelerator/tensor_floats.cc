#include "node/accelerator/tensor_floats.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "core/status/macros.h"
#include "fpga/model/tensor_bfloat.h"
#include "fpga/model/tensor_float32.h"
#include "fpga/model/tensor_layout.h"
#include "fpga/model/tensor_timing.h"

namespace tributary::accelerator {
namespace {

using graph::FloatLayer;
using graph::Window;

// What differs between the unit's precisions.
struct FloatFormat {
  fpga::TensorPrecision precision;
  std::uint16_t flags;
  std::uint32_t channels;  // of a block: rows and columns of the matrix
  std::uint32_t planes;    // that the results of a block fill

  FloatFormat(FloatLayers layers, const fpga::TensorUnitSize& unit) {
    const bool half = layers == FloatLayers::kBfloat16;
    precision = half ? fpga::TensorPrecision::kBfloat16 : fpga::TensorPrecision::kFloat32;
    flags = half ? std::uint16_t{fpga::kTensorFloat32} : std::uint16_t{0};
    channels = half ? unit.half_lanes() : unit.quarter_lanes();
    planes = half ? 2 : 1;
  }
  std::int64_t most_channels() const { return std::int64_t{fpga::kTensorMaxBlocks} * channels; }
};

// How a layer lies in the unit's memory, and how it is cut into commands.
struct FloatLayout {
  FloatFormat format;
  std::uint32_t input_blocks, output_blocks;  // of the matrix
  std::uint32_t input_vectors;                // of an image; the results lie behind them
  std::uint32_t result_vectors;               // in memory
  std::uint32_t stored_vectors;               // of these, with channels
  std::uint32_t strip_rows, strips;

  FloatLayout(const FloatLayer& layer, const FloatFormat& given, const fpga::TensorUnitSize& unit)
      : format(given) {
    const auto blocks = [](std::int64_t channels, std::uint32_t of_a_block) {
      return (static_cast<std::uint32_t>(channels) + of_a_block - 1) / of_a_block;
    };
    input_blocks = blocks(layer.inputs, format.channels);
    output_blocks = blocks(layer.outputs, format.channels);
    const auto pixels = static_cast<std::uint32_t>(layer.window.windows());
    input_vectors = input_blocks * static_cast<std::uint32_t>(layer.window.pixels());
    result_vectors = format.planes * output_blocks * pixels;
    stored_vectors = blocks(layer.outputs, unit.quarter_lanes()) * pixels;
    const auto rows = static_cast<std::uint32_t>(layer.window.output[0]);
    strip_rows = std::clamp(unit.pixels / static_cast<std::uint32_t>(layer.window.output[1]), 1u, rows);
    strips = (rows + strip_rows - 1) / strip_rows;
  }

  fpga::TensorBuffers Buffers(const fpga::TensorUnitSize& unit) const {
    return {std::uint64_t{input_vectors} * unit.vector_words(),
            std::uint64_t{stored_vectors} * unit.vector_words()};
  }
};

fpga::TensorCommand FloatCommandOf(const FloatLayer& layer, const FloatLayout& layout, std::uint32_t strip) {
  const Window& window = layer.window;
  const std::uint32_t row = strip * layout.strip_rows;
  const auto rows = static_cast<std::uint32_t>(window.output[0]);
  const auto columns = static_cast<std::uint32_t>(window.output[1]);
  fpga::TensorCommand command = {
      .opcode = fpga::TensorOpcode::kConvolve,
      .precision = layout.format.precision,
      .flags = layout.format.flags,
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
  if (layout.format.precision == fpga::TensorPrecision::kBfloat16) {
    fpga::SetBfloatOutput({}, command);
  } else {
    fpga::SetFloat32Output({}, command);
  }
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
  const bool half = layout.format.precision == fpga::TensorPrecision::kBfloat16;
  const std::vector<std::uint16_t> halves =
      half ? fpga::Bfloat16sOf(layer.weights) : std::vector<std::uint16_t>();
  const auto inputs = static_cast<std::uint32_t>(layer.inputs),
             outputs = static_cast<std::uint32_t>(layer.outputs);
  fpga::TensorProgramBuilder builder(unit);
  fpga::TensorTiming products(unit), transfers(unit);
  builder.Load(0, 0, layout.input_vectors);
  transfers.Add({.opcode = fpga::TensorOpcode::kLoad, .input_plane = layout.input_vectors});
  for (std::uint32_t strip = 0; strip < layout.strips; ++strip) {
    const fpga::TensorCommand command = FloatCommandOf(layer, layout, strip);
    RETURN_IF_ERROR(half ? builder.ConvolveBfloat(command, outputs, inputs, halves, layer.bias)
                         : builder.ConvolveFloat32(command, outputs, inputs, layer.weights, layer.bias));
    products.Add(command);
  }
  builder.Store(layout.input_vectors, 0, layout.stored_vectors);
  transfers.Add({.opcode = fpga::TensorOpcode::kStore, .input_plane = layout.stored_vectors});
  builder.End();
  RETURN_IF_ERROR(fpga::CheckTensorProgram(builder.words(), unit, layout.Buffers(unit)));
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

// Steps that nothing takes, and gaps between taps of which there is one.
void ForgetIdleSteps(Window& window) {
  for (std::size_t d = 0; d < 2; ++d) {
    if (window.size[d] == 1) window.dilation[d] = 1;
    if (window.output[d] == 1) window.stride[d] = 1;
  }
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

// Images of one row and one window become the rows of larger images, as many as the unit can take at once, so
// that the weights pass by once for all of them.
void GatherRows(FloatLayer& layer, const FloatFormat& format, const fpga::TensorUnitSize& unit) {
  Window& window = layer.window;
  const bool in_rows = window.input[0] == 1 && window.windows() == 1 && window.pixels() == window.taps();
  if (!in_rows || layer.images <= 1) return;
  const FloatLayout row(layer, format, unit);
  const std::int64_t vectors = std::int64_t{row.input_vectors} + row.result_vectors;
  const std::int64_t most = std::min({std::int64_t{unit.pixels}, std::int64_t{fpga::kTensorMaxSide},
                                      std::int64_t{unit.activations} / std::max<std::int64_t>(vectors, 1)});
  if (most <= 1) return;
  const std::int64_t images = (layer.images + most - 1) / most;
  window.input[0] = window.output[0] = (layer.images + images - 1) / images;
  layer.images = images;
}

std::string WhyNotInFloats(const FloatLayer& layer, const FloatFormat& format,
                           const fpga::TensorUnitSize& unit) {
  if (std::min({layer.images, layer.inputs, layer.outputs, layer.window.windows()}) == 0)
    return "it has no element";
  if (std::string why = WhyNoFloatWindow(layer.window, unit); !why.empty()) return why;
  const std::int64_t most = format.most_channels();
  if (std::max(layer.inputs, layer.outputs) > most) {
    return fmt::format("{} channels; at most {}", std::max(layer.inputs, layer.outputs), most);
  }
  const FloatLayout layout(layer, format, unit);
  const std::uint64_t vectors = std::uint64_t{layout.input_vectors} + layout.result_vectors;
  if (vectors <= unit.activations) return "";
  return fmt::format("an image and its result have {} vectors; the activation memory {}", vectors,
                     unit.activations);
}

// An image of an array in ONNX's order; of the last one, less than `elements` may be left.
std::span<float> FloatImageOf(const graph::View& view, std::size_t image, std::size_t elements) {
  const std::span<float> all = view.As<float>();
  const std::size_t begin = image * elements;
  return all.subspan(begin, std::min(elements, all.size() - begin));
}

// [rows × channels × width] as [channels × rows × width]; what `values` lacks is zero.
std::vector<float> PlanesOf(std::span<const float> values, std::size_t rows, std::size_t channels,
                            std::size_t width) {
  std::vector<float> planes(rows * channels * width);
  for (std::size_t at = 0; at < values.size(); at += width) {
    const std::size_t row = at / width / channels, channel = at / width % channels;
    std::ranges::copy(values.subspan(at, width), planes.begin() + (channel * rows + row) * width);
  }
  return planes;
}

}  // namespace

TensorFloatLayer::TensorFloatLayer(const FloatLayer& layer, FloatLayers layers,
                                   const fpga::TensorUnitSize& unit, bool gathered)
    : layers_(layers),
      unit_(unit),
      images_(static_cast<std::size_t>(layer.images)),
      inputs_(static_cast<std::size_t>(layer.inputs)),
      outputs_(static_cast<std::size_t>(layer.outputs)),
      input_pixels_(static_cast<std::size_t>(layer.window.pixels())),
      output_pixels_(static_cast<std::size_t>(layer.window.windows())),
      gathered_(gathered) {}

absl::StatusOr<std::unique_ptr<TensorFloatLayer>> TensorFloatLayer::Create(FloatLayer layer,
                                                                           FloatLayers layers,
                                                                           const TensorTarget& target,
                                                                           std::uint64_t memory_bytes) {
  const fpga::TensorUnitSize& unit = target.size();
  const FloatFormat format(layers, unit);
  ForgetIdleSteps(layer.window);
  SpreadOverRow(layer, format.most_channels());
  if (const std::string why = WhyNotInFloats(layer, format, unit); !why.empty())
    return absl::InvalidArgumentError(why);
  const std::int64_t given_images = layer.images;
  GatherRows(layer, format, unit);
  const FloatLayout layout(layer, format, unit);
  const fpga::TensorBuffers buffers = layout.Buffers(unit);
  const std::uint64_t bytes =
      target.JobBytes(ProgramWords(layer, layout, unit) + buffers.input_words + buffers.output_words);
  if (bytes > memory_bytes) {
    return absl::ResourceExhaustedError(
        fmt::format("its program and buffers take {} bytes; {} are left", bytes, memory_bytes));
  }
  std::unique_ptr<TensorFloatLayer> made(
      new TensorFloatLayer(layer, layers, unit, layer.images != given_images));
  ASSIGN_OR_RETURN(std::vector<std::uint64_t> program, Compile(layer, layout, unit, made->cycles_));
  ASSIGN_OR_RETURN(made->job_, target.MakeJob(std::move(program), buffers, made->images_));
  made->memory_bytes_ = bytes;
  return made;
}

absl::Status TensorFloatLayer::Run(std::span<const graph::View> inputs,
                                   std::span<const graph::View> outputs) {
  const auto fill = [&](std::size_t image, std::span<std::uint64_t> words) {
    std::span<const float> values = FloatImageOf(inputs[0], image, inputs_ * input_pixels_);
    std::vector<float> planes;
    if (gathered_)
      values = planes = PlanesOf(values, output_pixels_, inputs_, input_pixels_ / output_pixels_);
    const auto channels = static_cast<std::uint32_t>(inputs_);
    std::ranges::copy(layers_ == FloatLayers::kBfloat16
                          ? fpga::PackBfloatTensor(fpga::Bfloat16sOf(values), channels, unit_)
                          : fpga::PackFloatTensor(values, channels, unit_),
                      words.begin());
  };
  const auto take = [&](std::size_t image, std::span<const std::uint64_t> words) {
    const std::vector<float> values =
        fpga::UnpackFloatTensor(words, static_cast<std::uint32_t>(outputs_), unit_);
    const std::span<float> given = FloatImageOf(outputs[0], image, outputs_ * output_pixels_);
    for (std::size_t i = 0; i < given.size(); ++i) {
      given[i] = values[gathered_ ? (i % outputs_) * output_pixels_ + i / outputs_ : i];
    }
  };
  ASSIGN_OR_RETURN(counted_cycles_, job_->Run(images_, fill, take));
  return absl::OkStatus();
}

}  // namespace tributary::accelerator
