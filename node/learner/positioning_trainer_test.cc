#include "node/learner/positioning_trainer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "core/learning/client_settings.h"
#include "core/nn/kernel/parameter_layout.h"
#include "core/nn/positioning/positioning_inference.h"
#include "core/runtime/file.h"
#include "core/scene/room_examples.h"

namespace tributary::learner {
namespace {

using ::testing::HasSubstr;

// The panel hangs where nobody said: no model can know it.
PanelPoints PointsOfRoom(std::size_t count, std::uint64_t users) {
  scene::RoomConditions conditions;
  conditions.mounting[static_cast<std::size_t>(scene::Wall::kSouth)] = {.shift = {0.3, 0.2}, .turn_deg = 3};
  const scene::RoomExamples room{users, conditions};
  PanelPoints points;
  points.features.resize(count * nn::PositioningNetwork::kInputs);
  for (std::size_t i = 0; i < count; ++i) {
    room.Sense(i, scene::Wall::kSouth,
               std::span(points.features)
                   .subspan(i * nn::PositioningNetwork::kInputs)
                   .first<nn::PositioningNetwork::kInputs>());
    const scene::RoomPosition nominal = scene::ToPanelFrame(scene::Wall::kSouth, room.User(i));
    points.positions.push_back(static_cast<float>(nominal.x));
    points.positions.push_back(static_cast<float>(nominal.y));
  }
  return points;
}

struct Judged {
  double error_m = 0, nees = 0;
};

Judged Judge(const nn::PositioningNetwork& network, const PanelPoints& points) {
  nn::PositioningInference inference(network, points.count());
  std::vector<float> outputs(points.count() * nn::kGaussianOutputs);
  inference.Run(points.features, points.count(), outputs);
  Judged judged;
  for (std::size_t i = 0; i < points.count(); ++i) {
    const auto [mean, factor] =
        nn::PositionFromOutputs(network, std::span(outputs).subspan(i * nn::kGaussianOutputs, 5));
    const double x = points.positions[2 * i] - mean[0], y = points.positions[2 * i + 1] - mean[1];
    const double first = x / factor[0], second = (y - factor[1] * first) / factor[2];
    judged.error_m += std::hypot(x, y) / static_cast<double>(points.count());
    judged.nees += (first * first + second * second) / static_cast<double>(points.count());
  }
  return judged;
}

class PositioningTrainerTest : public ::testing::Test {
 protected:
  PositioningTrainerTest() {
    const auto file = runtime::ReadFile(TRIBUTARY_SOURCE_DIR "/models/positioning.safetensors");
    Offer(nn::PositioningTensors(*nn::DecodePositioning(*file)));
    *task_.train.mutable_settings() = learning::DefaultClientSettings();
    v1::ClientSettings& settings = *task_.train.mutable_settings();
    settings.set_workload("positioning");
    settings.set_local_steps(150);
    settings.set_batch(64);
    settings.set_learning_rate(0.002);  // 0.0005 at this batch
    task_.round = 1;
  }

  void Offer(parameters::TensorSet model) {
    model_ = std::move(model);
    outline_ = ModelOutline(model_);
    global_ = *outline_.Values(model_);
  }

  absl::Status Round(PositioningTrainer& trainer) {
    const absl::Status planned = trainer.Plan(task_, model_).status();
    if (!planned.ok()) return planned;
    update_.assign(global_.size(), std::numeric_limits<float>::quiet_NaN());
    return trainer.Train(task_, global_, withdrawn_.get_token(), update_, metrics_);
  }

  // The aggregator with one node: adds the update to the model.
  void Commit() {
    for (std::size_t i = 0; i < global_.size(); ++i) global_[i] += update_[i];
    Offer(outline_.Model(global_));
    ++task_.round;
  }

  wire::TrainTask task_;
  parameters::TensorSet model_;
  ModelOutline outline_;
  std::vector<float> global_, update_;
  v1::UpdateMetrics metrics_;
  std::stop_source withdrawn_;
};

TEST_F(PositioningTrainerTest, RoundsLearnHowThePanelHangsAndHowSureItMayBe) {
  const PanelPoints others = PointsOfRoom(300, 2);
  const Judged before = Judge(*nn::PositioningFromTensors(model_), others);
  PositioningTrainer trainer(PointsOfRoom(300, 1), "south", 0.2);
  EXPECT_EQ(trainer.sample_count(), 240u);
  double first_loss = 0;
  for (int round = 0; round < 4; ++round) {
    ASSERT_TRUE(Round(trainer).ok());
    if (round == 0) first_loss = metrics_.loss();
    Commit();
  }
  const auto network = nn::PositioningFromTensors(model_);
  ASSERT_TRUE(network.ok()) << network.status();
  const Judged after = Judge(*network, others);
  EXPECT_LT(after.error_m, 0.75 * before.error_m);  // 0.39 to 0.57 in five draws
  EXPECT_GT(before.nees, 20);
  EXPECT_LT(after.nees, 8);
  EXPECT_LT(metrics_.loss(), first_loss);
}

TEST_F(PositioningTrainerTest, ARoundHasTheSameBitsAgainAndOthersOnAnotherNode) {
  task_.train.mutable_settings()->set_local_steps(3);
  PositioningTrainer trainer(PointsOfRoom(40, 1), "south", 0.2);
  ASSERT_TRUE(Round(trainer).ok());
  const std::vector<float> first = update_;
  PositioningTrainer restarted(PointsOfRoom(40, 1), "south", 0.2), other(PointsOfRoom(40, 1), "north", 0.2);
  ASSERT_TRUE(Round(restarted).ok());
  EXPECT_EQ(update_, first);
  ASSERT_TRUE(Round(other).ok());
  EXPECT_NE(update_, first);
}

TEST_F(PositioningTrainerTest, ACovarianceScaleThatNoNetworkMayHaveIsFittedAnew) {
  task_.train.mutable_settings()->set_local_steps(3);
  parameters::TensorSet noisy = model_;
  noisy.tensors["calibration.covariance_scale"] =
      parameters::FloatTensor(std::vector<std::uint64_t>{1}, std::vector<float>{-2});
  Offer(noisy);
  ASSERT_FALSE(nn::PositioningFromTensors(model_).ok());
  PositioningTrainer trainer(PointsOfRoom(40, 1), "south", 0.2);
  ASSERT_TRUE(Round(trainer).ok());
  Commit();
  EXPECT_TRUE(nn::PositioningFromTensors(model_).ok());
}

TEST_F(PositioningTrainerTest, WhatCannotBeTrainedIsSaid) {
  PositioningTrainer trainer(PointsOfRoom(20, 1), "south", 0), empty({}, "south", 0.2);
  EXPECT_EQ(Round(empty).code(), absl::StatusCode::kFailedPrecondition);
  withdrawn_.request_stop();
  EXPECT_EQ(Round(trainer).code(), absl::StatusCode::kCancelled);
  withdrawn_ = {};
  ASSERT_TRUE(trainer.Plan(task_, model_).ok());
  global_[0] = std::numeric_limits<float>::infinity();
  EXPECT_EQ(trainer.Train(task_, global_, {}, update_, metrics_).code(), absl::StatusCode::kInvalidArgument);
  model_.metadata["kind"] = "modulation";
  EXPECT_THAT(std::string(trainer.Plan(task_, model_).status().message()),
              HasSubstr("not a positioning model"));
}

}  // namespace
}  // namespace tributary::learner
