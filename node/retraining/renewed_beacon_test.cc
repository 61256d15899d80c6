#include "node/retraining/renewed_beacon.h"

#include <gtest/gtest.h>

#include <cmath>
#include <memory>

#include "fpga/model/beacon_model.h"
#include "node/accelerator/create.h"
#include "tests/support/any_beacon.h"

namespace tributary::retraining {
namespace {

class RenewedBeaconTest : public ::testing::Test {
 protected:
  void Open(fpga::NumberFormat format) {
    auto accelerator =
        accelerator::CreateAccelerator({.format = format, .max_batch = 4}, *in_force_->content().network);
    ASSERT_TRUE(accelerator.ok()) << accelerator.status();
    auto workload = CreateRenewedBeacon(*std::move(accelerator), in_force_);
    ASSERT_TRUE(workload.ok()) << workload.status();
    workload_ = *std::move(workload);
  }
  estimate::TupleFrame Run() {
    source::SensorFrame frame;
    frame.subjects = {3};
    frame.features = {4.5F, 5.5F, 6.0F};
    estimate::TupleFrame tuples;
    EXPECT_TRUE(workload_->Run(frame, tuples).ok());
    EXPECT_EQ(tuples.means.size(), 2u);
    return tuples;
  }
  // What the network says of the same ranges.
  static nn::BeaconOutputs Position(const nn::BeaconNetwork& network) {
    return nn::PositionOf(
        network, nn::BeaconForward(network.parameters, nn::NormaliseRanges(network, {4.5, 5.5, 6.0})));
  }

  nn::BeaconNetwork network_ = testing::AnyBeacon();
  std::shared_ptr<BeaconInForce> in_force_ = std::make_shared<BeaconInForce>(network_);
  std::unique_ptr<workload::Workload> workload_;
};

TEST_F(RenewedBeaconTest, TheNextFrameHasTheNewNetworkAndItsUncertainty) {
  Open(fpga::NumberFormat::kFloat);
  const estimate::TupleFrame before = Run();
  EXPECT_NEAR(before.means[0], Position(network_)[0], 1e-4);
  nn::BeaconNetwork other = network_;
  for (double& weight : other.parameters) weight = -weight / 2;
  other.residual_deviation_m = 0.3;
  in_force_->Set(other, 1);
  const estimate::TupleFrame after = Run();
  EXPECT_NEAR(after.means[0], Position(other)[0], 1e-4);
  EXPECT_NEAR(after.cholesky[0], nn::BeaconCholesky(other, nn::NormaliseRanges(other, {4.5, 5.5, 6.0}))[0],
              1e-5);
  in_force_->SetScale(3);
  const estimate::TupleFrame wide = Run();
  EXPECT_EQ(wide.means, after.means);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_FLOAT_EQ(wide.cholesky[i], 3 * after.cholesky[i]);
}

TEST_F(RenewedBeaconTest, AnIntegerBoardsWeightsAreReadBack) {
  Open(fpga::NumberFormat::kInt16);
  for (const double weight : in_force_->content().network->parameters) {
    EXPECT_EQ(weight, std::round(256 * weight) / 256);
  }
}

TEST_F(RenewedBeaconTest, APanelThatOpensAgainHasWhatIsInForce) {
  Open(fpga::NumberFormat::kInt16);
  nn::BeaconNetwork other = *in_force_->content().network;
  for (double& weight : other.parameters) weight = -weight;
  in_force_->Set(other, 2);
  const estimate::TupleFrame before = Run();
  Open(fpga::NumberFormat::kInt16);
  EXPECT_EQ(in_force_->content().network->parameters, other.parameters);
  const estimate::TupleFrame after = Run();
  EXPECT_EQ(after.means, before.means);
  EXPECT_EQ(after.cholesky, before.cholesky);
}

TEST_F(RenewedBeaconTest, WeightsThatAreNoNumbersFailTheFrameAndNotTheNext) {
  Open(fpga::NumberFormat::kFloat);
  const estimate::TupleFrame before = Run();
  nn::BeaconNetwork broken = network_;
  broken.parameters[3] = std::nan("");
  in_force_->Set(broken, 1);
  source::SensorFrame frame;
  frame.subjects = {3};
  frame.features = {4.5F, 5.5F, 6.0F};
  estimate::TupleFrame tuples;
  EXPECT_EQ(workload_->Run(frame, tuples).code(), absl::StatusCode::kInvalidArgument);
  in_force_->Set(network_, 1);
  EXPECT_EQ(Run().means, before.means);
}

}  // namespace
}  // namespace tributary::retraining
