#include "core/nn/beacon/federated_beacon.h"

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "core/parameters/flat_model.h"
#include "core/parameters/safetensors.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tributary::nn {
namespace {

BeaconSums SomeSums(std::uint64_t seed, double magnitude) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> any(-magnitude, magnitude);
  BeaconSums sums;
  sums.equations.matrix.setZero();
  for (Eigen::Index row = 0; row < sums.equations.matrix.rows(); ++row) {
    for (Eigen::Index column = 0; column < row; ++column) sums.equations.matrix(row, column) = any(random);
    sums.equations.matrix(row, row) = std::fabs(any(random));
    sums.equations.gradient[row] = any(random);
  }
  sums.equations.squared_error = std::fabs(any(random));
  sums.patterns = 1000;
  return sums;
}

TEST(BeaconSumsTest, AreReadBackToTheLastDigit) {
  for (const double magnitude : {1e-6, 1.0, 1e5, 4e9}) {
    const BeaconSums sums = SomeSums(1, magnitude);
    std::vector<float> digits(kBeaconSumElements);
    ASSERT_TRUE(PackBeaconSums(sums, digits).ok());
    const auto read = UnpackBeaconSums(digits, 1);
    ASSERT_TRUE(read.ok()) << read.status();
    // Half of the last digit, and one rounding to double.
    const double tolerance = 0x1p-45 + magnitude * 0x1p-53;
    EXPECT_LE((read->equations.matrix - sums.equations.matrix).cwiseAbs().maxCoeff(), tolerance);
    EXPECT_LE((read->equations.gradient - sums.equations.gradient).cwiseAbs().maxCoeff(), tolerance);
    EXPECT_NEAR(read->equations.squared_error, sums.equations.squared_error, tolerance);
    EXPECT_EQ(read->patterns, 1000);
  }
}

TEST(BeaconSumsTest, DigitsOfManyBoardsAddUp) {
  std::vector<float> total(kBeaconSumElements);
  double expected = 0;
  for (std::size_t board = 0; board < kMaxBeaconBoards; ++board) {
    const BeaconSums sums = SomeSums(board, 4e6);
    expected += sums.equations.squared_error;
    std::vector<float> digits(kBeaconSumElements);
    ASSERT_TRUE(PackBeaconSums(sums, digits).ok());
    for (std::size_t i = 0; i < digits.size(); ++i) total[i] += digits[i];
  }
  const auto read = UnpackBeaconSums(total, kMaxBeaconBoards);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_NEAR(read->equations.squared_error, expected, 1e-12 * expected);
  EXPECT_EQ(read->patterns, 1000.0 * kMaxBeaconBoards);
}

TEST(BeaconSumsTest, RefusesWhatItCannotSay) {
  std::vector<float> digits(kBeaconSumElements);
  for (const double bad :
       {std::numeric_limits<double>::quiet_NaN(), -std::numeric_limits<double>::infinity(), 1e10}) {
    BeaconSums sums = SomeSums(1, 1);
    sums.equations.gradient[3] = bad;
    EXPECT_EQ(PackBeaconSums(sums, digits).code(), absl::StatusCode::kOutOfRange) << bad;
  }
  ASSERT_TRUE(PackBeaconSums(SomeSums(1, 1), digits).ok());
  std::vector<float> large = digits;
  large[5] = 1025;
  EXPECT_EQ(UnpackBeaconSums(large, 1).status().code(), absl::StatusCode::kOutOfRange);
  large[5] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(UnpackBeaconSums(large, 1).status().code(), absl::StatusCode::kOutOfRange);
  EXPECT_FALSE(UnpackBeaconSums(digits, 0).ok());
  EXPECT_FALSE(UnpackBeaconSums(std::vector<float>(kBeaconSumElements), 1).ok());
}

FederatedBeacon SomeBeacon(bool second_order) {
  FederatedBeacon beacon{.network = StartBeacon(7, 12, {0, 0}, {8, 6}), .second_order = second_order};
  beacon.network.anchors = {1, 4, 6};
  beacon.network.tag = 2;
  return beacon;
}

TEST(FederatedBeaconTest, IsReadBackWithItsPlacesInTheFlatVector) {
  for (const bool second_order : {false, true}) {
    const FederatedBeacon beacon = SomeBeacon(second_order);
    const std::string file = EncodeFederatedBeacon(beacon);
    const auto read = FederatedBeaconFromTensors(*parameters::DecodeSafetensors(file));
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_EQ(read->second_order, second_order);
    EXPECT_EQ(read->network.anchors, beacon.network.anchors);
    EXPECT_EQ(read->network.tag, 2);
    const std::vector<float> flat = parameters::DecodeFlatModel(file)->values;
    ASSERT_EQ(flat.size(),
              second_order ? BeaconPlaces::kSecondOrderElements : BeaconPlaces::kFirstOrderElements);
    const BeaconParameters parameters = ParametersAt(flat);
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      const double exact = beacon.network.parameters[i];
      EXPECT_EQ(flat[BeaconPlaces::kLayers + i], static_cast<float>(exact));
      EXPECT_NEAR(parameters[i], exact, std::fabs(exact) * (second_order ? 0x1p-48 : 0x1p-24));
    }
  }
}

TEST(FederatedBeaconTest, ParametersInTheFlatVectorHave48Bits) {
  std::vector<float> flat(BeaconPlaces::kSecondOrderElements);
  const BeaconParameters exact = StartBeacon(9, 12, {0, 0}, {8, 6}).parameters;
  SetParametersAt(exact, flat);
  const BeaconParameters read = ParametersAt(flat);
  for (std::size_t i = 0; i < read.size(); ++i)
    EXPECT_NEAR(read[i], exact[i], std::fabs(exact[i]) * 0x1p-48) << i;
}

TEST(FederatedBeaconTest, RefusesOtherTensors) {
  const auto refused = [](const parameters::TensorSet& set) { return !FederatedBeaconFromTensors(set).ok(); };
  const parameters::TensorSet whole = *parameters::DecodeSafetensors(EncodeFederatedBeacon(SomeBeacon(true)));
  EXPECT_FALSE(refused(whole));
  for (const auto& [name, tensor] : whole.tensors) {
    parameters::TensorSet set = whole;
    set.tensors.erase(name);
    EXPECT_TRUE(refused(set)) << name;
  }
  parameters::TensorSet set = whole;
  set.tensors["another"] = whole.tensors.at("output.scale");
  EXPECT_TRUE(refused(set));
  set = whole;
  set.metadata["kind"] = "beacon";
  EXPECT_TRUE(refused(set));
}

}  // namespace
}  // namespace tributary::nn
