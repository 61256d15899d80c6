// What the tensor unit can compute of quantised layers, and how it sees them.
#pragma once

#include <cstdint>
#include <string>

#include "core/graph/quantised/quantised_layer.h"
#include "fpga/model/tensor_program.h"

namespace tributary::accelerator {

// Why the unit cannot compute the layer; empty if it can. A section of such layers may still be too large for
// the activation memory.
std::string WhyNotOnTensorUnit(const graph::QuantisedLayer& layer, const graph::QuantisedTensor& input,
                               const graph::QuantisedTensor& output, const fpga::TensorUnitSize& size);

// The unit has int8 alone: what uint8 counts from 0, it counts from −128.
std::int32_t ShiftOf(const graph::QuantisedTensor& tensor);
std::int8_t ZeroOf(const graph::QuantisedTensor& tensor);
std::uint32_t PixelsOf(const graph::QuantisedTensor& tensor);
// Blocks of channels, and vectors of the activation memory, that an image takes.
std::uint32_t BlocksOf(const graph::QuantisedTensor& tensor, const fpga::TensorUnitSize& size);
std::uint32_t VectorsOf(const graph::QuantisedTensor& tensor, const fpga::TensorUnitSize& size);

double RealOf(const graph::Factor& factor);
double ResidualFactorOf(const graph::QuantisedLayer& layer);

// A convolution of each channel for itself.
bool IsDepthwise(const graph::QuantisedLayer& layer, const graph::QuantisedTensor& input);

}  // namespace tributary::accelerator
