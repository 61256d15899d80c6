#include "core/learning/round_verdict.h"

#include <gtest/gtest.h>

namespace tributary::learning {
namespace {

v1::Round HealthyRound() {
  v1::Round round;
  round.set_accepted(2);
  round.set_spread(0.98);
  round.set_update_norm(1.5);
  v1::Evaluation& evaluation = *round.mutable_evaluation();
  evaluation.set_spread(0.6);
  evaluation.set_linear_probe(0.5);
  evaluation.set_random_linear_probe(0.4);
  evaluation.set_knn(0.45);
  evaluation.set_random_knn(0.4);
  return round;
}

TEST(RoundVerdictTest, SaysNothingOfAHealthyRound) {
  EXPECT_EQ(VerdictText(HealthyRound()), "");
  EXPECT_FALSE(WorseThanUntrained(HealthyRound().evaluation()));
}

TEST(RoundVerdictTest, SaysNothingOfARoundWithoutUpdates) { EXPECT_EQ(VerdictText(v1::Round()), ""); }

TEST(RoundVerdictTest, SaysThatUpdatesAddedUpToNothing) {
  v1::Round round = HealthyRound();
  round.set_update_norm(0);
  EXPECT_EQ(VerdictText(round), "left the model as it was");
  round.set_failure("1 of 2 nodes answered");
  EXPECT_EQ(VerdictText(round), "") << "the failure says it";
}

TEST(RoundVerdictTest, NamesWhatIsWorseThanUntrained) {
  v1::Round round = HealthyRound();
  round.mutable_evaluation()->set_random_knn(0.451);
  EXPECT_EQ(VerdictText(round), "worse than untrained by the nearest neighbours");
  round.mutable_evaluation()->set_linear_probe(0.399);
  EXPECT_EQ(VerdictText(round), "worse than untrained by probe and neighbours");
  round.mutable_evaluation()->set_knn(0.5);
  EXPECT_EQ(VerdictText(round), "worse than untrained by the linear probe");
  EXPECT_TRUE(WorseThanUntrained(round.evaluation()));
}

TEST(RoundVerdictTest, SeesACollapseOnTheViewsOrOnTheTestImages) {
  v1::Round round = HealthyRound();
  round.set_spread(0.19);
  EXPECT_EQ(VerdictText(round), "collapsed");
  round = HealthyRound();
  round.mutable_evaluation()->set_spread(0.1);
  round.mutable_evaluation()->set_knn(0.1);
  EXPECT_EQ(VerdictText(round), "collapsed; worse than untrained by the nearest neighbours");
}

}  // namespace
}  // namespace tributary::learning
