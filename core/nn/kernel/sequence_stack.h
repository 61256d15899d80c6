// Layers over sequences, one behind the other: forward and backward.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "core/nn/kernel/aligned_floats.h"
#include "core/nn/kernel/convolution_1d.h"
#include "core/nn/kernel/parameter_layout.h"
#include "core/nn/kernel/sequence_pool.h"

namespace tributary::nn {

enum class SequenceLayerKind {
  kConvolution,  // without padding
  kDense,        // over all channels and time steps, channel by channel; its result has one time step
  kMaxPool,      // over `size` steps, which do not overlap; an incomplete last window is left out
  kMean,         // over all time steps
};

// Its tensors: <name>.weight [outputs × inputs / groups × size] of a convolution, [outputs × channels ·
// steps] of a dense layer, and <name>.bias [outputs] of either.
struct SequenceLayer {
  SequenceLayerKind kind;
  std::string_view name = {};
  std::size_t outputs = 0;  // channels; of pooling as many as before
  std::size_t size = 1;     // of the kernel or the window
  std::size_t stride = 1;   // of a convolution
  std::size_t groups = 1;   // of a convolution
  bool bias = false;
  bool relu = false;  // on the layer's result
};

// The shape behind each layer.
std::vector<SequenceShape> SequenceShapes(SequenceShape input, std::span<const SequenceLayer> layers);
std::vector<parameters::TensorShape> SequenceTensors(SequenceShape input,
                                                     std::span<const SequenceLayer> layers);
// Products that one sequence needs.
std::size_t SequenceMultiplications(SequenceShape input, std::span<const SequenceLayer> layers);

// Computes kSequenceLanes sequences at a time, laid out as Convolution1d has them. The parameters are the
// caller's flat vector. Owns the activations: only the constructor allocates. One thread at a time.
class SequenceStack {
 public:
  // The layers fit the input.
  SequenceStack(SequenceShape input, std::span<const SequenceLayer> layers, const ParameterLayout& layout);

  SequenceShape input_shape() const { return input_shape_; }
  SequenceShape output_shape() const { return steps_.back().shape; }

  void SetParameters(std::span<const float> parameters);

  // [channels × length × lanes]: what the next Forward computes.
  std::span<float> input() { return {input_.get(), input_shape_.size() * kSequenceLanes}; }
  // Valid until the next call.
  std::span<const float> Forward();

  // Largest magnitude of each layer's result in the last Forward, over its lanes below `lanes`.
  void UpdateRanges(std::size_t lanes, std::span<float> ranges) const;

  // gradient += that of the parameters, for the sequences of the last Forward.
  void Backward(std::span<const float> output_gradient, std::span<float> gradient);

 private:
  struct Step {
    SequenceLayer layer;
    SequenceShape shape;  // of the result
    ParameterRange weight, bias;
    std::optional<Convolution1d> convolution;  // of a dense layer, too
    AlignedFloats output, gradient;
  };

  const float* InputOf(std::size_t step) const {
    return step == 0 ? input_.get() : steps_[step - 1].output.get();
  }
  SequenceShape InputShapeOf(std::size_t step) const {
    return step == 0 ? input_shape_ : steps_[step - 1].shape;
  }

  SequenceShape input_shape_;
  AlignedFloats input_;
  std::vector<Step> steps_;
};

}  // namespace tributary::nn
