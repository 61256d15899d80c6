// Training the beacon network as a least-squares problem.
#pragma once

#include <span>
#include <vector>

#include "core/nn/beacon/beacon_network.h"
#include "core/nn/optimise/levenberg_marquardt.h"

namespace tributary::nn {

// Normalised inputs [n × 3] with normalised targets [n × 2]. Immutable; any thread may call.
class BeaconProblem final : public LeastSquaresProblem {
 public:
  BeaconProblem(std::span<const BeaconInputs> inputs, std::span<const BeaconOutputs> targets);

  std::size_t parameters() const override { return BeaconNetwork::kParameters; }
  std::size_t errors() const override { return patterns_ * BeaconNetwork::kOutputs; }
  void Linearise(std::span<const double> parameters, NormalEquations& equations) const override;
  double SquaredError(std::span<const double> parameters) const override;

 private:
  std::size_t patterns_;
  // One plane per input and target, padded to whole blocks with copies of the last pattern.
  std::vector<double> planes_;
  std::size_t padded_;
};

}  // namespace tributary::nn
