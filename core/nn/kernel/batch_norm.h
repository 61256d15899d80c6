// Batch normalisation over feature-major activations [features × batch] (Ioffe & Szegedy, 2015).
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace tributary::nn {

// Owns the running statistics and what the backward pass needs; scale and shift (gamma, beta) are the
// caller's, [features]. One thread at a time.
class BatchNorm {
 public:
  static constexpr float kEpsilon = 1e-5f;

  // momentum: weight of a new batch in the running statistics.
  BatchNorm(std::size_t features, std::size_t max_batch, float momentum = 0.01f);

  std::size_t features() const { return mean_.size(); }

  // Normalises by the statistics of this batch, in place, and updates the running ones. 2 <= batch <=
  // max_batch.
  void TrainForward(std::span<const float> gamma, std::span<const float> beta, std::size_t batch,
                    float* values);

  // Gradient with respect to the input of the last TrainForward, in place; those of gamma and beta are set.
  void Backward(std::span<const float> gamma, std::size_t batch, float* gradient,
                std::span<float> gamma_gradient, std::span<float> beta_gradient) const;

  // The inference form: y = x * scale + shift.
  void Fold(std::span<const float> gamma, std::span<const float> beta, std::span<float> scale,
            std::span<float> shift) const;

 private:
  float momentum_;
  std::vector<float> mean_;               // running
  std::vector<float> variance_;           // running, unbiased
  std::vector<float> inverse_deviation_;  // of the last batch
  std::vector<float> normalised_;         // of the last batch, [features × batch]
};

}  // namespace tributary::nn
