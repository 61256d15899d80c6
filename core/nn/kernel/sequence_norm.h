// Batch normalisation of sequences (Ioffe & Szegedy, 2015), over the batch and time.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "core/nn/kernel/sequence_pool.h"

namespace tributary::nn {

// Activations lie as [passes × channels × length × kSequenceLanes]: the last pass may be incomplete. Owns the
// statistics; scale and shift are the caller's, [channels]. One thread at a time; a call allocates nothing.
class SequenceNorm {
 public:
  static constexpr double kEpsilon = 1e-5;
  // Weight of a new batch in the running statistics.
  static constexpr double kMomentum = 0.02;

  explicit SequenceNorm(SequenceShape shape);

  // y = normalised x · scale + shift by the statistics of these sequences, which also join the running ones.
  // Lanes behind the last sequence get zeros.
  void Forward(std::size_t sequences, const float* x, std::span<const float> scale,
               std::span<const float> shift, float* y);

  // In place, from the gradient of y to that of x, for the last Forward. Adds those of scale and shift.
  void Backward(std::size_t sequences, const float* x, std::span<const float> scale, float* gradient,
                std::span<float> scale_gradient, std::span<float> shift_gradient) const;

  // y = x · factor + offset with the running statistics.
  void Fold(std::span<const float> scale, std::span<const float> shift, std::span<float> factor,
            std::span<float> offset) const;

 private:
  SequenceShape shape_;
  std::vector<double> mean_, inverse_deviation_;         // of the last batch
  std::vector<double> running_mean_, running_variance_;  // unbiased
  double running_weight_ = 0;                            // of all batches so far in the running statistics
};

}  // namespace tributary::nn
