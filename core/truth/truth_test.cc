#include "core/truth/truth.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <optional>
#include <set>
#include <string>

#include "core/radio/burst_generator.h"
#include "core/radio/emitter.h"
#include "core/radio/modulation.h"

namespace tributary::truth {
namespace {

const estimate::SlotLength kSlot = *estimate::SlotLength::FromMs(20);

std::string_view ClassAt(const Truth& truth, std::uint32_t subject, estimate::Epoch epoch) {
  const TrueState state = truth(subject, epoch, kSlot);
  const auto* const name = std::get_if<std::string_view>(&state);
  return name == nullptr ? "no class" : *name;
}

TEST(TruthTest, AnEmitterSendsWhatItsSourceMakesOfTheSameSeed) {
  const auto truth = OpenTruth("generator:seed=7,rate_hz=25,frames_per_emission=3");
  ASSERT_TRUE(truth.ok()) << truth.status();
  const radio::EmitterOptions options{.seed = 7, .frames_per_emission = 3};
  std::set<std::string_view> seen;
  for (estimate::Epoch epoch = 0; epoch < 200; epoch += 2) {
    // A frame every second slot.
    const auto expected = radio::ModulationName(radio::EmissionAt(options, 1, epoch / 2).modulation);
    EXPECT_EQ(ClassAt(*truth, 1, epoch), expected) << epoch;
    seen.insert(expected);
  }
  EXPECT_GT(seen.size(), 5u);
}

TEST(TruthTest, SubjectsBeyondTheCountAreTheSameEmittersAgain) {
  const auto truth = OpenTruth("generator:seed=1,rate_hz=50,count=4");
  ASSERT_TRUE(truth.ok()) << truth.status();
  for (estimate::Epoch epoch = 0; epoch < 100'000; epoch += 997) {
    EXPECT_EQ(ClassAt(*truth, 4, epoch), ClassAt(*truth, 8, epoch));
    EXPECT_EQ(ClassAt(*truth, 1, epoch), ClassAt(*truth, 5, epoch));
  }
}

TEST(TruthTest, ARateThatDoesNotFitTheSlotsIsNoTruth) {
  const auto truth = OpenTruth("generator:seed=1,rate_hz=33");
  ASSERT_TRUE(truth.ok()) << truth.status();
  EXPECT_EQ(ClassAt(*truth, 1, 10), "no class");
}

TEST(TruthTest, ABurstIsTheOneThatTheSourceMakes) {
  const auto bursts = SimulatedBursts("generator:seed=7,rate_hz=25,count=3,lowest_snr_db=4,highest_snr_db=4");
  ASSERT_TRUE(bursts.ok()) << bursts.status();
  const std::optional<SimulatedBurst> burst = (*bursts)(5, 40, kSlot, 2);
  ASSERT_TRUE(burst.has_value());
  const radio::EmitterOptions options{.seed = 7, .lowest_snr_db = 4, .highest_snr_db = 4};
  const radio::Emission emission = radio::EmissionAt(options, 2, 20);
  EXPECT_EQ(burst->modulation, radio::ModulationName(emission.modulation));
  EXPECT_EQ(burst->snr_db, 4);
  std::array<float, radio::kBurstFeatures> expected;
  radio::BurstGenerator::Create(radio::ReferenceDomain(), 7)
      ->Generate(emission.modulation, 4, radio::BurstIndex(2, 20), 2, expected);
  EXPECT_EQ(burst->samples, expected);
  EXPECT_NE((*bursts)(5, 40, kSlot, 1)->samples, expected) << "another receiver hears another channel";
  EXPECT_FALSE((*bursts)(5, 41, kSlot, 2).has_value()) << "a frame every second slot";
}

TEST(TruthTest, BurstsFollowTheKeysOfTheirSource) {
  const auto samples = [](const std::string& keys) {
    const auto bursts = SimulatedBursts("generator:seed=1,rate_hz=50" + keys);
    EXPECT_TRUE(bursts.ok()) << keys << ": " << bursts.status();
    return (*bursts)(1, 100, kSlot, 0)->samples;
  };
  const auto plain = samples("");
  EXPECT_EQ(samples(",domain=reference,snr=true"), plain);
  EXPECT_NE(samples(",domain=foreign"), plain);
  EXPECT_NE(samples(",snr=label"), plain);
  EXPECT_EQ(samples(",snr=label,domain=foreign"), samples(",domain=foreign,snr=label"));
  EXPECT_FALSE(*SimulatedBursts("room:seed=1")) << "a room has none";
  for (const char* wrong :
       {",snr=loud", ",domain=", ",lowest_snr_db=nan", ",highest_snr_db=1e9", ",lowest_snr_db=20"}) {
    EXPECT_TRUE(
        absl::IsInvalidArgument(SimulatedBursts("generator:seed=1,rate_hz=50" + std::string(wrong)).status()))
        << wrong;
  }
}

TEST(TruthTest, AWrongDescriptionNamesWhatIsExpected) {
  const auto fault = [](const std::string& text) { return std::string(OpenTruth(text).status().message()); };
  EXPECT_THAT(fault("room:sed=1"), ::testing::HasSubstr("expected room:seed=N"));
  EXPECT_THAT(fault("generator:seed=1"), ::testing::HasSubstr("needs rate_hz"));
  EXPECT_THAT(fault("generator:seed=1,rate_hz=nan"), ::testing::HasSubstr("expected generator:seed=N"));
  EXPECT_THAT(fault("generator:seed=1,rate_hz=50,frames_per_emission=0"),
              ::testing::HasSubstr("is not known"));
  EXPECT_THAT(fault("room"), ::testing::HasSubstr("room:seed=N"));
  EXPECT_THAT(fault("generator"), ::testing::HasSubstr("generator:seed=N"));
  EXPECT_THAT(std::string(Simulation("walk.csv").status().message()), ::testing::HasSubstr("room:seed=N"));
}

}  // namespace
}  // namespace tributary::truth
