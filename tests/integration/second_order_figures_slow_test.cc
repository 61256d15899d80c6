// Rounds of second-order training and of FedAvg to the same error, on recorded ranges. No daemons: what the
// boards send and what the strategy makes of it.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <optional>
#include <string>
#include <vector>

#include "aggregator/learning/rules/strategy.h"
#include "core/nn/beacon/beacon_problem.h"
#include "core/nn/beacon/federated_beacon.h"
#include "core/nn/optimise/levenberg_marquardt.h"
#include "core/parameters/flat_model.h"
#include "core/parameters/safetensors.h"
#include "core/recordings/beacon_recording.h"

namespace tributary::testing::second_order_figures {
namespace {

using nn::BeaconPlaces;

constexpr int kMaxRounds = 300;
constexpr std::size_t kBoards = 4;
constexpr std::array<int, 3> kAnchors = {1, 4, 6};

struct Hall {
  std::vector<nn::BeaconProblem> boards;
  std::vector<double> samples;
  nn::BeaconProblem all;
  nn::BeaconProblem held_out;
  double scale_m;

  double HeldOutM(std::span<const double> parameters) const {
    return scale_m * std::sqrt(held_out.SquaredError(parameters) / static_cast<double>(held_out.errors()));
  }
};

enum class Split { kTime, kPlace };

// Trains on the first half of the recording's time; the second is held out. Split by time: a quarter of that
// half each. By place: each board has a quadrant of the hall, bordered by the medians of x and y.
Hall HallOf(const recordings::BeaconRecording& recording, Split split, const nn::BeaconNetwork& network) {
  const auto examples = recording.Examples(kAnchors, 0, {.start = 0.0, .end = 0.5});
  const auto median = [&](std::size_t axis) {
    std::vector<double> values;
    for (const nn::BeaconExample& each : examples) values.push_back(each.position_m[axis]);
    std::ranges::sort(values);
    return values[values.size() / 2];
  };
  const nn::BeaconOutputs border = {median(0), median(1)};
  std::vector<nn::BeaconPatterns> parts(kBoards);
  nn::BeaconPatterns all;
  for (std::size_t i = 0; i < examples.size(); ++i) {
    const std::size_t board = split == Split::kTime ? i * kBoards / examples.size()
                                                    : (examples[i].position_m[0] < border[0] ? 0U : 1U) +
                                                          (examples[i].position_m[1] < border[1] ? 0U : 2U);
    nn::AddPattern(network, examples[i], parts[board]);
    nn::AddPattern(network, examples[i], all);
  }
  nn::BeaconPatterns rest;
  for (const nn::BeaconExample& each : recording.Examples(kAnchors, 0, {.start = 0.5, .end = 1.0})) {
    nn::AddPattern(network, each, rest);
  }
  Hall hall{.boards = {},
            .samples = {},
            .all = {all.inputs, all.targets},
            .held_out = {rest.inputs, rest.targets},
            .scale_m = network.output_scale_m};
  for (const nn::BeaconPatterns& part : parts) {
    hall.boards.emplace_back(part.inputs, part.targets);
    hall.samples.push_back(static_cast<double>(part.inputs.size()));
  }
  return hall;
}

nn::BeaconParameters LayersOf(std::span<const float> model) {
  return nn::ParametersAt(model.first(BeaconPlaces::kFirstOrderElements));
}

// Held-out error after each round.
std::vector<double> SecondOrder(const Hall& hall, const nn::BeaconNetwork& start) {
  std::vector<float> model =
      parameters::DecodeFlatModel(nn::EncodeFederatedBeacon({.network = start, .second_order = true}))
          ->values;
  const auto strategy =
      learning::Strategy::Create({.kind = learning::StrategyKind::kLevenbergMarquardt}, model.size());
  std::vector<double> errors;
  std::vector<float> digits(nn::kBeaconSumElements);
  for (int round = 0; round < kMaxRounds; ++round) {
    const nn::BeaconParameters parameters = nn::ParametersAt(model);
    std::vector<float> mean(model.size());
    for (std::size_t board = 0; board < kBoards; ++board) {
      nn::BeaconSums sums;
      hall.boards[board].Linearise(parameters, sums.equations);
      sums.patterns = hall.samples[board];
      EXPECT_TRUE(nn::PackBeaconSums(sums, digits).ok());
      for (std::size_t i = 0; i < digits.size(); ++i) mean[BeaconPlaces::kSums + i] += digits[i] / kBoards;
    }
    EXPECT_TRUE(strategy->Step(mean, model, kBoards).ok());
    errors.push_back(hall.HeldOutM(LayersOf(model)));
  }
  return errors;
}

std::vector<double> FedAvg(const Hall& hall, const nn::BeaconNetwork& start, int epochs) {
  nn::BeaconParameters global = start.parameters;
  nn::LevenbergMarquardtOptions options;
  options.max_epochs = epochs;
  std::vector<double> errors;
  for (int round = 0; round < kMaxRounds; ++round) {
    nn::BeaconParameters sum = {};
    double total = 0;
    for (std::size_t board = 0; board < kBoards; ++board) {
      const auto trained = nn::MinimiseLevenbergMarquardt(hall.boards[board], global, options);
      for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += hall.samples[board] * trained->parameters[i];
      total += hall.samples[board];
    }
    for (std::size_t i = 0; i < sum.size(); ++i) global[i] = sum[i] / total;
    errors.push_back(hall.HeldOutM(global));
  }
  return errors;
}

// From 1; none within kMaxRounds: nullopt.
std::optional<std::size_t> RoundsTo(const std::vector<double>& errors, double target) {
  const auto found = std::ranges::find_if(errors, [target](double error) { return error <= target; });
  if (found == errors.end()) return std::nullopt;
  return static_cast<std::size_t>(found - errors.begin()) + 1;
}

std::string Text(const std::vector<double>& errors, double target) {
  const auto rounds = RoundsTo(errors, target);
  return fmt::format("{} (best {:.3f} m)", rounds ? std::to_string(*rounds) : "none",
                     std::ranges::min(errors));
}

TEST(SecondOrderFiguresTest, ReachesTheErrorOfCentralTrainingInFewerRoundsThanFedAvg) {
  const char* configured = std::getenv("TRIBUTARY_DATA_DIR");
  const std::string folder =
      std::string(configured != nullptr ? configured : TRIBUTARY_SOURCE_DIR "/../shared/data") + "/uwb/lias/";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "set TRIBUTARY_DATA_DIR";
  const auto recording =
      recordings::BeaconRecording::Load({.ranges = folder + "UWB_dynamic_exp_fast.csv",
                                         .truth = folder + "motion_capture_dynamic_exp_fast.csv",
                                         .survey = ""});
  ASSERT_TRUE(recording.ok()) << recording.status();
  for (const Split split : {Split::kTime, Split::kPlace}) {
    for (std::uint64_t seed = 1; seed <= 5; ++seed) {
      const nn::BeaconNetwork start = recordings::StartBeaconIn(recording->survey, seed);
      const Hall hall = HallOf(*recording, split, start);
      nn::LevenbergMarquardtOptions central;
      central.max_epochs = 100;
      central.validation = [&hall](std::span<const double> parameters) { return hall.HeldOutM(parameters); };
      central.max_failures = 1000;
      const double best_m = nn::MinimiseLevenbergMarquardt(hall.all, start.parameters, central)->validation;
      const double target_m = 1.05 * best_m;
      const std::vector<double> second = SecondOrder(hall, start);
      std::string line = fmt::format("{} seed {}: central {:.3f} m, start {:.2f} m; second order {}",
                                     split == Split::kTime ? "time" : "place", seed, best_m,
                                     hall.HeldOutM(start.parameters), Text(second, target_m));
      for (const int epochs : {1, 5, 20}) {
        const std::vector<double> fedavg = FedAvg(hall, start, epochs);
        line += fmt::format("; fedavg of {} epochs {}", epochs, Text(fedavg, target_m));
      }
      std::cout << line << "\n";
      EXPECT_TRUE(RoundsTo(second, target_m)) << line;
    }
  }
}

}  // namespace
}  // namespace tributary::testing::second_order_figures
