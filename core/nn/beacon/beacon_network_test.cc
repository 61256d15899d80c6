#include "core/nn/beacon/beacon_network.h"

#include <cmath>
#include <random>

#include "core/nn/beacon/beacon_problem.h"
#include "gtest/gtest.h"

namespace tributary::nn {
namespace {

using Parameters = std::array<double, BeaconNetwork::kParameters>;

Parameters RandomParameters(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  Parameters parameters;
  for (double& p : parameters) p = normal(random);
  return parameters;
}

TEST(BeaconNetworkTest, JacobianIsTheDerivative) {
  const BeaconInputs inputs = {0.3, -0.8, 0.5};
  Parameters parameters = RandomParameters(1);
  const BeaconJacobian jacobian = BeaconJacobianOf(parameters, inputs);
  for (std::size_t k = 0; k < parameters.size(); ++k) {
    const double step = 1e-6;
    Parameters up = parameters;
    Parameters down = parameters;
    up[k] += step;
    down[k] -= step;
    for (std::size_t o = 0; o < 2; ++o) {
      const double slope = (BeaconForward(up, inputs)[o] - BeaconForward(down, inputs)[o]) / (2 * step);
      EXPECT_NEAR(jacobian[o][k], slope, 1e-8) << k;
    }
  }
}

TEST(BeaconProblemTest, AgreesWithOnePatternAfterTheOther) {
  std::vector<BeaconInputs> inputs;
  std::vector<BeaconOutputs> targets;
  for (std::size_t i = 0; i < 37; ++i) {  // not a whole number of blocks
    const double t = 0.1 * static_cast<double>(i);
    inputs.push_back({std::sin(t), std::cos(t), 0.5 * std::sin(2 * t)});
    targets.push_back({0.3 * std::cos(t), -0.2});
  }
  const Parameters parameters = RandomParameters(2);
  Eigen::MatrixXd matrix = Eigen::MatrixXd::Zero(62, 62);
  Eigen::VectorXd gradient = Eigen::VectorXd::Zero(62);
  double squared_error = 0.0;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const BeaconOutputs outputs = BeaconForward(parameters, inputs[i]);
    const BeaconJacobian jacobian = BeaconJacobianOf(parameters, inputs[i]);
    for (std::size_t o = 0; o < 2; ++o) {
      const Eigen::Map<const Eigen::VectorXd> row(jacobian[o].data(), 62);
      const double error = outputs[o] - targets[i][o];
      matrix += row * row.transpose();
      gradient += row * error;
      squared_error += error * error;
    }
  }
  const BeaconProblem problem(inputs, targets);
  NormalEquations equations(62);
  problem.Linearise(parameters, equations);
  // 74 rows of elements below about 3, rounded at 1e-16 each, and a tanh of 4 units in the last place.
  const Eigen::MatrixXd lower = matrix.triangularView<Eigen::Lower>();
  EXPECT_LT((equations.matrix - lower).cwiseAbs().maxCoeff(), 1e-11);
  EXPECT_LT((equations.gradient - gradient).cwiseAbs().maxCoeff(), 1e-11);
  EXPECT_NEAR(equations.squared_error, squared_error, 1e-11);
  EXPECT_NEAR(problem.SquaredError(parameters), squared_error, 1e-11);
}

TEST(BeaconNetworkTest, CovarianceAddsTheUncertaintyOfTheParameters) {
  BeaconNetwork network;
  network.parameters = RandomParameters(3);
  network.residual_deviation_m = 0.1;
  network.parameter_factor.assign(62 * 62, 0.0);
  const BeaconInputs inputs = {0.1, 0.2, 0.3};
  EXPECT_NEAR(BeaconCholesky(network, inputs)[0], 0.1, 1e-12);
  EXPECT_NEAR(BeaconCholesky(network, inputs)[1], 0.0, 1e-12);
  EXPECT_NEAR(BeaconCholesky(network, inputs)[2], 0.1, 1e-12);

  for (std::size_t k = 0; k < 62; ++k) network.parameter_factor[k * 62 + k] = 0.2;
  const BeaconJacobian jacobian = BeaconJacobianOf(network.parameters, inputs);
  double xx = 1.0;
  double xy = 0.0;
  double yy = 1.0;
  for (std::size_t k = 0; k < 62; ++k) {
    xx += 0.04 * jacobian[0][k] * jacobian[0][k];
    xy += 0.04 * jacobian[0][k] * jacobian[1][k];
    yy += 0.04 * jacobian[1][k] * jacobian[1][k];
  }
  const auto l = BeaconCholesky(network, inputs);
  EXPECT_NEAR(l[0] * l[0], 0.01 * xx, 1e-12);
  EXPECT_NEAR(l[0] * l[1], 0.01 * xy, 1e-12);
  EXPECT_NEAR(l[1] * l[1] + l[2] * l[2], 0.01 * yy, 1e-12);
}

}  // namespace
}  // namespace tributary::nn
