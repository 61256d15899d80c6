#include "cli/watch/class_judgement.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace tributary::cli {
namespace {

class ClassJudgementTest : public ::testing::Test {
 protected:
  // An estimate of `subject` that holds `best` of three classes for likeliest.
  void Say(std::size_t best, std::size_t truth, std::uint32_t subject = 1) {
    std::vector<float> logs(3, std::log(0.1f));
    logs[best] = std::log(0.8f);
    judgement_.Add(subject, logs, truth);
  }
  void Say(std::size_t times, std::size_t best, std::size_t truth, std::uint32_t subject) {
    for (std::size_t i = 0; i < times; ++i) Say(best, truth, subject);
  }

  ClassJudgement judgement_;
};

TEST_F(ClassJudgementTest, CountsTheLikeliestClassAndTheLossOfTheTrueOne) {
  Say(0, 0);
  Say(1, 0);
  const ClassFigures figures = judgement_.figures();
  EXPECT_EQ(figures.judged, 2u);
  EXPECT_DOUBLE_EQ(figures.accuracy, 0.5);
  EXPECT_NEAR(figures.nll, -(std::log(0.8) + std::log(0.1)) / 2, 1e-6);
}

TEST_F(ClassJudgementTest, TenEstimatesVoteAndTheMajorityWins) {
  Say(4, 1, 0, 1);
  Say(5, 0, 0, 1);
  EXPECT_EQ(judgement_.figures().votes, 0u);
  Say(0, 0);
  EXPECT_EQ(judgement_.figures().votes, 1u);
  EXPECT_DOUBLE_EQ(judgement_.figures().voted_accuracy, 1);
}

TEST_F(ClassJudgementTest, ATieIsNotWon) {
  Say(5, 1, 0, 1);
  Say(5, 0, 0, 1);
  EXPECT_EQ(judgement_.figures().votes, 1u);
  EXPECT_DOUBLE_EQ(judgement_.figures().voted_accuracy, 0);
}

TEST_F(ClassJudgementTest, AVoteIsAboutOneTruthOnly) {
  Say(9, 0, 0, 1);
  Say(1, 1);
  EXPECT_EQ(judgement_.figures().votes, 0u);
  Say(9, 1, 1, 1);
  EXPECT_EQ(judgement_.figures().votes, 1u);
}

TEST_F(ClassJudgementTest, SubjectsVoteApart) {
  Say(9, 0, 0, 1);
  Say(9, 0, 0, 2);
  EXPECT_EQ(judgement_.figures().votes, 0u);
}

TEST_F(ClassJudgementTest, AnImpossibleTruthKeepsTheMeanFinite) {
  judgement_.Add(1, std::vector<float>{0, -std::numeric_limits<float>::infinity()}, 1);
  judgement_.Add(1, std::vector<float>{0, std::numeric_limits<float>::infinity()}, 1);
  judgement_.Add(1, std::vector<float>{0, std::numeric_limits<float>::quiet_NaN()}, 1);
  EXPECT_DOUBLE_EQ(judgement_.figures().nll, 100);
}

TEST_F(ClassJudgementTest, KeepsVotesOfABoundedNumberOfSubjects) {
  const auto most = static_cast<std::uint32_t>(ClassJudgement::kMaxVoters);
  for (std::uint32_t subject = 0; subject < most + 1; ++subject) Say(10, 0, 0, subject);
  EXPECT_EQ(judgement_.figures().votes, most);
  EXPECT_EQ(judgement_.figures().judged, 10u * (most + 1));
}

}  // namespace
}  // namespace tributary::cli
