// The positioning network in single precision, from raw channel state to a position: the reference of the
// integer formats.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include "core/nn/kernel/gemm.h"
#include "core/nn/optimise/gaussian_nll.h"
#include "core/nn/positioning/phase_alignment.h"
#include "core/nn/positioning/positioning_network.h"

namespace tributary::nn {

// (x - mean) * inverse_deviation, in place.
void Standardise(const PositioningNetwork& network, FeatureSpan features);

// Owns the network and its buffers; a run allocates nothing. One thread at a time.
class PositioningInference {
 public:
  PositioningInference(PositioningNetwork network, std::size_t max_batch);

  const PositioningNetwork& network() const { return network_; }
  std::size_t max_batch() const { return max_batch_; }

  // Raw features [batch × 1024] (any common phase) to outputs [batch × 5] x, y, raw l11, l21, raw l22, before
  // the head. batch <= max_batch.
  void Run(std::span<const float> features, std::size_t batch, std::span<float> outputs);

  // Activations of the last run, in the order of PositioningNetwork::activation_range: the standardised input
  // [batch × 1024], then ReLU 1, batch norm, ReLU 2, ReLU 3 and the output, feature-major.
  std::array<std::span<const float>, 6> activations() const;

 private:
  PositioningNetwork network_;
  std::size_t max_batch_;
  std::size_t batch_ = 0;
  Gemm gemm_;
  std::array<std::vector<float>, 6> activations_;
};

// Converts the network's outputs, before the head, to mean and Cholesky factor (m) in the panel's frame:
// softplus on the diagonal, then the calibration.
GaussianPosition PositionFromOutputs(const PositioningNetwork& network, std::span<const float> outputs);

}  // namespace tributary::nn
