// Training the beacon network as a least-squares problem: JᵀJ comes from the products of few columns.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "core/nn/beacon/beacon_network.h"
#include "core/nn/optimise/levenberg_marquardt.h"
#include "hwy/aligned_allocator.h"

namespace tributary::nn {

// The products of all columns of a tall matrix, accumulated block by block of its rows.
// Owns its buffers; Add allocates nothing. One thread at a time.
class GramMatrix {
 public:
  // Rows handed to Add at once: as many share one load of the sums.
  static constexpr std::size_t kRows = 16;

  explicit GramMatrix(std::size_t columns);

  // Elements from one row of a block to the next: columns, padded to whole vectors.
  std::size_t stride() const { return stride_; }

  // Adds rowsᵀ·rows for kRows rows [kRows × stride], aligned to 64 bytes. Padding and unused rows are zero.
  void Add(const double* rows);

  // Sum over all rows of column i · column k, for i ≤ k.
  double at(std::size_t i, std::size_t k) const { return sums_[i * stride_ + k]; }

 private:
  std::size_t stride_;
  hwy::AlignedFreeUniquePtr<double[]> sums_;  // [stride × stride], from the diagonal's vector on
};

// Normalised inputs [n × 3] with normalised targets [n × 2]. Immutable; any thread may call.
class BeaconProblem final : public LeastSquaresProblem {
 public:
  // Patterns computed together.
  static constexpr std::size_t kBlock = GramMatrix::kRows;
  struct Block {
    double hidden[BeaconNetwork::kHidden][kBlock];
    double errors[BeaconNetwork::kOutputs][kBlock];
  };

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
