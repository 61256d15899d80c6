#include "cli/evaluate/fusion_claims.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string_view>
#include <vector>

namespace tributary::cli {
namespace {

// One decision at each ratio and for each way to decide: the class 0, of this probability.
ModulationEvaluation EvaluationOf(double one, double fused) {
  ModulationEvaluation evaluation;
  for (const char* name : {"one", "vote_of_10", "conflation_of_10", "receivers_4", "receivers_8", "pool_8"}) {
    DecisionFigures decision{.name = name, .by_snr = {}};
    const double probability = decision.name == "one" ? one : fused;
    std::vector<float> belief(10, static_cast<float>(std::log((1 - probability) / 9)));
    belief[0] = static_cast<float>(std::log(probability));
    for (ClassificationFigures& figures : decision.by_snr) figures.Add(belief, 0);
    evaluation.push_back(decision);
  }
  return evaluation;
}

const FusionClaim& ClaimNamed(const std::vector<FusionClaim>& claims, std::string_view name) {
  return *std::ranges::find(claims, name, &FusionClaim::name);
}

// A wrong decision of one way to decide, at one ratio.
void AddFault(ModulationEvaluation& evaluation, std::string_view decision, std::size_t snr) {
  std::ranges::find(evaluation, decision, &DecisionFigures::name)->by_snr[snr].Add(1, 0);
}

TEST(FusionClaimsTest, HoldWhereFusionIsBetter) {
  for (const FusionClaim& claim : CheckFusionClaims(EvaluationOf(0.6, 0.8))) {
    EXPECT_TRUE(claim.holds()) << claim.name;
    EXPECT_FALSE(claim.comparisons.empty()) << claim.name;
  }
}

TEST(FusionClaimsTest, MarginOfTheLossIsThatOfTheLogarithms) {
  const auto claims = CheckFusionClaims(EvaluationOf(0.6, 0.8));
  const FusionClaim& claim = ClaimNamed(claims, "conflation_of_8_receivers_loses_less");
  ASSERT_EQ(claim.comparisons.size(), kSnrs);
  EXPECT_NEAR(claim.worst().margin, std::log(0.8 / 0.6), 1e-6);
}

TEST(FusionClaimsTest, FailWhereTheFusedTupleIsLessCertainOfTheTruth) {
  const auto claims = CheckFusionClaims(EvaluationOf(0.8, 0.6));
  EXPECT_FALSE(ClaimNamed(claims, "conflation_of_10_loses_less").holds());
  EXPECT_FALSE(ClaimNamed(claims, "pool_of_8_receivers_loses_less").holds());
}

TEST(FusionClaimsTest, TheVoteIsComparedBetweenMinusTenAndFourDecibels) {
  ModulationEvaluation evaluation = EvaluationOf(0.6, 0.8);
  AddFault(evaluation, "conflation_of_10", 4);   // -12 dB
  AddFault(evaluation, "conflation_of_10", 13);  // 6 dB
  EXPECT_TRUE(ClaimNamed(CheckFusionClaims(evaluation), "conflation_beats_vote").holds());
  AddFault(evaluation, "conflation_of_10", 12);  // 4 dB
  const auto claims = CheckFusionClaims(evaluation);
  const FusionClaim& claim = ClaimNamed(claims, "conflation_beats_vote");
  EXPECT_FALSE(claim.holds());
  EXPECT_EQ(claim.worst().snr_db, 4);
  EXPECT_DOUBLE_EQ(claim.worst().margin, -0.5);
}

TEST(FusionClaimsTest, FourReceiversAreComparedFourDecibelsLower) {
  ModulationEvaluation evaluation = EvaluationOf(0.6, 0.8);
  AddFault(evaluation, "receivers_4", 8);  // -4 dB
  EXPECT_FALSE(
      ClaimNamed(CheckFusionClaims(evaluation), "four_receivers_at_-4_dB_match_one_at_0_dB").holds());
  AddFault(evaluation, "one", 10);  // 0 dB
  EXPECT_TRUE(ClaimNamed(CheckFusionClaims(evaluation), "four_receivers_at_-4_dB_match_one_at_0_dB").holds());
}

}  // namespace
}  // namespace tributary::cli
