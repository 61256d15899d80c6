#include "cli/train/modulation_retraining.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "cli/model/model_source.h"
#include "cli/train/burst_set.h"
#include "core/nn/modulation/modulation_fixture.h"
#include "core/radio/modulation.h"

namespace tributary::cli {
namespace {

using ::testing::HasSubstr;

nn::ModulationNetwork ShippedNetwork() {
  const auto model = LoadModulationModel(TRIBUTARY_SOURCE_DIR "/models/modulation.safetensors");
  EXPECT_TRUE(model.ok()) << model.status();
  return model->network;
}

recordings::LabelledBursts ForeignBursts(std::size_t per_modulation, std::uint64_t seed) {
  const auto set =
      BurstSet::Create(radio::ForeignDomain(), radio::SnrDefinition::kTrue, seed, BurstPurpose::kTraining);
  EXPECT_TRUE(set.ok()) << set.status();
  return set->DrawOfEach(per_modulation);
}

// The progress of each epoch.
using History = std::vector<ModulationRetrainingProgress>;

absl::StatusOr<nn::ModulationNetwork> Retrain(const nn::ModulationNetwork& network,
                                              const recordings::LabelledBursts& bursts,
                                              const ModulationRetrainingOptions& options, History& history) {
  return RetrainModulation(network, bursts, options, [&](const ModulationRetrainingProgress& progress) {
    history.push_back(progress);
  });
}

TEST(ModulationRetrainingTest, ImprovesOnAnotherRadioBeyondWhatItWasGiven) {
  const nn::ModulationNetwork shipped = ShippedNetwork();
  History history;
  const auto retrained =
      Retrain(shipped, ForeignBursts(100, 1), {.epochs = 12, .learning_rate = 1e-3}, history);
  ASSERT_TRUE(retrained.ok()) << retrained.status();
  ASSERT_GE(history.size(), 2u);
  EXPECT_EQ(history.front().epoch, 0u);

  // With no epoch, a retraining of it judges a network on the held-out fifth: these bursts nobody has seen.
  const auto nll = [](const nn::ModulationNetwork& network) {
    History judged;
    EXPECT_TRUE(Retrain(network, ForeignBursts(1'000, 2), {.epochs = 0}, judged).ok());
    return judged.front().held_out_nll;
  };
  EXPECT_LT(nll(*retrained), nll(shipped));
}

TEST(ModulationRetrainingTest, KeepsTheNetworkIfNoEpochIsBetter) {
  const nn::ModulationNetwork shipped = ShippedNetwork();
  History history;
  // A rate that destroys what was learnt.
  const auto retrained =
      Retrain(shipped, ForeignBursts(20, 3), {.epochs = 50, .patience = 3, .learning_rate = 1.0}, history);
  ASSERT_TRUE(retrained.ok()) << retrained.status();
  EXPECT_EQ(retrained->parameters, shipped.parameters);
  EXPECT_EQ(history.size(), 1u + 3);  // before the first epoch, and the patience
}

TEST(ModulationRetrainingTest, EqualSeedsGiveEqualNetworks) {
  const nn::ModulationNetwork shipped = ShippedNetwork();
  History history;
  const auto parameters = [&](std::uint64_t seed) {
    return Retrain(shipped, ForeignBursts(20, 4), {.epochs = 2, .learning_rate = 1e-4, .seed = seed}, history)
        ->parameters;
  };
  EXPECT_EQ(parameters(1), parameters(1));
  EXPECT_NE(parameters(1), parameters(2));
}

TEST(ModulationRetrainingTest, ActivationRangesOnlyWiden) {
  const nn::ModulationNetwork shipped = ShippedNetwork();
  History history;
  const auto retrained = Retrain(shipped, ForeignBursts(10, 5), {.epochs = 1}, history);
  ASSERT_TRUE(retrained.ok()) << retrained.status();
  for (std::size_t i = 0; i < shipped.activation_range.size(); ++i) {
    EXPECT_GE(retrained->activation_range[i], shipped.activation_range[i]);
  }
}

TEST(ModulationRetrainingTest, RefusesAModulationThatIsRareOrMissing) {
  recordings::LabelledBursts bursts = ForeignBursts(5, 6);
  bursts.classes.back() = 0;  // of WBFM four are left
  History history;
  const auto retrained =
      Retrain(nn::RandomModulationNetwork(nn::ModulationArchitectures()[1]), bursts, {}, history);
  EXPECT_EQ(retrained.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(retrained.status().message()), HasSubstr("WBFM has 4 bursts"));
  EXPECT_EQ(Retrain(ShippedNetwork(), {}, {}, history).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(history.empty());
}

}  // namespace
}  // namespace tributary::cli
