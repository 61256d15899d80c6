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
#include "core/nn/kernel/sequence_norm.h"
#include "core/nn/kernel/sequence_pool.h"

namespace tributary::nn {

enum class SequenceLayerKind {
  kConvolution,  // without padding
  kDense,        // over all channels and time steps, channel by channel; its result has one time step
  kMaxPool,      // over `size` steps, which do not overlap; an incomplete last window is left out
  kMean,         // over all time steps
};

// Its tensors: <name>.weight [outputs × inputs / groups × size] of a convolution, [outputs × channels ·
// steps] of a dense layer, and <name>.bias [outputs] of either, or with a norm <name>.scale and <name>.shift
// [outputs].
struct SequenceLayer {
  SequenceLayerKind kind;
  std::string_view name = {};
  std::size_t outputs = 0;  // channels; of pooling as many as before
  std::size_t size = 1;     // of the kernel or the window
  std::size_t stride = 1;   // of a convolution
  std::size_t groups = 1;   // of a convolution
  bool bias = false;
  bool relu = false;  // on the layer's result
  bool norm = false;  // on the layer's result, before the ReLU: only for training, instead of a bias
};

// The shape behind each layer.
std::vector<SequenceShape> SequenceShapes(SequenceShape input, std::span<const SequenceLayer> layers);
std::vector<parameters::TensorShape> SequenceTensors(SequenceShape input,
                                                     std::span<const SequenceLayer> layers);
// Products that one sequence needs.
std::size_t SequenceMultiplications(SequenceShape input, std::span<const SequenceLayer> layers);

// Computes passes of kSequenceLanes sequences, laid out as Convolution1d has them, one layer after the other.
// The parameters are the caller's flat vector. Owns the activations: only the constructor and Reserve
// allocate. One thread at a time.
class SequenceStack {
 public:
  // The layers fit the input.
  SequenceStack(SequenceShape input, std::span<const SequenceLayer> layers, const ParameterLayout& layout);

  SequenceShape output_shape() const { return steps_.back().shape; }

  // Makes room for as many sequences at a time; at first it is one pass.
  void Reserve(std::size_t sequences);

  // The span stays valid until the last Backward for it.
  void SetParameters(std::span<const float> parameters);

  // [channels × length × lanes] of a pass: what the next Forward computes.
  std::span<float> input(std::size_t pass = 0) {
    const std::size_t size = input_shape_.size() * kSequenceLanes;
    return {input_.get() + pass * size, size};
  }
  // [passes × channels × length × lanes], valid until the next call. The last pass may be incomplete: norms
  // leave its unused lanes out.
  std::span<const float> Forward(std::size_t sequences = kSequenceLanes);

  // Largest magnitude of each layer's result in the first pass of the last Forward, over its lanes below
  // `lanes`.
  void UpdateRanges(std::size_t lanes, std::span<float> ranges) const;

  // gradient += that of the parameters, for the sequences of the last Forward; output_gradient is laid out as
  // its result, with zeros in unused lanes.
  void Backward(std::span<const float> output_gradient, std::span<float> gradient);

  // The same network without norms: each one, with its running statistics, joins weights and bias of its
  // layer. `folded` is the layout of the layers with biases instead of norms, and of `result`.
  void Fold(std::span<const float> parameters, const ParameterLayout& folded, std::span<float> result) const;

 private:
  struct Step {
    SequenceLayer layer;
    SequenceShape shape;  // of the result
    ParameterRange weight, bias, scale, shift;
    std::optional<Convolution1d> convolution;  // of a dense layer, too
    std::optional<SequenceNorm> norm;
    // [passes × channels × length × lanes]; without a norm the layer writes its output at once.
    AlignedFloats before_norm, output, gradient;

    std::size_t size() const { return shape.size() * kSequenceLanes; }  // of a pass
  };
  void ForwardPass(std::size_t step, std::size_t pass);
  void BackwardPass(std::size_t step, std::size_t pass, std::span<float> gradient);

  const float* InputOf(std::size_t step, std::size_t pass) const {
    return step == 0 ? input_.get() + pass * input_shape_.size() * kSequenceLanes
                     : steps_[step - 1].output.get() + pass * steps_[step - 1].size();
  }
  SequenceShape InputShapeOf(std::size_t step) const {
    return step == 0 ? input_shape_ : steps_[step - 1].shape;
  }

  SequenceShape input_shape_;
  std::size_t room_ = 0;       // passes
  std::size_t sequences_ = 0;  // of the last Forward
  AlignedFloats input_;
  std::vector<Step> steps_;
  std::span<const float> parameters_;  // the caller's
};

}  // namespace tributary::nn
