#include "node/accelerator/tensor_support.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "fpga/model/tensor_layout.h"

namespace tributary::accelerator {
namespace {

using graph::kAbsent;
using graph::LayerKind;
using graph::QuantisedLayer;
using graph::QuantisedTensor;

}  // namespace

std::int32_t ShiftOf(const QuantisedTensor& tensor) {
  return tensor.quantisation.type == graph::ElementType::kUint8 ? 128 : 0;
}
std::int8_t ZeroOf(const QuantisedTensor& tensor) {
  return static_cast<std::int8_t>(tensor.quantisation.zero_point - ShiftOf(tensor));
}

double RealOf(const graph::Factor& factor) { return std::ldexp(factor.mantissa, -factor.shift); }
double ResidualFactorOf(const QuantisedLayer& layer) {
  return std::ldexp(static_cast<double>(layer.ResidualAt(0)), -layer.FactorAt(0).shift);
}

bool IsDepthwise(const QuantisedLayer& layer, const QuantisedTensor& input) {
  return layer.kind == LayerKind::kConvolution && layer.groups > 1 && layer.groups == input.channels() &&
         static_cast<std::int64_t>(layer.bias.size()) == layer.groups;
}

std::uint32_t PixelsOf(const QuantisedTensor& tensor) {
  return static_cast<std::uint32_t>(tensor.height() * tensor.width());
}
std::uint32_t BlocksOf(const QuantisedTensor& tensor, const fpga::TensorUnitSize& size) {
  return fpga::TensorBlocks(static_cast<std::uint32_t>(tensor.channels()), size);
}
std::uint32_t VectorsOf(const QuantisedTensor& tensor, const fpga::TensorUnitSize& size) {
  return BlocksOf(tensor, size) * PixelsOf(tensor);
}

namespace {

// Whether two tensors have the same vectors in the same order.
bool LieAlike(const QuantisedTensor& a, const QuantisedTensor& b) {
  return a.images() == b.images() && a.channels() == b.channels() &&
         a.height() * a.width() == b.height() * b.width();
}

std::string WhyNoMove(const QuantisedLayer& layer, const QuantisedTensor& input,
                      const QuantisedTensor& output) {
  for (std::size_t d = 0; d < layer.permutation.size(); ++d) {
    if (layer.permutation[d] != static_cast<std::int64_t>(d)) return "it moves elements to other places";
  }
  return LieAlike(input, output) ? "" : "it moves elements to other channels";
}

std::string WhyNoWindow(const QuantisedLayer& layer, bool depthwise, const fpga::TensorUnitSize& size) {
  const graph::Window& window = layer.window;
  for (std::size_t d = 0; d < 2; ++d) {
    if (window.dilation[d] != 1) return "its window has gaps";
    if (window.size[d] > fpga::kTensorMaxKernel) {
      return fmt::format("its window has a side of {}; at most {}", window.size[d], fpga::kTensorMaxKernel);
    }
    if (window.stride[d] > (depthwise ? 2 : fpga::kTensorMaxStride)) {
      return fmt::format("its stride is {}", window.stride[d]);
    }
  }
  if (!depthwise) return "";
  if (window.size[0] != 3 || window.size[1] != 3) return "a depthwise window is not 3 × 3";
  if ((window.output[1] - 1) * window.stride[1] + 3 > size.line) return "its rows are too long";
  return "";
}

std::string WhyNoFactor(const QuantisedLayer& layer) {
  for (const graph::Factor& factor : layer.factors) {
    const auto channel = fpga::TensorChannelOf(RealOf(factor));
    if (!channel.ok()) return std::string(channel.status().message());
  }
  return "";
}

std::string WhyNoConvolution(const QuantisedLayer& layer, const QuantisedTensor& input) {
  if (layer.groups != 1 && !IsDepthwise(layer, input)) return "it has groups of several channels";
  if (layer.residual != kAbsent) {
    return "an operand is added before the sums are rounded; quantise the product first";
  }
  if (std::ranges::count(layer.weights, std::int8_t{-128}) > 0) return "a weight is -128";
  return "";
}

std::string WhyTooLarge(const QuantisedTensor& tensor, const fpga::TensorUnitSize& size) {
  if (tensor.height() > fpga::kTensorMaxSide || tensor.width() > fpga::kTensorMaxSide) {
    return fmt::format("an image has a side above {}", fpga::kTensorMaxSide);
  }
  const std::uint64_t blocks = (static_cast<std::uint64_t>(tensor.channels()) + size.lanes - 1) / size.lanes;
  if (blocks > fpga::kTensorMaxBlocks) {
    return fmt::format("{} channels; at most {}", tensor.channels(), fpga::kTensorMaxBlocks * size.lanes);
  }
  if (blocks * PixelsOf(tensor) > size.activations) {
    return fmt::format("a tensor has {} vectors; the activation memory {}", blocks * PixelsOf(tensor),
                       size.activations);
  }
  return "";
}

}  // namespace

std::string WhyNotOnTensorUnit(const QuantisedLayer& layer, const QuantisedTensor& input,
                               const QuantisedTensor& output, const fpga::TensorUnitSize& size) {
  for (const QuantisedTensor* const tensor : {&input, &output}) {
    if (std::string why = WhyTooLarge(*tensor, size); !why.empty()) return why;
  }
  const bool depthwise = IsDepthwise(layer, input);
  switch (layer.kind) {
    case LayerKind::kMove:
      return WhyNoMove(layer, input, output);
    case LayerKind::kConvolution:
      if (std::string why = WhyNoConvolution(layer, input); !why.empty()) return why;
      break;
    case LayerKind::kSum:
      if (layer.residual != kAbsent) {
        fpga::TensorOutput stage;
        return std::string(
            fpga::SetTensorSum(RealOf(layer.FactorAt(0)), ResidualFactorOf(layer), stage).message());
      }
      break;
    case LayerKind::kMaxPool:
    case LayerKind::kAveragePool:
      if (layer.residual != kAbsent) return "an operand is added before the sums are rounded";
      break;
  }
  if (!layer.window.size.empty()) {
    if (std::string why = WhyNoWindow(layer, depthwise, size); !why.empty()) return why;
    const bool one_row =
        layer.kind == LayerKind::kConvolution && !depthwise && layer.window.output[1] > size.pixels;
    if (one_row) return "a row of its result has more pixels than the unit accumulators";
  }
  return WhyNoFactor(layer);
}

}  // namespace tributary::accelerator
