#include "node/workload/beacon_board.h"

#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <random>
#include <vector>

#include "fpga/model/beacon_model.h"
#include "node/accelerator/create.h"
#include "node/workload/workload.h"

namespace tributary::workload {
namespace {

class BeaconBoardTest : public ::testing::Test {
 protected:
  BeaconBoardTest() {
    std::uniform_real_distribution<double> uniform(-2, 2);
    for (double& each : network_->parameters) each = std::round(256 * uniform(random_)) / 256;
    network_->input_offset_m = {3, 4, 5};
    network_->input_gain_per_m = {0.3, 0.2, 0.25};
    network_->output_centre_m = {1, -2};
    network_->output_scale_m = 4;
    network_->residual_deviation_m = 0.3;
    network_->parameter_factor.assign(nn::BeaconNetwork::kParameters * nn::BeaconNetwork::kParameters, 0);
    auto accelerator =
        *accelerator::CreateAccelerator({.format = fpga::NumberFormat::kInt16, .max_batch = 16}, *network_);
    board_ = std::make_unique<BeaconBoard>(*accelerator, network_, 1.0 / 256);
    workload_ = *CreateBeacon(std::move(accelerator), network_);
  }

  serial::Word Any() { return std::uniform_int_distribution<serial::Word>(-1024, 1023)(random_); }

  // The board's answers are those of the golden model with these weights.
  void ExpectTheModelOf(const nn::BeaconNetwork& network) {
    const fpga::BeaconModel model(network);
    std::vector<serial::Inputs> inputs(15);
    for (auto& each : inputs) each = {Any(), Any(), Any()};
    std::vector<serial::Outputs> outputs(inputs.size());
    ASSERT_TRUE(board_->Compute(inputs, outputs).ok());
    for (std::size_t i = 0; i < inputs.size(); ++i) EXPECT_EQ(outputs[i], model.Run(inputs[i])) << i;
  }

  // The deviation that the panel's tuple for inputs of zero states.
  double StatedDeviation() {
    source::SensorFrame frame;
    frame.subjects = {1};
    for (const double range_m : nn::RangesOf(*network_, {}))
      frame.features.push_back(static_cast<float>(range_m));
    estimate::TupleFrame tuples;
    EXPECT_TRUE(workload_->Run(frame, tuples).ok());
    EXPECT_EQ(tuples.cholesky.size(), 3u);
    return tuples.cholesky.empty() ? 0 : tuples.cholesky[0];
  }

  std::mt19937_64 random_{1};
  std::shared_ptr<nn::BeaconNetwork> network_ = std::make_shared<nn::BeaconNetwork>();
  std::unique_ptr<BeaconBoard> board_;
  std::unique_ptr<Workload> workload_;  // owns the accelerator
};

TEST_F(BeaconBoardTest, ComputesTheWordsOfTheGoldenModel) {
  for (int i = 0; i < 100; ++i) ExpectTheModelOf(*network_);
}

TEST_F(BeaconBoardTest, TakesTheWeightsOfALayerAndLeavesTheOther) {
  nn::BeaconNetwork changed = *network_;
  std::vector<serial::Word> words(22);
  for (std::size_t i = 0; i < words.size(); ++i) {
    words[i] = Any();
    changed.parameters[nn::BeaconNetwork::kLayer1 + i] = words[i] / 256.0;
  }
  ASSERT_TRUE(board_->SetLayer(2, words).ok());
  ExpectTheModelOf(changed);
  words.assign(40, 77);
  std::fill_n(changed.parameters.begin(), 40, 77 / 256.0);
  ASSERT_TRUE(board_->SetLayer(1, words).ok());
  ExpectTheModelOf(changed);
}

TEST_F(BeaconBoardTest, LearnsAndItsTuplesStateTheNewUncertainty) {
  std::vector<serial::Sample> samples(800);
  std::normal_distribution<double> noise(0, 8);  // 1/1024
  for (serial::Sample& each : samples) {
    each.inputs = {Any() / 2, Any() / 2, Any() / 2};
    const auto noisy = [&](double value) {
      return static_cast<serial::Word>(std::lround(value + noise(random_)));
    };
    each.targets = {noisy(0.5 * each.inputs[0]), noisy(0.3 * each.inputs[1] - 0.2 * each.inputs[2])};
  }
  EXPECT_GE(StatedDeviation(), 0.29);
  const auto done = board_->Retrain(samples);
  ASSERT_TRUE(done.ok()) << done.status();
  EXPECT_TRUE(done->taken);
  EXPECT_LT(done->error_after, 0.02) << "noise of 8/1024, and the grid of weights";
  EXPECT_LT(done->error_after, done->error_before / 4);
  // Without reach beyond: the residual, and what the samples leave open in the weights.
  EXPECT_GE(StatedDeviation(), 4 * done->error_after);
  EXPECT_LT(StatedDeviation(), 5 * done->error_after);
  ExpectTheModelOf(*network_);
}

TEST_F(BeaconBoardTest, KeepsItsWeightsIfSamplesCannotBeUsed) {
  const nn::BeaconNetwork before = *network_;
  EXPECT_EQ(board_->Retrain(std::vector<serial::Sample>(10)).status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(board_->Retrain(std::vector<serial::Sample>(100)).status().code(),
            absl::StatusCode::kInvalidArgument);
  ExpectTheModelOf(before);
}

}  // namespace
}  // namespace tributary::workload
