#include "core/nn/beacon/beacon_network.h"

#include <cmath>

#include "core/nn/kernel/tansig.h"

namespace tributary::nn {
namespace {

constexpr std::size_t kInputs = BeaconNetwork::kInputs;
constexpr std::size_t kHidden = BeaconNetwork::kHidden;
constexpr std::size_t kOutputs = BeaconNetwork::kOutputs;
constexpr std::size_t kParameters = BeaconNetwork::kParameters;

using Parameters = std::array<double, kParameters>;

std::array<double, kHidden> Hidden(const Parameters& parameters, const BeaconInputs& inputs) {
  std::array<double, kHidden> hidden;
  for (std::size_t j = 0; j < kHidden; ++j) {
    const double* weights = &parameters[j * (kInputs + 1)];
    double sum = weights[kInputs];
    for (std::size_t i = 0; i < kInputs; ++i) sum += weights[i] * inputs[i];
    hidden[j] = Tansig(sum);
  }
  return hidden;
}

}  // namespace

BeaconOutputs BeaconForward(const Parameters& parameters, const BeaconInputs& inputs) {
  const std::array<double, kHidden> hidden = Hidden(parameters, inputs);
  BeaconOutputs outputs;
  for (std::size_t o = 0; o < kOutputs; ++o) {
    const double* weights = &parameters[BeaconNetwork::kLayer1 + o * (kHidden + 1)];
    outputs[o] = weights[kHidden];
    for (std::size_t j = 0; j < kHidden; ++j) outputs[o] += weights[j] * hidden[j];
  }
  return outputs;
}

BeaconJacobian BeaconJacobianOf(const Parameters& parameters, const BeaconInputs& inputs) {
  const std::array<double, kHidden> hidden = Hidden(parameters, inputs);
  BeaconJacobian jacobian = {};
  for (std::size_t o = 0; o < kOutputs; ++o) {
    const std::size_t output = BeaconNetwork::kLayer1 + o * (kHidden + 1);
    for (std::size_t j = 0; j < kHidden; ++j) {
      const double slope = parameters[output + j] * TansigSlope(hidden[j]);
      for (std::size_t i = 0; i < kInputs; ++i) jacobian[o][j * (kInputs + 1) + i] = slope * inputs[i];
      jacobian[o][j * (kInputs + 1) + kInputs] = slope;
      jacobian[o][output + j] = hidden[j];
    }
    jacobian[o][output + kHidden] = 1.0;
  }
  return jacobian;
}

BeaconInputs NormaliseRanges(const BeaconNetwork& network, const BeaconInputs& ranges_m) {
  BeaconInputs inputs;
  for (std::size_t i = 0; i < kInputs; ++i) {
    inputs[i] = (ranges_m[i] - network.input_offset_m[i]) * network.input_gain_per_m[i];
  }
  return inputs;
}

BeaconOutputs PositionOf(const BeaconNetwork& network, const BeaconOutputs& outputs) {
  BeaconOutputs position;
  for (std::size_t o = 0; o < kOutputs; ++o) {
    position[o] = network.output_centre_m[o] + network.output_scale_m * outputs[o];
  }
  return position;
}

std::array<double, 3> BeaconCholesky(const BeaconNetwork& network, const BeaconInputs& inputs) {
  const BeaconJacobian jacobian = BeaconJacobianOf(network.parameters, inputs);
  // J(JᵀJ)⁻¹Jᵀ = (J·F)(J·F)ᵀ with the lower factor F.
  double xx = 1.0;
  double xy = 0.0;
  double yy = 1.0;
  for (std::size_t column = 0; column < kParameters; ++column) {
    double x = 0.0;
    double y = 0.0;
    for (std::size_t row = column; row < kParameters; ++row) {
      const double factor = network.parameter_factor[row * kParameters + column];
      x += jacobian[0][row] * factor;
      y += jacobian[1][row] * factor;
    }
    xx += x * x;
    xy += x * y;
    yy += y * y;
  }
  const double s = network.residual_deviation_m;
  const double l11 = std::sqrt(xx);
  const double l21 = xy / l11;
  return {s * l11, s * l21, s * std::sqrt(yy - l21 * l21)};
}

}  // namespace tributary::nn
