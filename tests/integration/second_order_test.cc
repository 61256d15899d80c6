// Boards that train a beacon network together by second-order sums: a real aggregator and four learners.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "core/nn/beacon/beacon_problem.h"
#include "core/nn/beacon/federated_beacon.h"
#include "node/learner/beacon_trainer.h"
#include "node/learner/learner.h"
#include "tests/integration/masked_run.h"

namespace tributary::testing::second_order {
namespace {

constexpr int kBoards = 4;
constexpr int kRounds = 6;

// What a board in one quarter of the hall recorded.
std::vector<nn::BeaconExample> QuarterOf(int board) {
  std::mt19937_64 random(static_cast<std::uint64_t>(board) + 1);
  std::uniform_real_distribution<double> place(0, 3);
  std::normal_distribution<double> noise(0.1, 0.05);
  std::vector<nn::BeaconExample> examples;
  for (int i = 0; i < 200 + 50 * board; ++i) {
    const double x = place(random) - (board % 2 == 0 ? 3 : 0);
    const double y = place(random) - (board / 2 == 0 ? 3 : 0);
    examples.push_back(
        {.unix_ns = i,
         .ranges_m = {std::hypot(x, y - 4) + noise(random), std::hypot(x - 4, y + 4) + noise(random),
                      std::hypot(x + 4, y + 4) + noise(random)},
         .position_m = {x, y}});
  }
  return examples;
}

nn::BeaconNetwork StartNetwork() {
  nn::BeaconNetwork network = nn::StartBeacon(5, 10, {-3, -3}, {3, 3});
  network.anchors = {1, 4, 6};
  return network;
}

class BeaconBoards {
 public:
  explicit BeaconBoards(const MaskedRun& run) {
    for (int board = 0; board < kBoards; ++board) {
      learner::LearnerOptions options;
      options.client.aggregator = "127.0.0.1:" + std::to_string(run.port());
      options.client.node = "b" + std::to_string(board);
      options.client.run = "r";
      metrics_.push_back(std::make_unique<runtime::Metrics>());
      auto trainer = std::make_unique<learner::BeaconTrainer>(
          learner::BeaconExamples{.anchors = {1, 4, 6}, .tag = 0, .examples = QuarterOf(board)});
      learners_.push_back(
          std::make_unique<learner::Learner>(options, std::move(trainer), clock_, *metrics_.back()));
      learners_.back()->Start();
    }
  }

 private:
  runtime::SystemClock clock_;
  std::vector<std::unique_ptr<runtime::Metrics>> metrics_;
  std::vector<std::unique_ptr<learner::Learner>> learners_;
};

// The parameters that the boards judge after each round, from the start on.
std::vector<nn::BeaconParameters> TrialsOf(const std::string& privacy) {
  const std::string start = nn::EncodeFederatedBeacon({.network = StartNetwork(), .second_order = true});
  MaskedRun run(start, "rounds = " + std::to_string(kRounds) +
                           "\nmin_nodes = 4\nmax_nodes = 4\nweighting = \"uniform\"\n"
                           "[strategy]\nkind = \"levenberg_marquardt\"\n[client]\nworkload = \"beacon\"\n" +
                           privacy);
  const BeaconBoards boards(run);
  run.AwaitCommitted(kRounds);
  std::vector<nn::BeaconParameters> trials;
  for (int round = 0; round <= kRounds; ++round) trials.push_back(nn::ParametersAt(run.Parameters(round)));
  return trials;
}

nn::BeaconProblem UnionOfQuarters() {
  const std::string file = nn::EncodeFederatedBeacon({.network = StartNetwork(), .second_order = true});
  // As the boards read it: the normalisation in float.
  const nn::BeaconNetwork network =
      nn::FederatedBeaconFromTensors(*parameters::DecodeSafetensors(file))->network;
  nn::BeaconPatterns patterns;
  for (int board = 0; board < kBoards; ++board) {
    for (const nn::BeaconExample& example : QuarterOf(board)) nn::AddPattern(network, example, patterns);
  }
  return {patterns.inputs, patterns.targets};
}

// Each committed trial, from the trials before it, is the step of central training on the union.
void ExpectCentralSteps(const std::vector<nn::BeaconParameters>& trials) {
  const nn::BeaconProblem all = UnionOfQuarters();
  nn::NormalEquations equations(nn::BeaconNetwork::kParameters);
  nn::DampedStep damped;
  nn::BeaconParameters best = trials[0];
  double mu = nn::kFirstMu;
  for (std::size_t round = 1; round < trials.size(); ++round) {
    const bool better = all.SquaredError(trials[round - 1]) < all.SquaredError(best);
    if (round > 1) mu *= better ? nn::kMuDecrease : nn::kMuIncrease;
    if (better) best = trials[round - 1];
    all.Linearise(best, equations);
    const Eigen::VectorXd* const step = damped.Solve(equations, mu);
    ASSERT_NE(step, nullptr);
    double apart = 0;
    for (std::size_t i = 0; i < best.size(); ++i) {
      apart += std::pow(trials[round][i] - (best[i] - (*step)[static_cast<Eigen::Index>(i)]), 2);
    }
    EXPECT_LE(std::sqrt(apart), 1e-9 * step->norm()) << "round " << round << ", mu " << mu;
  }
}

TEST(SecondOrderRunTest, MaskedAndPlainAreTheStepsOfCentralTraining) {
  const std::vector<nn::BeaconParameters> plain = TrialsOf("");
  ASSERT_EQ(plain.size(), kRounds + 1U);
  ExpectCentralSteps(plain);
  EXPECT_EQ(plain, TrialsOf("[privacy]\nsecure_aggregation = true\n"));
}

// FedAvg of the same boards takes the same command path, with a model that has no sums.
TEST(SecondOrderRunTest, FedAvgOfBeaconsLowersTheError) {
  MaskedRun run(
      nn::EncodeFederatedBeacon({.network = StartNetwork(), .second_order = false}),
      "rounds = 3\nmin_nodes = 4\nmax_nodes = 4\n[client]\nworkload = \"beacon\"\nlocal_steps = 5\n");
  const BeaconBoards boards(run);
  run.AwaitCommitted(3);
  const nn::BeaconProblem all = UnionOfQuarters();
  EXPECT_LT(all.SquaredError(nn::ParametersAt(run.Parameters(3))),
            all.SquaredError(nn::ParametersAt(run.Parameters(0))) / 4);
}

}  // namespace
}  // namespace tributary::testing::second_order
