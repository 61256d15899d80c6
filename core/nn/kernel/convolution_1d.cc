#include "core/nn/kernel/convolution_1d.h"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/nn/kernel/convolution_1d.cc"
#include "hwy/foreach_target.h"
// After foreach_target.h, which compiles it once per target.
#include "core/nn/kernel/product_tile-inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace tributary::nn::HWY_NAMESPACE {
namespace {

// Vectors of a time step.
constexpr std::size_t kStepVectors = kSequenceLanes / kLanes;
static_assert(kSequenceLanes % kLanes == 0);
// One output channel fills the registers with time steps instead.
constexpr std::size_t kSingleRowVectors = 8;

// Where vector `index` of a channel's output finds its first tap in a channel of x.
HWY_INLINE std::size_t TapOffset(std::size_t index, std::size_t stride) {
  return index / kStepVectors * stride * kSequenceLanes + index % kStepVectors * kLanes;
}

// One tile of output: kRows channels × kColumns vectors from `index` on. `x` is the group's first input
// channel, `y` the tile's first output channel.
template <std::size_t kRows, std::size_t kColumns>
HWY_INLINE void SequenceTile(const Convolution1dShape& shape, const float* HWY_RESTRICT weights,
                             const float* bias, const float* HWY_RESTRICT x, std::size_t index,
                             std::size_t rows, float* HWY_RESTRICT y) {
  const D d;
  const float* columns[kColumns];
  for (std::size_t c = 0; c < kColumns; ++c) columns[c] = x + TapOffset(index + c, shape.stride);
  ProductTile<kRows, kColumns> tile;
  for (std::size_t input = 0; input < shape.group_inputs(); ++input) {
    const std::size_t channel = input * shape.length * kSequenceLanes;
    for (std::size_t tap = 0; tap < shape.kernel; ++tap, weights += kRows) {
      tile.Add([&](std::size_t r) { return hn::Set(d, weights[r]); },
               [&](std::size_t c) { return hn::Load(d, columns[c] + channel + tap * kSequenceLanes); });
    }
  }
  const std::size_t stride = shape.output_length() * kSequenceLanes;
  tile.ForEach([&](std::size_t r, std::size_t c, V sum) {
    if (r < rows) hn::Store(hn::Add(sum, hn::Set(d, bias[r])), d, y + r * stride + (index + c) * kLanes);
  });
}

// Every group, with kRows output channels at a time: weights in panels [group inputs · kernel × kRows].
template <std::size_t kRows, std::size_t kColumns>
void ConvolveRows(const Convolution1dShape& shape, const float* weights, const float* bias, const float* x,
                  float* y) {
  const std::size_t vectors = shape.output_length() * kStepVectors;
  const std::size_t panel = shape.group_inputs() * shape.kernel * kRows;
  for (std::size_t group = 0; group < shape.groups; ++group) {
    const float* inputs = x + group * shape.group_inputs() * shape.length * kSequenceLanes;
    for (std::size_t row = 0; row < shape.group_outputs(); row += kRows, weights += panel, bias += kRows) {
      const std::size_t rows = std::min(kRows, shape.group_outputs() - row);
      float* outputs = y + (group * shape.group_outputs() + row) * shape.output_length() * kSequenceLanes;
      std::size_t i = 0;
      for (; i + kColumns <= vectors; i += kColumns) {
        SequenceTile<kRows, kColumns>(shape, weights, bias, inputs, i, rows, outputs);
      }
      for (; i < vectors; ++i) SequenceTile<kRows, 1>(shape, weights, bias, inputs, i, rows, outputs);
    }
  }
}

void Convolve(const Convolution1dShape& shape, const float* weights, const float* bias, const float* x,
              float* y) {
  if (shape.group_outputs() == 1) {
    ConvolveRows<1, kSingleRowVectors>(shape, weights, bias, x, y);
  } else {
    ConvolveRows<kTileRows, kTileVectors>(shape, weights, bias, x, y);
  }
}

// Rows of a panel of packed weights.
std::size_t PanelRows(const Convolution1dShape& shape) { return shape.group_outputs() == 1 ? 1 : kTileRows; }

// gradient [group outputs × group inputs · kernel] += that of one group.
template <std::size_t kRows, std::size_t kColumns>
void AddGroupGradient(const Convolution1dShape& shape, const float* x, const float* y_gradient,
                      float* gradient) {
  const D d;
  const std::size_t depth = shape.group_inputs() * shape.kernel;
  const std::size_t steps = shape.output_length();
  for (std::size_t row = 0; row < shape.group_outputs(); row += kRows) {
    const float* rows[kRows];
    for (std::size_t r = 0; r < kRows; ++r) {
      rows[r] = y_gradient + std::min(row + r, shape.group_outputs() - 1) * steps * kSequenceLanes;
    }
    for (std::size_t column = 0; column < depth; column += kColumns) {
      const float* columns[kColumns];
      for (std::size_t c = 0; c < kColumns; ++c) {
        const std::size_t at = std::min(column + c, depth - 1);
        columns[c] = x + (at / shape.kernel * shape.length + at % shape.kernel) * kSequenceLanes;
      }
      SumAcross<kRows, kColumns>(
          [&](auto& tile, std::size_t place) {
            for (std::size_t i = place / kLanes; i < steps * kStepVectors; i += kSumLanes / kLanes) {
              const std::size_t tap = TapOffset(i, shape.stride);
              tile.Add([&](std::size_t r) { return hn::Load(d, rows[r] + i * kLanes); },
                       [&](std::size_t c) { return hn::Load(d, columns[c] + tap); });
            }
          },
          [&](std::size_t r, std::size_t c, float total) {
            if (row + r < shape.group_outputs() && column + c < depth) {
              gradient[(row + r) * depth + column + c] += total;
            }
          });
    }
  }
}

void AddWeightGradient1d(const Convolution1dShape& shape, const float* x, const float* y_gradient,
                         float* gradient) {
  for (std::size_t group = 0; group < shape.groups; ++group) {
    if (shape.group_outputs() == 1) {
      AddGroupGradient<1, kSingleRowVectors>(shape, x, y_gradient, gradient);
    } else {
      AddGroupGradient<kTileRows, kTileVectors>(shape, x, y_gradient, gradient);
    }
    x += shape.group_inputs() * shape.length * kSequenceLanes;
    y_gradient += shape.group_outputs() * shape.output_length() * kSequenceLanes;
    gradient += shape.group_outputs() * shape.group_inputs() * shape.kernel;
  }
}

}  // namespace
}  // namespace tributary::nn::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tributary::nn {
namespace {

HWY_EXPORT(Convolve);
HWY_EXPORT(PanelRows);
HWY_EXPORT(AddWeightGradient1d);

// The most rows of a panel on any target.
constexpr std::size_t kMostPanelRows = 8;

std::size_t PaddedOutputs(const Convolution1dShape& shape) {
  const std::size_t rows = shape.group_outputs() == 1 ? 1 : kMostPanelRows;
  return shape.groups * ((shape.group_outputs() + rows - 1) / rows * rows);
}

std::size_t PackedSize(const Convolution1dShape& shape) {
  return PaddedOutputs(shape) * shape.group_inputs() * shape.kernel;
}

Convolution1dShape TransposedShape(const Convolution1dShape& shape) {
  const std::size_t spread = (shape.output_length() - 1) * shape.stride + 1;
  return {.inputs = shape.outputs,
          .outputs = shape.inputs,
          .length = spread + 2 * (shape.kernel - 1),
          .kernel = shape.kernel,
          .stride = 1,
          .groups = shape.groups};
}

// Calls visit(output, where it lies in panels of `rows`, with `size` floats for each) for every output.
template <class Visit>
void ForEachPanelRow(const Convolution1dShape& shape, std::size_t rows, std::size_t size, Visit visit) {
  const std::size_t outputs = shape.group_outputs(), panels = (outputs + rows - 1) / rows;
  for (std::size_t output = 0; output < shape.outputs; ++output) {
    const std::size_t panel = output / outputs * panels + output % outputs / rows;
    visit(output, panel * rows * size + output % outputs % rows);
  }
}

}  // namespace

Convolution1d::Convolution1d(const Convolution1dShape& shape)
    : shape_(shape),
      transposed_(TransposedShape(shape)),
      packed_(AllocateFloats(PackedSize(shape_))),
      packed_bias_(AllocateFloats(PaddedOutputs(shape_))),
      packed_transposed_(AllocateFloats(PackedSize(transposed_))),
      no_bias_(AllocateFloats(PaddedOutputs(transposed_))) {
  if (!Pointwise()) {
    spread_gradient_ = AllocateFloats(transposed_.inputs * transposed_.length * kSequenceLanes);
  }
}

void Convolution1d::SetWeights(std::span<const float> weights, std::span<const float> bias) {
  const std::size_t kernel = shape_.kernel, inputs = shape_.group_inputs(), outputs = shape_.group_outputs();
  const std::size_t rows = HWY_DYNAMIC_DISPATCH(PanelRows)(shape_);
  ForEachPanelRow(shape_, rows, inputs * kernel, [&](std::size_t output, std::size_t at) {
    const float* from = weights.data() + output * inputs * kernel;
    for (std::size_t k = 0; k < inputs * kernel; ++k) packed_[at + k * rows] = from[k];
  });
  ForEachPanelRow(shape_, rows, 1, [&](std::size_t output, std::size_t at) {
    packed_bias_[at] = bias.empty() ? 0.0f : bias[output];
  });

  const std::size_t transposed_rows = HWY_DYNAMIC_DISPATCH(PanelRows)(transposed_);
  ForEachPanelRow(transposed_, transposed_rows, outputs * kernel, [&](std::size_t input, std::size_t at) {
    const std::size_t first_output = input / inputs * outputs;
    for (std::size_t o = 0; o < outputs; ++o) {
      const float* from = weights.data() + ((first_output + o) * inputs + input % inputs) * kernel;
      for (std::size_t tap = 0; tap < kernel; ++tap) {
        packed_transposed_[at + (o * kernel + tap) * transposed_rows] = from[kernel - 1 - tap];
      }
    }
  });
}

void Convolution1d::Forward(const float* x, float* y) const {
  HWY_DYNAMIC_DISPATCH(Convolve)(shape_, packed_.get(), packed_bias_.get(), x, y);
}

void Convolution1d::BackwardWeights(const float* x, const float* y_gradient, std::span<float> weight_gradient,
                                    std::span<float> bias_gradient) const {
  HWY_DYNAMIC_DISPATCH(AddWeightGradient1d)(shape_, x, y_gradient, weight_gradient.data());
  const std::size_t size = shape_.output_length() * kSequenceLanes;
  for (std::size_t output = 0; output < bias_gradient.size(); ++output) {
    float lanes[kSequenceLanes] = {};
    for (std::size_t i = 0; i < size; i += kSequenceLanes) {
      for (std::size_t n = 0; n < kSequenceLanes; ++n) lanes[n] += y_gradient[output * size + i + n];
    }
    for (const float lane : lanes) bias_gradient[output] += lane;
  }
}

void Convolution1d::BackwardInput(const float* y_gradient, float* x_gradient) {
  const float* spread = y_gradient;
  if (!Pointwise()) {
    // The zeros around and between stay from the constructor.
    for (std::size_t output = 0; output < shape_.outputs; ++output) {
      float* to = spread_gradient_.get() + (output * transposed_.length + shape_.kernel - 1) * kSequenceLanes;
      for (std::size_t t = 0; t < shape_.output_length(); ++t, y_gradient += kSequenceLanes) {
        std::copy_n(y_gradient, kSequenceLanes, to + t * shape_.stride * kSequenceLanes);
      }
    }
    spread = spread_gradient_.get();
  }
  HWY_DYNAMIC_DISPATCH(Convolve)
  (transposed_, packed_transposed_.get(), no_bias_.get(), spread, x_gradient);
  // With a stride, the last steps of x may meet no kernel. Channels lie closer together then: move them
  // apart, the last one first.
  const std::size_t used = transposed_.output_length();
  if (used == shape_.length) return;
  for (std::size_t input = shape_.inputs; input-- > 0;) {
    float* to = x_gradient + input * shape_.length * kSequenceLanes;
    const float* from = x_gradient + input * used * kSequenceLanes;
    std::copy_backward(from, from + used * kSequenceLanes, to + used * kSequenceLanes);
    std::fill(to + used * kSequenceLanes, to + shape_.length * kSequenceLanes, 0.0f);
  }
}

}  // namespace tributary::nn
#endif
