#include "core/nn/encoder/supervised_trainer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <malloc.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "core/nn/encoder/strong_augmenter.h"
#include "core/nn/kernel/random_stream.h"

namespace tributary::nn {
namespace {

using ::testing::HasSubstr;

SupervisedOptions SmallClassifier() {
  SupervisedOptions options;
  options.encoder.side = 12;
  options.encoder.channels = {3, 5};
  options.encoder.grid = 2;
  options.classes = 3;
  options.batch = 6;
  options.learning_rate = 8;
  options.weight_decay = 0;
  return options;
}

// Bright squares in one of three places, on noise: what a few steps tell apart.
struct Squares {
  std::vector<std::uint8_t> images, labels;

  Squares(std::size_t count, std::uint64_t seed) : images(count * 144), labels(count) {
    RandomStream random(seed);
    for (std::size_t n = 0; n < count; ++n) {
      labels[n] = static_cast<std::uint8_t>(n % 3);
      for (std::size_t i = 0; i < 144; ++i) {
        const bool lit = i / 12 / 4 == labels[n] && i % 12 >= 3 && i % 12 < 8;
        images[n * 144 + i] = static_cast<std::uint8_t>((lit ? 180 : 20) + random.Below(40));
      }
    }
  }
};

class SupervisedTrainerTest : public ::testing::Test {
 protected:
  static std::unique_ptr<SupervisedTrainer> Make(const SupervisedOptions& options = SmallClassifier()) {
    auto trainer = SupervisedTrainer::Create(options);
    EXPECT_TRUE(trainer.ok()) << trainer.status();
    return *std::move(trainer);
  }

  // The loss at these parameters: a step tells it before it moves.
  static double LossAt(std::span<const float> parameters, const Squares& squares) {
    const auto trainer = Make();
    EXPECT_TRUE(trainer->SetParameters(parameters).ok());
    return trainer->Step(squares.images, squares.labels);
  }

  static std::vector<float> ParametersOf(const SupervisedTrainer& trainer) {
    return {trainer.parameters().begin(), trainer.parameters().end()};
  }
};

// A step from rest moves by −rate × gradient: the gradient must be that of the loss.
TEST_F(SupervisedTrainerTest, AStepFollowsTheSlopeOfTheLossInEachParameter) {
  const Squares squares(6, 1);
  const auto trainer = Make();
  const std::vector<float> start = ParametersOf(*trainer);
  trainer->Step(squares.images, squares.labels);
  const double rate = 8.0 * 6 / 256;
  double largest = 0;
  std::size_t apart = 0;  // where a ReLU or a peak changes sides between the two losses
  for (std::size_t i = 0; i < start.size(); ++i) {
    const double gradient = (start[i] - trainer->parameters()[i]) / rate;
    constexpr float kStep = 2e-3f;
    std::vector<float> moved = start;
    moved[i] = start[i] + kStep;
    const double above = LossAt(moved, squares);
    moved[i] = start[i] - kStep;
    const double below = LossAt(moved, squares);
    apart += std::abs(gradient - (above - below) / (2.0 * kStep)) > 2e-3 + 0.03 * std::abs(gradient);
    largest = std::max(largest, std::abs(gradient));
  }
  EXPECT_GT(largest, 0.05);
  EXPECT_LE(apart, start.size() / 50);
}

TEST_F(SupervisedTrainerTest, LearnsToTellPlacesApart) {
  const Squares squares(60, 1), others(90, 2);
  const auto trainer = Make();
  const auto accuracy = [&] {
    const std::vector<std::uint8_t> found = trainer->Classify(others.images);
    std::size_t right = 0;
    for (std::size_t n = 0; n < found.size(); ++n) right += found[n] == others.labels[n];
    return static_cast<double>(right) / static_cast<double>(found.size());
  };
  EXPECT_LT(accuracy(), 0.8);
  for (int step = 0; step < 100; ++step) {
    const auto first = static_cast<std::size_t>(step % 10) * 6;
    trainer->Step(std::span(squares.images).subspan(first * 144, 6 * 144),
                  std::span(squares.labels).subspan(first, 6));
  }
  EXPECT_GT(accuracy(), 0.98);
}

// The encoder moves as it does below a head that learns, in the first step.
TEST_F(SupervisedTrainerTest, AHeadThatDoesNotLearnStaysAsItIsSet) {
  const Squares squares(6, 1);
  SupervisedOptions fixed = SmallClassifier();
  fixed.head_learns = false;
  fixed.weight_decay = 0.1;
  fixed.proximal = 0.1;
  const auto trainer = Make(fixed);
  const std::vector<float> start = ParametersOf(*trainer);
  const std::size_t body = trainer->body().size();
  for (int step = 0; step < 3; ++step) trainer->Step(squares.images, squares.labels);
  EXPECT_TRUE(std::ranges::equal(trainer->parameters().subspan(body), std::span(start).subspan(body)));
  EXPECT_FALSE(std::ranges::equal(trainer->body(), std::span(start).first(body)));

  fixed.weight_decay = fixed.proximal = 0;
  const auto one = Make(fixed), other = Make();
  for (const auto& each : {one.get(), other.get()}) each->Step(squares.images, squares.labels);
  EXPECT_TRUE(std::ranges::equal(one->body(), other->body()));
}

// Views are drawn by the step: a node that starts again at round r gives the same update.
TEST_F(SupervisedTrainerTest, StepsDependOnParametersAndTheirNumberAlone) {
  const Squares squares(6, 1);
  const auto make = [] {
    return *SupervisedTrainer::Create(SmallClassifier(), CreateStrongAugmenter({.side = 12}));
  };
  const auto one = make(), other = make();
  const std::vector<float> start = ParametersOf(*one);
  for (int step = 0; step < 5; ++step) one->Step(squares.images, squares.labels);
  ASSERT_TRUE(one->SetParameters(start).ok());
  for (const auto& trainer : {one.get(), other.get()}) {
    trainer->SeekStep(7);
    trainer->Step(squares.images, squares.labels);
    trainer->Step(squares.images, squares.labels);
  }
  EXPECT_EQ(ParametersOf(*one), ParametersOf(*other));
}

TEST_F(SupervisedTrainerTest, TheProximalTermPullsTowardsTheStart) {
  const Squares squares(6, 1);
  SupervisedOptions held = SmallClassifier();
  held.proximal = 5;
  held.learning_rate = 1;
  SupervisedOptions loose = held;
  loose.proximal = 0;
  const auto moved = [&](const SupervisedOptions& options) {
    const auto trainer = Make(options);
    const std::vector<float> start = ParametersOf(*trainer);
    for (int step = 0; step < 50; ++step) trainer->Step(squares.images, squares.labels);
    double sum = 0;
    for (std::size_t i = 0; i < start.size(); ++i) sum += std::pow(start[i] - trainer->parameters()[i], 2);
    return std::sqrt(sum);
  };
  EXPECT_LT(moved(held), 0.5 * moved(loose));
}

// A class that the priors rule out is not found, and its part of the head is left alone.
TEST_F(SupervisedTrainerTest, PriorsShiftTheLogitsOfTrainingAndOfAnswers) {
  const Squares squares(60, 1);
  SupervisedOptions options = SmallClassifier();
  options.weight_decay = 0;
  options.log_priors = {0, -1000, 0};
  const auto trainer = Make(options);
  const std::vector<float> start = ParametersOf(*trainer);
  std::vector<std::uint8_t> two = squares.labels;
  for (std::uint8_t& label : two) label = label == 1 ? 2 : label;
  for (int step = 0; step < 20; ++step) {
    trainer->Step(std::span(squares.images).first(6 * 144), std::span(two).first(6));
  }
  for (const std::uint8_t found : trainer->Classify(squares.images)) EXPECT_NE(found, 1);
  const std::size_t body = trainer->body().size(), width = options.encoder.feature_count();
  const auto row = [&](std::size_t k) {
    return std::span(trainer->parameters()).subspan(body + 3 + k * width, width);
  };
  EXPECT_TRUE(std::ranges::equal(row(1), std::span(start).subspan(body + 3 + width, width)));
  EXPECT_FALSE(std::ranges::equal(row(0), std::span(start).subspan(body + 3, width)));
}

TEST_F(SupervisedTrainerTest, HeadsOfOtherNumbersOfClassesBeginAlike) {
  const EncoderOptions encoder = SmallClassifier().encoder;
  const std::vector<float> three = FreshClassifier(encoder, 3, 9), five = FreshClassifier(encoder, 5, 9);
  const std::vector<float> none = FreshClassifier(encoder, 0, 9);
  const std::size_t body = none.size(), width = encoder.feature_count();
  EXPECT_TRUE(std::equal(none.begin(), none.end(), three.begin()));
  EXPECT_TRUE(std::equal(none.begin(), none.end(), five.begin()));
  // Behind the biases, row by row.
  EXPECT_TRUE(std::equal(three.end() - static_cast<std::ptrdiff_t>(3 * width), three.end(),
                         five.begin() + static_cast<std::ptrdiff_t>(body + 5)));
}

TEST_F(SupervisedTrainerTest, ParametersMustFitAndBeFinite) {
  const auto trainer = Make();
  std::vector<float> parameters = ParametersOf(*trainer);
  parameters[3] = std::numeric_limits<float>::infinity();
  EXPECT_THAT(std::string(trainer->SetParameters(parameters).message()),
              HasSubstr("parameter 3 is not finite"));
  parameters.pop_back();
  EXPECT_THAT(std::string(trainer->SetParameters(parameters).message()), HasSubstr("the classifier has"));
}

TEST_F(SupervisedTrainerTest, OptionsOutOfTheirLimitsAreNamed) {
  const auto fault = [](auto change) {
    SupervisedOptions options = SmallClassifier();
    change(options);
    return std::string(SupervisedTrainer::Create(options).status().message());
  };
  EXPECT_THAT(fault([](auto& o) { o.classes = 1; }), HasSubstr("classes must be from 2 to 256"));
  EXPECT_THAT(fault([](auto& o) { o.batch = 1; }), HasSubstr("batch must be from 2 to 4096"));
  EXPECT_THAT(fault([](auto& o) { o.encoder.norm = EncoderNorm::kBatch; }),
              HasSubstr("norm must be filter_response or none"));
  EXPECT_THAT(fault([](auto& o) { o.encoder.grid = 9; }), HasSubstr("grid"));
  EXPECT_THAT(fault([](auto& o) { o.log_priors = {0, 0}; }), HasSubstr("log_priors"));
}

TEST_F(SupervisedTrainerTest, NeedsTheMemoryThatIsKnownBefore) {
#ifdef TRIBUTARY_SANITIZED
  GTEST_SKIP() << "the sanitizer's malloc does not count";
#endif
  const auto allocated = [] {
    const struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
  };
  for (const std::size_t batch : {2, 32, 250}) {
    SupervisedOptions options;
    options.batch = batch;
    (void)Make(options);  // the first one of a process also allocates for the process
    const std::uint64_t before = allocated();
    const auto trainer = Make(options);
    const auto held = static_cast<double>(allocated() - before);
    const auto known = static_cast<double>(TrainerBytes(options));
    // Within a thousandth on both sides: what an allocator rounds differs between architectures.
    EXPECT_LE(0.999 * known, held);
    EXPECT_LE(held, 1.001 * known + (64 << 10));
  }
}

}  // namespace
}  // namespace tributary::nn
