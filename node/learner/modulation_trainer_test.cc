#include "node/learner/modulation_trainer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "core/learning/client_settings.h"
#include "core/nn/kernel/parameter_layout.h"
#include "core/nn/modulation/modulation_evaluation.h"
#include "core/nn/modulation/modulation_fixture.h"

namespace tributary::learner {
namespace {

using ::testing::HasSubstr;

recordings::LabelledBursts Tones(std::size_t count, std::uint64_t seed) {
  recordings::LabelledBursts bursts;
  bursts.bursts.resize(count * nn::kModulationInput.size());
  bursts.classes.resize(count);
  nn::DrawTones(seed, bursts.bursts, bursts.classes);
  return bursts;
}

class ModulationTrainerTest : public ::testing::Test {
 protected:
  ModulationTrainerTest() {
    Offer(nn::ModulationTensors(nn::RandomModulationNetwork(*nn::FindModulationArchitecture("compact"))));
    *task_.train.mutable_settings() = learning::DefaultClientSettings();
    v1::ClientSettings& settings = *task_.train.mutable_settings();
    settings.set_workload("modulation");
    settings.set_local_steps(40);
    settings.set_batch(32);
    settings.set_learning_rate(0.04);  // 0.005 at this batch
    task_.round = 1;
  }

  // The model of the next round.
  void Offer(parameters::TensorSet model) {
    model_ = std::move(model);
    schema_.clear();
    for (const auto& [name, tensor] : model_.tensors) schema_.push_back({name, tensor.shape});
    outline_ = ModelOutline(model_);
    global_ = *outline_.Values(model_);
  }

  absl::Status Round(ModulationTrainer& trainer) {
    const absl::Status planned = trainer.Plan(task_, model_).status();
    if (!planned.ok()) return planned;
    update_.assign(global_.size(), std::numeric_limits<float>::quiet_NaN());
    metrics_.Clear();
    return trainer.Train(task_, global_, withdrawn_.get_token(), update_, metrics_);
  }

  // The aggregator with one node: adds the update to the model.
  void Commit() {
    for (std::size_t i = 0; i < global_.size(); ++i) global_[i] += update_[i];
    Offer(outline_.Model(global_));
    ++task_.round;
  }

  float& At(const std::string& tensor) { return global_[nn::ParameterLayout(schema_).Range(tensor).offset]; }

  wire::TrainTask task_;
  parameters::TensorSet model_;
  ModelOutline outline_;
  std::vector<parameters::TensorShape> schema_;
  std::vector<float> global_, update_;
  v1::UpdateMetrics metrics_;
  std::stop_source withdrawn_;
};

TEST_F(ModulationTrainerTest, RoundsMakeANetworkThatKnowsBurstsItHasNotSeen) {
  ModulationTrainer trainer(Tones(600, 1), "south", 0.2);
  EXPECT_EQ(trainer.sample_count(), 480u);
  ASSERT_TRUE(Round(trainer).ok());
  const double at_first = metrics_.held_out_accuracy(), loss_at_first = metrics_.loss();
  for (int round = 0; round < 4; ++round) {
    Commit();
    ASSERT_TRUE(Round(trainer).ok());
  }
  EXPECT_LT(at_first, 0.3);
  EXPECT_GT(metrics_.held_out_accuracy(), 0.8);
  EXPECT_LT(metrics_.loss(), 0.5 * loss_at_first);
  Commit();
  const auto network = nn::ModulationFromTensors(model_);
  ASSERT_TRUE(network.ok()) << network.status();
  const recordings::LabelledBursts others = Tones(300, 2);
  const nn::ModulationScore score = nn::ScoreModulation(*network, others.bursts, others.classes);
  EXPECT_GT(score.accuracy, 0.8);
  // The temperature that travelled is about the one that fits.
  nn::ModulationNetwork fitted = *network;
  fitted.temperature = nn::ModulationTemperature(*network, others.bursts, others.classes);
  EXPECT_LT(score.nll, nn::ScoreModulation(fitted, others.bursts, others.classes).nll + 0.1);
}

TEST_F(ModulationTrainerTest, ARoundHasTheSameBitsAgainAndOthersOnAnotherNode) {
  ModulationTrainer trainer(Tones(100, 1), "south", 0.2);
  ASSERT_TRUE(Round(trainer).ok());
  const std::vector<float> first = update_;
  ASSERT_TRUE(Round(trainer).ok());
  EXPECT_EQ(update_, first);
  ModulationTrainer restarted(Tones(100, 1), "south", 0.2);
  ASSERT_TRUE(Round(restarted).ok());
  EXPECT_EQ(update_, first);
  ModulationTrainer other(Tones(100, 1), "north", 0.2);
  ASSERT_TRUE(Round(other).ok());
  EXPECT_NE(update_, first);
}

TEST_F(ModulationTrainerTest, WithoutHeldOutBurstsTheTemperatureStays) {
  ModulationTrainer trainer(Tones(100, 1), "south", 0);
  ASSERT_TRUE(Round(trainer).ok());
  EXPECT_FALSE(metrics_.has_held_out_accuracy());
  EXPECT_EQ(update_[nn::ParameterLayout(schema_).Range("calibration.temperature").offset], 0.0F);
}

// As differential privacy can leave it.
TEST_F(ModulationTrainerTest, ANoisyCalibrationIsFittedAnew) {
  At("calibration.temperature") = -3;
  At("calibration.activation_range") = -1;
  Offer(outline_.Model(global_));
  ASSERT_FALSE(nn::ModulationFromTensors(model_).ok());
  ModulationTrainer trainer(Tones(100, 1), "south", 0.2);
  ASSERT_TRUE(Round(trainer).ok());
  Commit();
  EXPECT_TRUE(nn::ModulationFromTensors(model_).ok());
}

// An aggregator may send anything; ranges in bytes must not become ranges without elements.
TEST_F(ModulationTrainerTest, ACalibrationOfAnotherTypeIsRefused) {
  parameters::Tensor& ranges = model_.tensors["calibration.activation_range"];
  ranges.type = parameters::ElementType::kInt8;
  ranges.bytes.resize(ranges.bytes.size() / sizeof(float));
  ModulationTrainer trainer(Tones(100, 1), "south", 0.2);
  EXPECT_THAT(std::string(trainer.Plan(task_, model_).status().message()), HasSubstr("activation_range"));
}

TEST_F(ModulationTrainerTest, WhatCannotBeTrainedIsSaid) {
  ModulationTrainer trainer(Tones(100, 1), "south", 0.2);
  ModulationTrainer empty({}, "south", 0.2);
  EXPECT_EQ(Round(empty).code(), absl::StatusCode::kFailedPrecondition);

  task_.train.mutable_settings()->set_learning_rate(100);
  task_.train.mutable_settings()->set_local_steps(200);
  const absl::Status diverged = Round(trainer);
  EXPECT_TRUE(diverged.ok() || diverged.code() == absl::StatusCode::kOutOfRange) << diverged;
  EXPECT_TRUE(std::ranges::none_of(update_, [&](float value) { return diverged.ok() && value != value; }));

  withdrawn_.request_stop();
  EXPECT_EQ(Round(trainer).code(), absl::StatusCode::kCancelled);

  global_[0] = std::numeric_limits<float>::infinity();
  ASSERT_TRUE(trainer.Plan(task_, model_).ok());
  EXPECT_EQ(trainer.Train(task_, global_, {}, update_, metrics_).code(), absl::StatusCode::kInvalidArgument);

  model_.metadata["kind"] = "positioning";
  EXPECT_THAT(std::string(trainer.Plan(task_, model_).status().message()),
              HasSubstr("not a modulation model"));
}

}  // namespace
}  // namespace tributary::learner
