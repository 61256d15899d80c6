#include "core/nn/beacon/beacon_uncertainty.h"

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>
#include <limits>

namespace tributary::nn {
namespace {

// The weight decay in (JᵀJ)⁻¹. Parameters that the data leave open (a saturated neuron's) add no uncertainty,
// but must not make the matrix singular.
constexpr double kRidge = 1e-3;

}  // namespace

std::vector<double> FactorOfInverse(const LeastSquaresProblem& problem, std::span<const double> parameters) {
  NormalEquations equations(BeaconNetwork::kParameters);
  problem.Linearise(parameters, equations);
  equations.matrix.diagonal().array() += kRidge;
  const Eigen::Index size = equations.matrix.rows();
  const Eigen::MatrixXd inverse = equations.matrix.llt().solve(Eigen::MatrixXd::Identity(size, size));
  const Eigen::MatrixXd factor = inverse.llt().matrixL();
  std::vector<double> rows(BeaconNetwork::kParameters * BeaconNetwork::kParameters);
  Eigen::Map<Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>>(rows.data(), size,
                                                                                     size) = factor;
  return rows;
}

void MarkReach(std::span<const BeaconInputs> ranges_m, BeaconNetwork& network) {
  constexpr std::size_t kTriples = 64;
  network.reach_m.clear();
  std::vector<double> nearest(ranges_m.size(), std::numeric_limits<double>::infinity());
  std::size_t next = 0;
  for (std::size_t i = 0; i < std::min(kTriples, ranges_m.size()); ++i) {
    const BeaconInputs triple = ranges_m[next];
    network.reach_m.insert(network.reach_m.end(), triple.begin(), triple.end());
    for (std::size_t k = 0; k < ranges_m.size(); ++k) {
      const BeaconInputs& other = ranges_m[k];
      nearest[k] =
          std::min(nearest[k], std::hypot(other[0] - triple[0], other[1] - triple[1], other[2] - triple[2]));
    }
    next = static_cast<std::size_t>(std::ranges::max_element(nearest) - nearest.begin());
  }
  network.reach_radius_m = nearest[next];
}

}  // namespace tributary::nn
