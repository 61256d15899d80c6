#include <fmt/format.h>
#include <gtest/gtest.h>

#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "aggregator/learning/round/accumulator.h"
#include "aggregator/learning/rules/strategy.h"
#include "core/nn/beacon/beacon_problem.h"
#include "core/nn/beacon/federated_beacon.h"
#include "core/parameters/fixed_point.h"
#include "core/parameters/flat_model.h"

namespace tributary::learning {
namespace {

using nn::BeaconPlaces;

struct BoardPatterns {
  std::vector<nn::BeaconInputs> inputs;
  std::vector<nn::BeaconOutputs> targets;

  nn::BeaconProblem Problem() const { return {inputs, targets}; }
};

// Positions in one quarter of a hall, and their ranges with noise to three anchors, all normalised.
BoardPatterns Quarter(int board, std::size_t count, std::mt19937_64& random) {
  std::uniform_real_distribution<double> place(0, 1);
  std::normal_distribution<double> noise(0, 0.01);
  BoardPatterns patterns;
  for (std::size_t i = 0; i < count; ++i) {
    const double x = place(random) - (board % 2 == 0 ? 1 : 0);
    const double y = place(random) - (board / 2 == 0 ? 1 : 0);
    patterns.inputs.push_back({std::hypot(x, y - 1.2) - 1 + noise(random),
                               std::hypot(x - 1.3, y + 1.1) - 1 + noise(random),
                               std::hypot(x + 1.3, y + 1.1) - 1 + noise(random)});
    patterns.targets.push_back({x, y});
  }
  return patterns;
}

std::vector<BoardPatterns> FourBoards() {
  std::mt19937_64 random(3);
  std::vector<BoardPatterns> boards;
  for (int board = 0; board < 4; ++board) boards.push_back(Quarter(board, 150 + 70 * board, random));
  return boards;
}

BoardPatterns Union(const std::vector<BoardPatterns>& boards) {
  BoardPatterns all;
  for (const BoardPatterns& each : boards) {
    all.inputs.insert(all.inputs.end(), each.inputs.begin(), each.inputs.end());
    all.targets.insert(all.targets.end(), each.targets.begin(), each.targets.end());
  }
  return all;
}

nn::BeaconSums SumsOf(const BoardPatterns& patterns, std::span<const double> parameters) {
  nn::BeaconSums sums;
  patterns.Problem().Linearise(parameters, sums.equations);
  sums.patterns = static_cast<double>(patterns.inputs.size());
  return sums;
}

StrategyOptions SecondOrder() { return {.kind = StrategyKind::kLevenbergMarquardt}; }

std::vector<float> StartModel(std::uint64_t seed) {
  const std::string file = nn::EncodeFederatedBeacon(
      {.network = nn::StartBeacon(seed, 2, {-1, -1}, {1, 1}), .second_order = true});
  return parameters::DecodeFlatModel(file)->values;
}

// What a round of these boards adds up to, through the fixed point of the rounds.
class BoardsRound {
 public:
  explicit BoardsRound(std::size_t boards) : boards_(boards), sum_(BeaconPlaces::kSecondOrderElements) {
    sum_.Start(*parameters::FixedPoint::For(1024, static_cast<double>(boards), boards));
  }
  void Add(const nn::BeaconSums& sums) {
    std::vector<float> update(BeaconPlaces::kSecondOrderElements);
    ASSERT_TRUE(nn::PackBeaconSums(sums, std::span(update).subspan(BeaconPlaces::kSums)).ok());
    Add(update);
  }
  void Add(std::span<const float> update) { ASSERT_TRUE(sum_.Add(0, update, 1).ok()); }
  absl::Status Step(Strategy& strategy, std::span<float> model) {
    const auto weight = static_cast<double>(boards_);
    return strategy.Step(*sum_.TakeMean(weight), model, weight);
  }

 private:
  std::size_t boards_;
  Accumulator sum_;
};

void DoRound(Strategy& strategy, const std::vector<BoardPatterns>& boards, std::span<float> model) {
  const nn::BeaconParameters parameters = nn::ParametersAt(model);
  BoardsRound round(boards.size());
  for (const BoardPatterns& each : boards) round.Add(SumsOf(each, parameters));
  ASSERT_TRUE(round.Step(strategy, model).ok());
}

double Distance(const nn::BeaconParameters& a, const nn::BeaconParameters& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += (a[i] - b[i]) * (a[i] - b[i]);
  return std::sqrt(sum);
}

// λmax / (λmin + μ).
double Condition(const nn::BeaconSums& sums, double mu) {
  const Eigen::MatrixXd whole = sums.equations.matrix.selfadjointView<Eigen::Lower>();
  const Eigen::VectorXd values = Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd>(whole).eigenvalues();
  return values.maxCoeff() / (std::max(values.minCoeff(), 0.0) + mu);
}

// From the same best parameters and the same μ, the trial is compared with the one from the normal equations
// of the union. Both are sums in double, in another order, and a step cannot be known better than their last
// bits times the condition of JᵀJ + μI.
TEST(SecondOrderTest, EachStepOfFourBoardsIsTheStepOfTheirUnion) {
  const std::vector<BoardPatterns> boards = FourBoards();
  const BoardPatterns all = Union(boards);
  int steps = 0;
  int within = 0;  // of 1e-9
  double worst = 0;
  double worst_order = 0;  // of central training itself, if it adds its patterns up board by board
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    std::vector<float> model = StartModel(seed);
    const auto strategy = Strategy::Create(SecondOrder(), model.size());
    nn::BeaconParameters best = nn::ParametersAt(model);
    double best_error = std::numeric_limits<double>::infinity();
    double mu = nn::kFirstMu;
    nn::DampedStep damped;
    int accepted = 0;
    int refused = 0;
    for (int round = 0; round < 60; ++round) {
      const nn::BeaconParameters trial = nn::ParametersAt(model);
      const double error = all.Problem().SquaredError(trial);
      if (round > 0) mu *= error < best_error ? nn::kMuDecrease : nn::kMuIncrease;
      if (error < best_error) {
        best = trial;
        best_error = error;
        ++accepted;
      } else {
        ++refused;
      }
      DoRound(*strategy, boards, model);
      const nn::BeaconSums sums = SumsOf(all, best);
      const Eigen::VectorXd* step = damped.Solve(sums.equations, mu);
      ASSERT_NE(step, nullptr);
      nn::BeaconParameters central = best;
      for (std::size_t i = 0; i < central.size(); ++i) central[i] -= (*step)[static_cast<Eigen::Index>(i)];
      nn::BeaconSums added = SumsOf(boards[0], best);
      for (std::size_t b = 1; b < boards.size(); ++b) {
        const nn::BeaconSums more = SumsOf(boards[b], best);
        added.equations.matrix += more.equations.matrix;
        added.equations.gradient += more.equations.gradient;
      }
      const Eigen::VectorXd by_board = *damped.Solve(added.equations, mu);
      double squared = 0;
      for (std::size_t i = 0; i < central.size(); ++i)
        squared += std::pow(central[i] - (best[i] - by_board[static_cast<Eigen::Index>(i)]), 2);
      worst_order = std::max(worst_order, std::sqrt(squared) / Distance(central, best));
      const double apart = Distance(nn::ParametersAt(model), central) / Distance(central, best);
      EXPECT_LE(apart, std::max(1e-9, 0x1p-52 * Condition(sums, mu)))
          << "seed " << seed << ", round " << round << ", mu " << mu;
      worst = std::max(worst, apart);
      within += apart <= 1e-9 ? 1 : 0;
      ++steps;
    }
    EXPECT_GE(accepted, 20) << seed;
    EXPECT_GE(refused, 1) << seed;
    EXPECT_LT(best_error / (2 * static_cast<double>(all.inputs.size())), 1e-3) << seed;
  }
  RecordProperty("worst", fmt::format("{:.2e}", worst));
  EXPECT_GE(within, 9 * steps / 10) << within << " of " << steps << ", worst " << worst;
  RecordProperty("worst_by_order_alone", fmt::format("{:.2e}", worst_order));
  EXPECT_LE(worst, 2 * worst_order);
}

TEST(SecondOrderTest, TheErrorOfManyRoundsIsThatOfCentralTraining) {
  const std::vector<BoardPatterns> boards = FourBoards();
  const BoardPatterns all = Union(boards);
  std::vector<float> model = StartModel(2);
  const nn::BeaconParameters start = nn::ParametersAt(model);
  const auto strategy = Strategy::Create(SecondOrder(), model.size());
  nn::LevenbergMarquardtOptions options;
  options.max_epochs = 5;
  const auto central = nn::MinimiseLevenbergMarquardt(all.Problem(), start, options);
  ASSERT_TRUE(central.ok());
  // An epoch without a failed trial is one round; the first one only measures the start.
  double lowest = std::numeric_limits<double>::infinity();
  for (int round = 0; round < 40; ++round) {
    lowest = std::min(lowest, all.Problem().SquaredError(nn::ParametersAt(model)));
    DoRound(*strategy, boards, model);
  }
  EXPECT_LE(lowest / static_cast<double>(all.Problem().errors()), central->mean_squared_error);
}

TEST(SecondOrderTest, ARestartFromItsStateChangesNothing) {
  const std::vector<BoardPatterns> boards = FourBoards();
  std::vector<float> model = StartModel(1);
  const auto whole = Strategy::Create(SecondOrder(), model.size());
  for (int round = 0; round < 12; ++round) DoRound(*whole, boards, model);
  const auto restarted = Strategy::Create(SecondOrder(), model.size());
  const auto from = whole->state();
  const auto to = restarted->state();
  ASSERT_EQ(from.size(), to.size());
  for (std::size_t i = 0; i < from.size(); ++i) std::ranges::copy(from[i], to[i].begin());
  std::vector<float> other = model;
  for (int round = 0; round < 12; ++round) {
    DoRound(*whole, boards, model);
    DoRound(*restarted, boards, other);
    ASSERT_EQ(model, other);
  }
}

// The layers are what a user of the model gets.
TEST(SecondOrderTest, TheLayersAreNeverATrialThatRaisedTheError) {
  const std::vector<BoardPatterns> boards = FourBoards();
  const BoardPatterns all = Union(boards);
  std::vector<float> model = StartModel(4);
  const auto strategy = Strategy::Create(SecondOrder(), model.size());
  double before = std::numeric_limits<double>::infinity();
  for (int round = 0; round < 40; ++round) {
    DoRound(*strategy, boards, model);
    nn::BeaconParameters layers;
    for (std::size_t i = 0; i < nn::BeaconNetwork::kParameters; ++i)
      layers[i] = model[BeaconPlaces::kLayers + i];
    const double error = all.Problem().SquaredError(layers);
    EXPECT_LE(error, before * (1 + 1e-5)) << round;  // rounded to float
    before = std::min(before, error);
  }
}

class HostileSumsTest : public ::testing::Test {
 protected:
  // Some rounds of honest boards first.
  HostileSumsTest() {
    for (int round = 0; round < 5; ++round) DoRound(*strategy_, boards_, model_);
  }

  // One board of the four sends this instead.
  void DoRoundWith(const nn::BeaconSums& sums) {
    const nn::BeaconParameters parameters = nn::ParametersAt(model_);
    BoardsRound round(boards_.size());
    for (std::size_t i = 1; i < boards_.size(); ++i) round.Add(SumsOf(boards_[i], parameters));
    round.Add(sums);
    ASSERT_TRUE(round.Step(*strategy_, model_).ok());
  }

  std::vector<float> Layers() const {
    return {model_.begin() + BeaconPlaces::kLayers, model_.begin() + BeaconPlaces::kHigh};
  }

  void ExpectTrainingGoesOn() {
    const double before = Union(boards_).Problem().SquaredError(nn::ParametersAt(model_));
    for (int round = 0; round < 30; ++round) DoRound(*strategy_, boards_, model_);
    EXPECT_LT(Union(boards_).Problem().SquaredError(nn::ParametersAt(model_)), before);
  }

  const std::vector<BoardPatterns> boards_ = FourBoards();
  std::vector<float> model_ = StartModel(1);
  const std::unique_ptr<Strategy> strategy_ = Strategy::Create(SecondOrder(), model_.size());
};

TEST_F(HostileSumsTest, ANegativeErrorIsAFailedTrial) {
  const std::vector<float> layers = Layers();
  nn::BeaconSums sums;
  sums.equations.matrix.setZero();
  sums.equations.gradient.setZero();
  sums.equations.squared_error = -1e6;
  sums.patterns = 100;
  DoRoundWith(sums);
  EXPECT_EQ(Layers(), layers);
  ExpectTrainingGoesOn();
}

TEST_F(HostileSumsTest, NoPatternsAreAFailedTrial) {
  const std::vector<float> layers = Layers();
  nn::BeaconSums sums;
  sums.equations.matrix.setZero();
  sums.equations.gradient.setZero();
  sums.patterns = -1e6;
  DoRoundWith(sums);
  EXPECT_EQ(Layers(), layers);
  ExpectTrainingGoesOn();
}

// A matrix that is indefinite for small μ: μ rises until it is not, and the model stays finite.
TEST_F(HostileSumsTest, AMatrixThatIsNotPositiveLeavesTheModelFinite) {
  nn::BeaconSums sums;
  sums.equations.matrix.setConstant(1e9);
  sums.equations.matrix.diagonal().setZero();
  sums.equations.gradient.setConstant(1e9);
  sums.equations.squared_error = 0;
  sums.patterns = 1e9;  // a tiny error per pattern: the best from now on
  DoRoundWith(sums);
  EXPECT_TRUE(std::ranges::all_of(model_, [](float value) { return std::isfinite(value); }));
  for (int round = 0; round < 20; ++round) DoRound(*strategy_, boards_, model_);
  EXPECT_TRUE(std::ranges::all_of(model_, [](float value) { return std::isfinite(value); }));
}

TEST_F(HostileSumsTest, DigitsThatNoBoardHasAreAFailedTrial) {
  const std::vector<float> layers = Layers();
  std::vector<float> combined(model_.size(), 1e6F);
  ASSERT_TRUE(strategy_->Step(combined, model_, 4).ok());
  EXPECT_EQ(Layers(), layers);
  ExpectTrainingGoesOn();
}

TEST(SecondOrderTest, AllBoardsWithoutGradientKeepTheModel) {
  std::vector<float> model = StartModel(1);
  const nn::BeaconParameters start = nn::ParametersAt(model);
  const auto strategy = Strategy::Create(SecondOrder(), model.size());
  nn::BeaconSums nothing;  // a singular JᵀJ
  nothing.equations.matrix.setZero();
  nothing.equations.gradient.setZero();
  nothing.equations.squared_error = 1;
  nothing.patterns = 1;
  for (int i = 0; i < 20; ++i) {
    BoardsRound round(1);
    round.Add(nothing);
    ASSERT_TRUE(round.Step(*strategy, model).ok());
  }
  EXPECT_EQ(Distance(nn::ParametersAt(model), start), 0);
}

TEST(SecondOrderTest, RefusesAnotherModel) {
  const auto strategy = Strategy::Create(SecondOrder(), 3);
  std::vector<float> model(3);
  EXPECT_EQ(strategy->Step(std::vector<float>(3), model, 2).code(), absl::StatusCode::kFailedPrecondition);
}

}  // namespace
}  // namespace tributary::learning
