#include "core/nn/encoder/self_supervised_trainer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/nn/kernel/random_stream.h"
#include "core/parameters/flat_model.h"

namespace tributary::nn {
namespace {

SelfSupervisedOptions Small() {
  SelfSupervisedOptions options;
  options.encoder.side = 12;
  options.encoder.channels = {4, 8};
  options.projection = 16;
  options.bottleneck = 8;
  options.batch = 16;
  options.learning_rate = 0.5;
  return options;
}

// Bars of two directions: two classes to separate.
std::vector<std::uint8_t> Images(std::size_t count, std::size_t side) {
  std::vector<std::uint8_t> pixels(count * side * side);
  RandomStream random(7);
  for (std::size_t n = 0; n < count; ++n) {
    const std::size_t at = 2 + random.Below(side - 4);
    for (std::size_t i = 0; i < side * side; ++i) {
      const bool ink = (n % 2 == 0 ? i / side : i % side) == at;
      pixels[n * side * side + i] = static_cast<std::uint8_t>(ink ? 220 : random.Below(30));
    }
  }
  return pixels;
}

class SelfSupervisedTrainerTest : public ::testing::Test {
 protected:
  static std::unique_ptr<SelfSupervisedTrainer> Make(const SelfSupervisedOptions& options) {
    auto trainer = SelfSupervisedTrainer::Create(options);
    EXPECT_TRUE(trainer.ok()) << trainer.status();
    return *std::move(trainer);
  }
  static std::vector<float> Copy(const SelfSupervisedTrainer& trainer) {
    return {trainer.parameters().begin(), trainer.parameters().end()};
  }
};

TEST_F(SelfSupervisedTrainerTest, LossFallsWithoutCollapseForEveryVariant) {
  using Norm = EncoderNorm;
  for (const auto method :
       {SelfSupervisedMethod::kSimSiam, SelfSupervisedMethod::kByol, SelfSupervisedMethod::kSimClr}) {
    for (const Norm norm : {Norm::kBatch, Norm::kFilterResponse, Norm::kNone}) {
      SCOPED_TRACE(::testing::Message() << static_cast<int>(method) << static_cast<int>(norm));
      SelfSupervisedOptions options = Small();
      options.method = method;
      options.encoder.norm = norm;
      options.encoder.quantised = norm == Norm::kNone;
      if (options.encoder.quantised) options.encoder.activation = EncoderActivation::kHardClip;
      const auto trainer = Make(options);
      const std::vector<std::uint8_t> images = Images(options.batch, options.encoder.side);
      double first = 0, last = 0, spread = 0;
      for (int i = 0; i < 100; ++i) {
        const auto result = trainer->Step(images);
        ASSERT_TRUE(std::isfinite(result.loss));
        (i < 20 ? first : last) += i < 20 || i >= 80 ? result.loss : 0;
        spread = result.spread;
      }
      EXPECT_LT(last, first);
      EXPECT_GT(spread, 0.2);
    }
  }
}

TEST_F(SelfSupervisedTrainerTest, OnlySimClrTrainsAModelWithoutPredictor) {
  SelfSupervisedOptions options = Small();
  options.bottleneck = 0;
  EXPECT_THAT(std::string(SelfSupervisedTrainer::Create(options).status().message()),
              ::testing::HasSubstr("only simclr trains a model without a predictor"));
  options.method = SelfSupervisedMethod::kSimClr;
  const auto trainer = Make(options);
  for (const parameters::TensorShape& tensor : trainer->Schema()) {
    EXPECT_FALSE(tensor.name.starts_with("predictor.")) << tensor.name;
  }
  options.temperature = 0;
  EXPECT_FALSE(SelfSupervisedTrainer::Create(options).ok());
}

// Weight decay alone would move it.
TEST_F(SelfSupervisedTrainerTest, SimClrLeavesAPredictorThatTheModelHasAsItIs) {
  SelfSupervisedOptions options = Small();
  options.method = SelfSupervisedMethod::kSimClr;
  const auto trainer = Make(options);
  const std::vector<float> before = Copy(*trainer);
  trainer->Step(Images(16, 12));
  const ParameterLayout layout(trainer->Schema());
  const ParameterRange predictor = layout.Range("predictor.linear1.weight");
  EXPECT_TRUE(
      std::ranges::equal(predictor.Of(std::span<const float>(before)), predictor.Of(trainer->parameters())));
  EXPECT_NE(before, Copy(*trainer));
}

TEST_F(SelfSupervisedTrainerTest, EqualSeedsGiveEqualBits) {
  const auto a = Make(Small()), b = Make(Small());
  const std::vector<std::uint8_t> images = Images(16, 12);
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(a->Step(images).loss, b->Step(images).loss);
  }
  EXPECT_EQ(Copy(*a), Copy(*b));
}

TEST_F(SelfSupervisedTrainerTest, ARestartedNodeGivesTheSameUpdate) {
  const auto uninterrupted = Make(Small());
  const std::vector<std::uint8_t> images = Images(16, 12);
  for (int i = 0; i < 4; ++i) uninterrupted->Step(images);
  const std::vector<float> global = Copy(*uninterrupted);
  ASSERT_TRUE(uninterrupted->SetParameters(global).ok());
  for (int i = 0; i < 4; ++i) uninterrupted->Step(images);

  const auto restarted = Make(Small());
  ASSERT_TRUE(restarted->SetParameters(global).ok());
  restarted->SeekStep(4);
  for (int i = 0; i < 4; ++i) restarted->Step(images);
  EXPECT_EQ(Copy(*uninterrupted), Copy(*restarted));
}

TEST_F(SelfSupervisedTrainerTest, TensorsSurviveTheRoundTripInFlatOrder) {
  const auto trainer = Make(Small());
  const parameters::TensorSet set = ToTensorSet(trainer->Schema(), trainer->parameters());
  const auto flat = FlatParameters(trainer->Schema(), set);
  ASSERT_TRUE(flat.ok()) << flat.status();
  EXPECT_EQ(*flat, Copy(*trainer));
  std::size_t i = 0;
  for (const auto& [name, tensor] : set.tensors) EXPECT_EQ(name, trainer->Schema()[i++].name);
}

TEST_F(SelfSupervisedTrainerTest, RefusesParametersThatDoNotFit) {
  const auto trainer = Make(Small());
  std::vector<float> parameters = Copy(*trainer);
  parameters[3] = std::nanf("");
  EXPECT_EQ(trainer->SetParameters(parameters).code(), absl::StatusCode::kInvalidArgument);
  parameters.pop_back();
  EXPECT_EQ(trainer->SetParameters(parameters).code(), absl::StatusCode::kInvalidArgument);
  parameters::TensorSet set = ToTensorSet(trainer->Schema(), trainer->parameters());
  set.tensors["extra"] = parameters::FloatTensor({}, std::vector<float>{1});
  EXPECT_FALSE(FlatParameters(trainer->Schema(), set).ok());
}

TEST_F(SelfSupervisedTrainerTest, RefusesOptionsThatTheHardwareCannotCompute) {
  SelfSupervisedOptions options = Small();
  options.encoder.quantised = true;
  EXPECT_EQ(SelfSupervisedTrainer::Create(options).status().code(), absl::StatusCode::kInvalidArgument);
}

// Two equal views have a score of zero.
TEST_F(SelfSupervisedTrainerTest, NothingIsNovelInEqualViews) {
  class Copy : public Augmenter {
   public:
    void MakeViews(std::span<const std::uint8_t> images, std::uint64_t /*key*/,
                   std::span<std::uint8_t> views) override {
      std::ranges::copy(images, views.begin());
    }
  };
  const auto copying = *SelfSupervisedTrainer::Create(Small(), std::make_unique<Copy>());
  const auto augmenting = Make(Small());
  const std::vector<std::uint8_t> images = Images(16, 12);
  (void)copying->Step(images);
  (void)augmenting->Step(images);
  ASSERT_EQ(copying->novelty().size(), 16);
  for (const float novelty : copying->novelty()) EXPECT_NEAR(novelty, 0.0f, 1e-6f);
  EXPECT_GT(std::ranges::max(augmenting->novelty()), 0.01f);
}

TEST_F(SelfSupervisedTrainerTest, CalibrationMovesTheRunningStatisticsAlone) {
  const auto trainer = Make(Small());
  const std::vector<float> before = Copy(*trainer);
  trainer->CalibrateStatistics(Images(160, 12));
  std::size_t at = 0, moved = 0;
  for (const parameters::TensorShape& tensor : trainer->Schema()) {
    const bool running = tensor.name.find(".running_") != std::string::npos;
    for (std::size_t i = 0; i < tensor.size(); ++i, ++at) {
      const bool changed = trainer->parameters()[at] != before[at];
      EXPECT_FALSE(changed && !running) << tensor.name;
      moved += changed;
    }
  }
  EXPECT_EQ(moved, 2 * (4 + 8));
}

// Two batches of equal size: mean (m1 + m2) / 2, variance (v1 + v2) / 2 + ((m1 - m2) / 2)², whatever was
// known before.
TEST_F(SelfSupervisedTrainerTest, CalibrationMeasuresAllImagesTogether) {
  const auto trainer = Make(Small());
  const std::vector<std::uint8_t> images = Images(32, 12);
  const auto calibrated = [&trainer](std::span<const std::uint8_t> part) {
    trainer->CalibrateStatistics(part);
    return Copy(*trainer);
  };
  const std::size_t half = images.size() / 2;
  const std::vector<float> first = calibrated(std::span(images).first(half));
  const std::vector<float> second = calibrated(std::span(images).last(half));
  const std::vector<float> both = calibrated(images);
  const std::vector<parameters::StatisticRange> ranges = parameters::FindStatistics(trainer->Schema());
  ASSERT_EQ(ranges.size(), 4);
  for (std::size_t r = 0; r < ranges.size(); r += 2) {
    ASSERT_TRUE(!ranges[r].variance && ranges[r + 1].variance);
    for (std::size_t c = 0; c < ranges[r].count; ++c) {
      const std::size_t m = ranges[r].first + c, v = ranges[r + 1].first + c;
      const float half_difference = (first[m] - second[m]) / 2;
      EXPECT_NEAR(both[m], (first[m] + second[m]) / 2, 1e-6f * std::abs(both[m]) + 1e-7f);
      EXPECT_NEAR(both[v], (first[v] + second[v]) / 2 + half_difference * half_difference, 1e-5f * both[v]);
    }
  }
}

TEST_F(SelfSupervisedTrainerTest, FeaturesDoNotDependOnTheirNeighbours) {
  const auto trainer = Make(Small());
  const std::vector<std::uint8_t> images = Images(21, 12);
  const std::vector<float> all = trainer->Features(images);
  const std::size_t width = Small().encoder.feature_count();
  ASSERT_EQ(all.size(), 21 * width);
  const std::vector<float> last = trainer->Features(std::span(images).last(144));
  for (std::size_t f = 0; f < width; ++f) EXPECT_EQ(last[f], all[20 * width + f]);
}

}  // namespace
}  // namespace tributary::nn
