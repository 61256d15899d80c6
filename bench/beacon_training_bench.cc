// Levenberg-Marquardt training of the 3-10-2 beacon network, one thread; driven by beacon_training.py.
//
// Standard input: the number of patterns n, then n lines "x x x t t" (normalised), then the 62 start weights,
// then commands: "limit": trains until it stops; answers its root mean square error. "time R": trains from
// the start until the error is at most R; answers seconds and the error.
#include <chrono>
#include <cmath>
#include <iostream>
#include <string>
#include <vector>

#include "core/nn/beacon/beacon_problem.h"
#include "core/nn/optimise/levenberg_marquardt.h"

namespace tributary {
namespace {

nn::LevenbergMarquardtResult Train(const nn::BeaconProblem& problem, std::span<const double> start,
                                   double target_rms) {
  nn::LevenbergMarquardtOptions options;
  options.max_epochs = 300;
  options.min_mean_squared_error = target_rms * target_rms;
  return *nn::MinimiseLevenbergMarquardt(problem, start, options);
}

int Serve() {
  std::size_t patterns = 0;
  std::cin >> patterns;
  std::vector<nn::BeaconInputs> inputs(patterns);
  std::vector<nn::BeaconOutputs> targets(patterns);
  for (std::size_t i = 0; i < patterns; ++i) {
    for (double& x : inputs[i]) std::cin >> x;
    for (double& t : targets[i]) std::cin >> t;
  }
  std::vector<double> start(nn::BeaconNetwork::kParameters);
  for (double& w : start) std::cin >> w;
  if (!std::cin || patterns == 0) {
    std::cerr << "expected patterns and start weights on standard input\n";
    return 2;
  }
  std::cout.precision(17);
  for (std::string command; std::cin >> command;) {
    double target = 0.0;
    if (command == "time") std::cin >> target;
    const auto begin = std::chrono::steady_clock::now();
    const nn::BeaconProblem problem(inputs, targets);
    const nn::LevenbergMarquardtResult result = Train(problem, start, target);
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    if (command == "time") std::cout << seconds << " ";
    std::cout << std::sqrt(result.mean_squared_error) << " " << result.epochs << std::endl;
  }
  return 0;
}

}  // namespace
}  // namespace tributary

int main() { return tributary::Serve(); }
