#include "fpga/model/beacon_model.h"

#include <cmath>
#include <random>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tributary::fpga {
namespace {

using testing::ElementsAre;

nn::BeaconNetwork RandomBeacon(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> uniform(-1.0, 1.0);
  nn::BeaconNetwork network;
  for (double& p : network.parameters) p = uniform(random);
  for (std::size_t i = nn::BeaconNetwork::kLayer1; i < nn::BeaconNetwork::kParameters; ++i)
    network.parameters[i] *= 0.3;
  return network;
}

TEST(BeaconModelTest, StaysCloseToTheExactNetwork) {
  const nn::BeaconNetwork network = RandomBeacon(1);
  const BeaconModel model(network);
  std::mt19937_64 random(2);
  std::uniform_real_distribution<double> uniform(-0.99, 0.99);
  // Half words of 2^-10 at input, table and output, half words of 2^-8 in 4 + 11 weights; slopes and weights
  // as above: below 4 · (2^-11 + 2^-9) · 10 · 0.3 + 11 · 2^-9 + 2^-11 in the worst case, a quarter of it in
  // practice.
  for (int i = 0; i < 200; ++i) {
    const nn::BeaconInputs inputs = {uniform(random), uniform(random), uniform(random)};
    const nn::BeaconOutputs exact = nn::BeaconForward(network.parameters, inputs);
    for (std::size_t o = 0; o < 2; ++o) {
      if (std::abs(exact[o]) < 0.99) {
        EXPECT_NEAR(model.Infer(inputs)[o], exact[o], 0.05);
      }
    }
  }
}

TEST(BeaconModelTest, InputsBeyondTheWordSaturate) {
  EXPECT_THAT(BeaconModel::Quantise({1.0, -1.0, 0.25}), ElementsAre(1023, -1024, 256));
  EXPECT_THAT(BeaconModel::Quantise({1e300, -1e300, 0.00048}), ElementsAre(1023, -1024, 0));
}

TEST(BeaconModelTest, OutputsAndWeightsSaturate) {
  nn::BeaconNetwork network;
  network.parameters[nn::BeaconNetwork::kLayer1 + 10] = 3.0;     // bias of output 0
  network.parameters[nn::BeaconNetwork::kLayer1 + 21] = -500.0;  // bias of output 1, beyond Q8.8
  const BeaconModel model(network);
  EXPECT_EQ(model.weights()[61], -32767);
  EXPECT_THAT(model.Run({0, 0, 0}), ElementsAre(1023, -1024));
}

TEST(BeaconModelTest, OneNeuronByHand) {
  nn::BeaconNetwork network;
  network.parameters[0] = 0.5;                             // neuron 0 from input 0
  network.parameters[3] = 0.25;                            // its bias
  network.parameters[nn::BeaconNetwork::kLayer1] = -0.75;  // output 0 from neuron 0
  // Input 512: sum 0.5, tanh 0.46212 → 473; -0.75 · 473 = -354.75 → -355.
  EXPECT_THAT(BeaconModel(network).Run({512, 0, 0}), ElementsAre(-355, 0));
}

TEST(TansigTest, TableIsWithinHalfAWordOfTheFunction) {
  const auto table = TansigTable();
  for (std::size_t i = 0; i < table.size(); ++i) {
    const double x = (static_cast<double>(i) - 8192.0) / 2048.0;
    const double exact = 1024.0 * std::tanh(x);
    EXPECT_LE(std::abs(table[i] - exact), std::abs(exact) > 1023.0 ? 1.0 : 0.5) << x;
  }
}

TEST(TansigTest, TableIsOddAndRising) {
  const auto table = TansigTable();
  EXPECT_EQ(table[8192], 0);
  for (std::size_t i = 1; i < table.size(); ++i) {
    EXPECT_LE(table[i - 1], table[i]);
    EXPECT_EQ(table[i], -table[kTansigWords - i]);
  }
}

}  // namespace
}  // namespace tributary::fpga
