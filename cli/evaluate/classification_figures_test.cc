#include "cli/evaluate/classification_figures.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace tributary::cli {
namespace {

// `probability` for one class, the rest spread evenly over the others.
std::vector<float> Belief(std::size_t believed, double probability) {
  std::vector<float> log_probabilities(10, static_cast<float>(std::log((1 - probability) / 9)));
  log_probabilities[believed] = static_cast<float>(std::log(probability));
  return log_probabilities;
}

TEST(ClassificationFiguresTest, AreZeroWithoutADecision) {
  const ClassificationFigures figures;
  EXPECT_EQ(figures.accuracy(), 0);
  EXPECT_EQ(figures.accuracy(3), 0);
  EXPECT_EQ(figures.nll(), 0);
  EXPECT_EQ(figures.expected_calibration_error(), 0);
  EXPECT_FALSE(figures.has_probabilities());
}

TEST(ClassificationFiguresTest, CountDecisionsByClass) {
  ClassificationFigures figures;
  figures.Add(1, 1);
  figures.Add(2, 1);
  figures.Add(Belief(4, 0.9), 4);
  EXPECT_EQ(figures.count(), 3u);
  EXPECT_DOUBLE_EQ(figures.accuracy(), 2.0 / 3);
  EXPECT_DOUBLE_EQ(figures.accuracy(1), 0.5);
  EXPECT_EQ(figures.confusion()[1][2], 1u);
  EXPECT_NEAR(figures.nll(), -std::log(0.9), 1e-6);
}

TEST(ClassificationFiguresTest, MeasureTheDistanceBetweenConfidenceAndAccuracy) {
  ClassificationFigures figures;
  for (int i = 0; i < 10; ++i) figures.Add(Belief(5, 0.8), i < 8 ? 5 : 6);  // right as often as it says
  EXPECT_NEAR(figures.expected_calibration_error(), 0, 1e-6);
  for (int i = 0; i < 10; ++i) figures.Add(Belief(5, 0.99), i < 5 ? 5 : 6);  // far less often
  EXPECT_NEAR(figures.expected_calibration_error(), 0.49 / 2, 1e-6);
}

TEST(ClassificationFiguresTest, AddUp) {
  ClassificationFigures a, b, both;
  a.Add(Belief(1, 0.6), 1);
  b.Add(Belief(2, 0.7), 3);
  for (ClassificationFigures* figures : {&a, &both}) figures->Add(b);
  both.Add(Belief(1, 0.6), 1);
  EXPECT_EQ(a.count(), 2u);
  EXPECT_DOUBLE_EQ(a.nll(), both.nll());
  EXPECT_DOUBLE_EQ(a.expected_calibration_error(), both.expected_calibration_error());
  EXPECT_EQ(a.confusion(), both.confusion());
}

TEST(MajorityTest, IsTheMostFrequentDecisionAndTheFirstOfEquals) {
  EXPECT_EQ(MajorityOf(std::vector<std::size_t>{7, 3, 7, 3, 3}), 3u);
  EXPECT_EQ(MajorityOf(std::vector<std::size_t>{9, 2}), 2u);
}

}  // namespace
}  // namespace tributary::cli
