#include "cli/evaluate/fusion_claims.h"

#include <algorithm>
#include <cstddef>

namespace tributary::cli {
namespace {

// The number of a ratio from SnrDb.
constexpr std::size_t SnrIndex(double snr_db) { return static_cast<std::size_t>((snr_db + 20) / 2); }
static_assert(SnrDb(SnrIndex(-4)) == -4 && SnrDb(SnrIndex(18)) == 18);

// How often a decision is right at a ratio.
double AccuracyOf(const ModulationEvaluation& evaluation, std::string_view decision, std::size_t snr) {
  return FindDecision(evaluation, decision).by_snr[snr].accuracy();
}

FusionComparison MoreAccurate(double snr_db, double value, double reference) {
  return {.snr_db = snr_db, .value = value, .reference = reference, .margin = value - reference};
}

FusionClaim FourReceiversReplaceFourDecibels(const ModulationEvaluation& evaluation) {
  return {.name = "four_receivers_at_-4_dB_match_one_at_0_dB",
          .promise = "Four receivers at -4 dB are right as often as one at 0 dB",
          .unit = "accuracy",
          .comparisons = {MoreAccurate(-4, AccuracyOf(evaluation, "receivers_4", SnrIndex(-4)),
                                       AccuracyOf(evaluation, "one", SnrIndex(0)))}};
}

FusionClaim ConflationBeatsTheVote(const ModulationEvaluation& evaluation) {
  FusionClaim claim{
      .name = "conflation_beats_vote",
      .promise = "The conflation of ten bursts is right more often than their vote, -10 to 4 dB",
      .unit = "accuracy",
      .comparisons = {}};
  for (std::size_t snr = SnrIndex(-10); snr <= SnrIndex(4); ++snr) {
    claim.comparisons.push_back(MoreAccurate(SnrDb(snr), AccuracyOf(evaluation, "conflation_of_10", snr),
                                             AccuracyOf(evaluation, "vote_of_10", snr)));
  }
  return claim;
}

FusionClaim LosesLessThanASingleTuple(const ModulationEvaluation& evaluation, std::string_view decision,
                                      std::string_view name, std::string_view promise) {
  FusionClaim claim{.name = name, .promise = promise, .unit = "nats", .comparisons = {}};
  for (std::size_t snr = 0; snr < kSnrs; ++snr) {
    const double fused = FindDecision(evaluation, decision).by_snr[snr].nll();
    const double single = FindDecision(evaluation, "one").by_snr[snr].nll();
    claim.comparisons.push_back(
        {.snr_db = SnrDb(snr), .value = fused, .reference = single, .margin = single - fused});
  }
  return claim;
}

}  // namespace

bool FusionClaim::holds() const {
  return std::ranges::all_of(comparisons, [](const FusionComparison& each) { return each.margin >= 0; });
}

const FusionComparison& FusionClaim::worst() const {
  return *std::ranges::min_element(comparisons, {}, &FusionComparison::margin);
}

std::vector<FusionClaim> CheckFusionClaims(const ModulationEvaluation& evaluation) {
  return {
      FourReceiversReplaceFourDecibels(evaluation),
      ConflationBeatsTheVote(evaluation),
      LosesLessThanASingleTuple(evaluation, "conflation_of_10", "conflation_of_10_loses_less",
                                "The NLL of ten conflated bursts is below that of one, at every SNR"),
      LosesLessThanASingleTuple(evaluation, "receivers_4", "conflation_of_4_receivers_loses_less",
                                "The NLL of four conflated receivers is below that of one, at every SNR"),
      LosesLessThanASingleTuple(evaluation, "receivers_8", "conflation_of_8_receivers_loses_less",
                                "The NLL of eight conflated receivers is below that of one, at every SNR"),
      LosesLessThanASingleTuple(evaluation, "pool_8", "pool_of_8_receivers_loses_less",
                                "The NLL of eight pooled receivers is below that of one, at every SNR")};
}

}  // namespace tributary::cli
