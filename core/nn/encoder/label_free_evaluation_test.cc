#include "core/nn/encoder/label_free_evaluation.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "core/nn/encoder/strong_augmenter.h"
#include "core/nn/kernel/random_stream.h"

namespace tributary::nn {
namespace {

constexpr std::size_t kJudgedSide = 12;

SelfSupervisedOptions JudgedOptions() {
  SelfSupervisedOptions options = FreshOptions(SelfSupervisedMethod::kSimClr);
  options.encoder.side = kJudgedSide;
  options.encoder.channels = {8, 16};
  options.encoder.grid = 1;
  options.projection = 16;
  return options;
}

// Bars at any angle and place.
std::vector<std::uint8_t> Bars(std::size_t count) {
  std::vector<std::uint8_t> pixels;
  RandomStream random(3);
  for (std::size_t n = 0; n < count; ++n) {
    const double x = random.Normal(), y = random.Normal(), at = 2 * random.Normal();
    for (std::size_t i = 0; i < kJudgedSide * kJudgedSide; ++i) {
      const double across = x * (static_cast<double>(i % kJudgedSide) - 5.5) +
                            y * (static_cast<double>(i / kJudgedSide) - 5.5) - at;
      pixels.push_back(static_cast<std::uint8_t>(std::abs(across) < 1.2 ? 220 : 20));
    }
  }
  return pixels;
}

TEST(LabelFreeEvaluationTest, TrainingRaisesTheRetrieval) {
  const std::vector<std::uint8_t> images = Bars(256);
  const auto trainer =
      *SelfSupervisedTrainer::Create(JudgedOptions(), CreateStrongAugmenter({.side = kJudgedSide}));
  trainer->CalibrateStatistics(images);
  const auto untrained = EvaluateWithoutLabels(*trainer, images);
  ASSERT_TRUE(untrained.ok()) << untrained.status();
  const std::span<const std::uint8_t> all(images);
  const std::size_t batch = 32 * kJudgedSide * kJudgedSide;
  for (std::size_t step = 0; step < 200; ++step) trainer->Step(all.subspan(step % 8 * batch, batch));
  trainer->CalibrateStatistics(images);
  const auto trained = EvaluateWithoutLabels(*trainer, images);
  ASSERT_TRUE(trained.ok()) << trained.status();
  EXPECT_GT(trained->retrieval, 1.5 * untrained->retrieval);
  EXPECT_LT(trained->alignment, untrained->alignment);
}

TEST(LabelFreeEvaluationTest, FiguresAreWithinTheirRanges) {
  const auto trainer = *SelfSupervisedTrainer::Create(JudgedOptions());
  const std::vector<std::uint8_t> images = Bars(64);
  trainer->CalibrateStatistics(images);
  const auto figures = EvaluateWithoutLabels(*trainer, images);
  ASSERT_TRUE(figures.ok()) << figures.status();
  EXPECT_GE(figures->retrieval, 0);
  EXPECT_LE(figures->retrieval, 1);
  EXPECT_GE(figures->alignment, 0);
  EXPECT_LE(figures->alignment, 4);
  EXPECT_LE(figures->uniformity, 0);
  EXPECT_GE(figures->uniformity, -8);
  EXPECT_GE(figures->rank, 1);
  EXPECT_LE(figures->rank, 16 + 1e-6);
}

// Weights of zero: every image has the same features.
TEST(LabelFreeEvaluationTest, ACollapsedEncoderHasNoRankAndFindsNothing) {
  const auto trainer = *SelfSupervisedTrainer::Create(JudgedOptions());
  std::vector<float> zeros(trainer->parameters().size(), 0.0f);
  ASSERT_TRUE(trainer->SetParameters(zeros).ok());
  const auto figures = EvaluateWithoutLabels(*trainer, Bars(64));
  ASSERT_TRUE(figures.ok()) << figures.status();
  EXPECT_LE(figures->retrieval, 1.0 / 64);
  EXPECT_EQ(figures->rank, 0);
}

TEST(LabelFreeEvaluationTest, NeedsTwoImages) {
  const auto trainer = *SelfSupervisedTrainer::Create(JudgedOptions());
  EXPECT_FALSE(EvaluateWithoutLabels(*trainer, Bars(1)).ok());
}

}  // namespace
}  // namespace tributary::nn
