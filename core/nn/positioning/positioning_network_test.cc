#include "core/nn/positioning/positioning_network.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <limits>
#include <sstream>
#include <string>

#include "core/nn/kernel/random_values_fixture.h"
#include "core/nn/positioning/positioning_inference.h"
#include "core/nn/positioning/positioning_trainer.h"
#include "core/parameters/safetensors.h"

namespace tributary::nn {
namespace {

using ::testing::HasSubstr;

PositioningNetwork Example() {
  PositioningNetwork network;
  PositioningTrainer({.batch = 2, .steps = 1}).Export(network);
  network.input_mean = RandomValues(PositioningNetwork::kInputs, 1);
  network.input_inverse_deviation = RandomValues(PositioningNetwork::kInputs, 2);
  network.covariance_scale = 0.75f;
  network.activation_range = {1, 2, 3, 4, 5, 6};
  network.name = "example";
  network.version = "7";
  network.training_set = "none";
  return network;
}

parameters::TensorSet TensorsOf(const PositioningNetwork& network) {
  return *parameters::DecodeSafetensors(EncodePositioning(network));
}

void ExpectRefused(const parameters::TensorSet& set, const std::string& why) {
  const auto network = DecodePositioning(parameters::EncodeSafetensors(set));
  ASSERT_FALSE(network.ok());
  EXPECT_EQ(network.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(network.status().message()), HasSubstr(why));
}

TEST(PositioningFileTest, ReadsWhatItWrote) {
  const PositioningNetwork before = Example();
  const auto after = DecodePositioning(EncodePositioning(before));
  ASSERT_TRUE(after.ok()) << after.status();
  EXPECT_EQ(after->input_mean, before.input_mean);
  EXPECT_EQ(after->input_inverse_deviation, before.input_inverse_deviation);
  EXPECT_EQ(after->weights, before.weights);
  EXPECT_EQ(after->batch_norm_scale, before.batch_norm_scale);
  EXPECT_EQ(after->batch_norm_shift, before.batch_norm_shift);
  EXPECT_EQ(after->covariance_scale, before.covariance_scale);
  EXPECT_EQ(after->activation_range, before.activation_range);
  EXPECT_EQ(after->name, "example");
  EXPECT_EQ(after->version, "7");
  EXPECT_EQ(after->training_set, "none");
  EXPECT_EQ(after->sha256.size(), 64u);
}

TEST(PositioningFileTest, IdentityFollowsTheParametersNotTheName) {
  const auto identity = [](const PositioningNetwork& network) {
    return DecodePositioning(EncodePositioning(network))->sha256;
  };
  PositioningNetwork network = Example();
  const std::string before = identity(network);
  network.name = "another";
  EXPECT_EQ(identity(network), before);
  network.covariance_scale = 0.5f;
  EXPECT_NE(identity(network), before);
}

TEST(PositioningFileTest, RefusesAnotherConvention) {
  for (const auto& [key, value] : TensorsOf(Example()).metadata) {
    if (key == "name" || key == "version" || key == "training_set") continue;
    parameters::TensorSet set = TensorsOf(Example());
    set.metadata[key] = "something else";
    ExpectRefused(set, key);
    set.metadata.erase(key);
    ExpectRefused(set, key);
  }
}

TEST(PositioningFileTest, RefusesMissingMisshapenAndNonFiniteTensors) {
  for (const auto& [name, tensor] : TensorsOf(Example()).tensors) {
    parameters::TensorSet set = TensorsOf(Example());
    set.tensors.erase(name);
    ExpectRefused(set, name);
    set = TensorsOf(Example());
    set.tensors[name].shape.push_back(1);
    ExpectRefused(set, name);
  }
  PositioningNetwork network = Example();
  network.weights[1][5] = std::numeric_limits<float>::quiet_NaN();
  ExpectRefused(TensorsOf(network), "not finite at element 5");
  network = Example();
  network.covariance_scale = 0;
  ExpectRefused(TensorsOf(network), "covariance_scale is not positive");
}

PositioningNetwork Shipped(const std::string& name) {
  std::ifstream stream(TRIBUTARY_SOURCE_DIR "/models/" + name, std::ios::binary);
  std::stringstream file;
  file << stream.rdbuf();
  const auto network = DecodePositioning(file.str());
  EXPECT_TRUE(network.ok()) << network.status();
  return network.ok() ? *network : PositioningNetwork();
}

TEST(PositioningFileTest, TheShippedModelIsReadableAndCalibrated) {
  for (const char* name : {"positioning.safetensors", "positioning-ideal-room.safetensors"}) {
    const PositioningNetwork network = Shipped(name);
    EXPECT_GT(network.covariance_scale, 0.1f);
    EXPECT_LT(network.covariance_scale, 1.5f);
    for (const float range : network.activation_range) EXPECT_GT(range, 0);
  }
}

// The older file aligns the phase as it was trained to.
TEST(PositioningFileTest, SaysHowThePhaseIsAligned) {
  EXPECT_EQ(Shipped("positioning.safetensors").alignment, PhaseAlignment::kPlaneWave);
  EXPECT_EQ(Shipped("positioning-ideal-room.safetensors").alignment, PhaseAlignment::kFirstAntenna);
  PositioningNetwork network = Example();
  for (const PhaseAlignment alignment : {PhaseAlignment::kFirstAntenna, PhaseAlignment::kPlaneWave}) {
    network.alignment = alignment;
    EXPECT_EQ(DecodePositioning(EncodePositioning(network))->alignment, alignment);
  }
}

}  // namespace
}  // namespace tributary::nn
