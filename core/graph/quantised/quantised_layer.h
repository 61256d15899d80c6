// A layer of a quantised network in integers: the one record that the processor's kernels, the compilers of
// accelerators and the tests read.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/graph/array.h"
#include "core/graph/node.h"
#include "core/graph/window.h"

namespace tributary::graph {

// The reals that integers stand for: x = scale · (q − zero_point).
struct Quantisation {
  ElementType type = ElementType::kInt8;  // or kUint8
  float scale = 1;
  std::int32_t zero_point = 0;

  std::int32_t lowest() const { return type == ElementType::kInt8 ? -128 : 0; }
  std::int32_t highest() const { return type == ElementType::kInt8 ? 127 : 255; }

  friend bool operator==(const Quantisation&, const Quantisation&) = default;
};

struct QuantisedTensor {
  std::string name;
  Shape shape;  // two to four dimensions: images, channels, height, width, as ONNX has them
  Quantisation quantisation;

  // The same with sides of 1 where the shape has none.
  std::int64_t images() const { return shape[0]; }
  std::int64_t channels() const { return shape[1]; }
  std::int64_t height() const { return shape.size() < 4 ? 1 : shape[2]; }
  std::int64_t width() const { return shape.size() < 3 ? 1 : shape.back(); }
  std::int64_t elements() const { return images() * channels() * height() * width(); }
};

// What a layer sums for each element of its result. q: the input's integer, z its zero point.
enum class LayerKind : std::uint8_t {
  kConvolution,  // Σ weight · (q − z) over window and channels of the group; a matrix has a window of 1 × 1
  kSum,          // q − z
  kMaxPool,      // the largest q − z of the window
  kAveragePool,  // Σ (q − z) over the window; the divisor is part of the factor
  kMove,         // q itself, in another place: no arithmetic
};

// A real factor in (0, 2^24) as mantissa / 2^shift, with a mantissa below 2^24.
struct Factor {
  static constexpr int kMantissaBits = 24, kMostShift = 62;

  std::int32_t mantissa = 0;
  std::int32_t shift = 0;

  friend bool operator==(const Factor&, const Factor&) = default;
};
// The nearest one. Errors: InvalidArgument for a factor outside of the range, or one that is not finite.
absl::StatusOr<Factor> FactorOf(double factor);

// The bounds below leave a product of sum and mantissa, and that of the second operand, exact in a double:
// processors that compute so have the bits of those that compute in 64-bit integers.
inline constexpr std::int64_t kMostSum = std::int64_t{1} << 28;
inline constexpr std::int64_t kMostScaled = std::int64_t{1} << 52;

// result = clamp(zero point + Round((sum · mantissa + (r − z) · residual mantissa) / 2^shift))
// with ties to even; r and z: the integer and zero point of the second operand, if there is one.
struct QuantisedLayer {
  std::string name;  // of the node that gives the sums
  LayerKind kind = LayerKind::kSum;
  int input = kAbsent, residual = kAbsent, output = kAbsent;  // places of tensors

  // kConvolution and pools; two spatial dimensions always.
  Window window = {};
  std::int64_t groups = 1;                // kConvolution
  std::vector<std::int8_t> weights = {};  // [channels out × channels of a group × taps], zero point 0
  std::vector<std::int32_t> bias = {};    // of each channel out, in the unit of the sums; else empty

  // One for each channel out, or one for all.
  std::vector<Factor> factors = {};
  std::vector<std::int64_t> residual_mantissas = {};
  std::int32_t lowest = 0, highest = 0;  // of the result

  // kMove: the input's dimension behind each of the output's; empty: the same row-major order.
  std::vector<std::int64_t> permutation = {};

  const Factor& FactorAt(std::size_t channel) const { return factors[factors.size() == 1 ? 0 : channel]; }
  std::int64_t ResidualAt(std::size_t channel) const {
    return residual_mantissas.empty() ? 0 : residual_mantissas[residual_mantissas.size() == 1 ? 0 : channel];
  }
};

// sums / 2^shift to the nearest integer, ties to even.
std::int64_t RoundedShift(std::int64_t value, std::int32_t shift);

// The result of one element. `residual`: r − z of the second operand, or 0.
std::int32_t Requantised(const QuantisedLayer& layer, const Quantisation& output, std::size_t channel,
                         std::int64_t sum, std::int64_t residual);

// Layers that run one after another, and what they read and write. Tensors are named by their place; each
// layer reads inputs of the section or results of layers before it.
struct QuantisedSection {
  std::vector<QuantisedTensor> tensors;
  std::vector<QuantisedLayer> layers;
  std::vector<int> inputs, outputs;
};

}  // namespace tributary::graph
