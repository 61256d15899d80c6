#include <cmath>
#include <limits>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "node/accelerator/create.h"
#include "node/workload/workload.h"

namespace tributary::workload {
namespace {

using testing::ElementsAre;

nn::BeaconNetwork Network() {
  nn::BeaconNetwork network;
  for (std::size_t i = 0; i < network.parameters.size(); ++i) {
    network.parameters[i] = 0.3 * std::sin(static_cast<double>(i));
  }
  network.input_offset_m = {4, 4, 4};
  network.input_gain_per_m = {0.25, 0.25, 0.25};
  network.output_scale_m = 4;
  network.residual_deviation_m = 0.1;
  network.parameter_factor.assign(62 * 62, 0.01);
  return network;
}

std::unique_ptr<Workload> Make() {
  return *CreateBeacon(
      *accelerator::CreateAccelerator({.format = fpga::NumberFormat::kFloat, .max_batch = 1}, Network()),
      Network());
}

TEST(BeaconWorkloadTest, GivesPositionAndCovarianceOfEachSubject) {
  const source::SensorFrame frame{
      .epoch = 9, .captured_unix_ns = 77, .subjects = {5, 6}, .features = {1, 2, 3, 4, 5, 6}};
  estimate::TupleFrame tuples;
  ASSERT_TRUE(Make()->Run(frame, tuples).ok());
  EXPECT_EQ(tuples.epoch, 9);
  EXPECT_EQ(tuples.captured_unix_ns, 77);
  EXPECT_THAT(tuples.subjects, ElementsAre(5, 6));
  const nn::BeaconInputs inputs = nn::NormaliseRanges(Network(), {4, 5, 6});
  const nn::BeaconOutputs position =
      nn::PositionOf(Network(), nn::BeaconForward(Network().parameters, inputs));
  EXPECT_FLOAT_EQ(tuples.means[2], static_cast<float>(position[0]));
  EXPECT_FLOAT_EQ(tuples.means[3], static_cast<float>(position[1]));
  const auto cholesky = nn::BeaconCholesky(Network(), inputs);
  for (std::size_t i = 0; i < 3; ++i)
    EXPECT_FLOAT_EQ(tuples.cholesky[3 + i], static_cast<float>(cholesky[i]));
}

TEST(BeaconWorkloadTest, LeavesOutAndCountsRangesThatAreNotFinite) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const source::SensorFrame frame{.subjects = {5, 6}, .features = {1, nan, 3, 4, 5, 6}};
  estimate::TupleFrame tuples;
  const auto workload = Make();
  ASSERT_TRUE(workload->Run(frame, tuples).ok());
  EXPECT_THAT(tuples.subjects, ElementsAre(6));
  EXPECT_EQ(workload->unusable_tuples(), 1);
}

TEST(BeaconWorkloadTest, RefusesRangesThatDoNotFitTheSubjects) {
  const source::SensorFrame frame{.subjects = {5, 6}, .features = {1, 2, 3}};
  estimate::TupleFrame tuples;
  EXPECT_EQ(Make()->Run(frame, tuples).code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace tributary::workload
