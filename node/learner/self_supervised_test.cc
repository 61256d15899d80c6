#include "node/learner/self_supervised.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>

#include "core/images/image_set.h"

namespace tributary::learner {
namespace {

using ::testing::HasSubstr;

class SelfSupervisedWorkloadTest : public ::testing::Test {
 protected:
  static LocalTrainingOptions Small() {
    LocalTrainingOptions options;
    options.trainer.encoder.channels = {4, 8};
    options.trainer.projection = 8;
    options.trainer.bottleneck = 4;
    options.trainer.batch = 8;
    return options;
  }

  std::unique_ptr<SelfSupervisedWorkload> Make(const LocalTrainingOptions& options = Small()) {
    std::vector<std::uint32_t> part(40);
    std::iota(part.begin(), part.end(), 10U);
    auto workload = SelfSupervisedWorkload::Create(images_, part, options);
    EXPECT_TRUE(workload.ok()) << workload.status();
    return *std::move(workload);
  }

  static std::vector<float> Initial(const LocalTrainingOptions& options = Small()) {
    const auto trainer = nn::SelfSupervisedTrainer::Create(options.trainer);
    return {(*trainer)->parameters().begin(), (*trainer)->parameters().end()};
  }

  static std::vector<float> Update(SelfSupervisedWorkload& workload, std::uint64_t round,
                                   const std::vector<float>& global) {
    std::vector<float> update(global.size());
    const auto outcome = workload.Train(
        round, 3, global, [] { return false; }, update);
    EXPECT_TRUE(outcome.ok()) << outcome.status();
    workload.EndRound();
    return update;
  }

  // Elements of the flat vector that steps change, without the measured ones.
  static std::vector<std::size_t> Learned(const std::vector<parameters::TensorShape>& schema) {
    std::vector<std::size_t> learned;
    std::size_t at = 0;
    for (const parameters::TensorShape& tensor : schema) {
      for (const std::size_t end = at + tensor.size(); at < end; ++at) {
        if (tensor.name.find(".running_") == std::string::npos) learned.push_back(at);
      }
    }
    return learned;
  }

  const images::ImageSet images_ = images::DrawGlyphs(100, 1);
};

TEST_F(SelfSupervisedWorkloadTest, GivesTheDifferenceThatItsStepsMake) {
  const std::vector<float> global = Initial();
  const std::vector<float> update = Update(*Make(), 2, global);

  std::vector<std::uint32_t> part(40);
  std::iota(part.begin(), part.end(), 10U);
  images::ImageStream stream(images_, part, 8, Small().trainer.seed);
  const auto trainer = nn::SelfSupervisedTrainer::Create(Small().trainer);
  (*trainer)->SeekStep(6);
  for (const std::uint64_t step : {6, 7, 8}) (*trainer)->Step(stream.Batch(step));
  for (const std::size_t i : Learned((*trainer)->Schema())) {
    ASSERT_EQ(update[i], (*trainer)->parameters()[i] - global[i]) << i;
  }
}

// A round that changed nothing takes nothing of the learning rate.
TEST_F(SelfSupervisedWorkloadTest, TheSchedulePassesOverFailedRounds) {
  LocalTrainingOptions options = Small();
  options.trainer.schedule_steps = 9;
  const std::vector<float> global = Initial(options);
  const auto trained = [&](std::uint64_t round, std::uint64_t failed) {
    std::vector<float> update(global.size());
    const auto workload = Make(options);
    const auto outcome = workload->Train(
        round, 3, global, [] { return false; }, update, failed);
    EXPECT_TRUE(outcome.ok()) << outcome.status();
    double sum = 0;
    for (const std::size_t i : Learned(workload->Schema())) sum += std::abs(update[i]);
    return sum;
  };
  // Only the predictor's rate stays as it is.
  EXPECT_GT(trained(5, 4), 1.5 * trained(5, 0)) << "the second of three rounds, after four that failed";
}

// For a model that stands still, the nodes' statistics average to those of all images, however different the
// nodes' images are.
TEST_F(SelfSupervisedWorkloadTest, StatisticsOfUnlikeNodesAverageToThoseOfAllImages) {
  LocalTrainingOptions options = Small();
  options.trainer.learning_rate = 0;
  images::ImageSet images = images_;  // the second half is brighter
  for (std::size_t i = images.pixels.size() / 2; i < images.pixels.size(); ++i) images.pixels[i] |= 0x80;
  std::vector<std::uint32_t> all(64), dark(32), bright(32);
  std::iota(dark.begin(), dark.end(), 0U);
  std::iota(bright.begin(), bright.end(), 60U);
  std::ranges::copy(dark, all.begin());
  std::ranges::copy(bright, all.begin() + 32);

  std::vector<float> global = Initial(options);
  const auto first = *SelfSupervisedWorkload::Create(images, dark, options);
  const auto second = *SelfSupervisedWorkload::Create(images, bright, options);
  for (std::uint64_t round = 0; round < 3; ++round) {
    const std::vector<float> a = Update(*first, round, global), b = Update(*second, round, global);
    for (std::size_t i = 0; i < global.size(); ++i) global[i] += (a[i] + b[i]) / 2;
  }
  // The same images, in batches that are each of one kind as the nodes' were.
  const auto trainer = nn::SelfSupervisedTrainer::Create(options.trainer);
  std::vector<std::uint8_t> pixels;
  for (const std::uint32_t i : all) {
    const auto at = images.pixels.begin() + static_cast<std::ptrdiff_t>(i * images.image_size());
    pixels.insert(pixels.end(), at, at + static_cast<std::ptrdiff_t>(images.image_size()));
  }
  (*trainer)->CalibrateStatistics(pixels);
  for (const parameters::StatisticRange& range : parameters::FindStatistics((*trainer)->Schema())) {
    for (std::size_t i = range.first; i < range.first + range.count; ++i) {
      // Batches of other compositions: the unbiased variance of eight images' areas differs a little.
      EXPECT_NEAR(global[i], (*trainer)->parameters()[i], 0.1f * std::abs(global[i]) + 0.02f) << i;
    }
  }
}

TEST_F(SelfSupervisedWorkloadTest, RepeatsARoundBitForBitAfterARestart) {
  const std::vector<float> global = Initial();
  const auto first = Make();
  Update(*first, 0, global);
  EXPECT_EQ(Update(*first, 5, global), Update(*Make(), 5, global));
}

TEST_F(SelfSupervisedWorkloadTest, StopsBetweenTwoSteps) {
  const std::vector<float> global = Initial();
  std::vector<float> update(global.size());
  int asked = 0;
  const auto outcome = Make()->Train(
      0, 1'000'000, global, [&] { return ++asked == 3; }, update);
  EXPECT_EQ(outcome.status().code(), absl::StatusCode::kCancelled);
  EXPECT_EQ(asked, 3);
}

TEST_F(SelfSupervisedWorkloadTest, RefusesAModelThatIsNotTheRuns) {
  const auto workload = Make();
  std::vector<float> global = Initial();
  std::vector<float> update(global.size());
  const auto train = [&](std::span<const float> model) {
    return workload
        ->Train(
            0, 1, model, [] { return false; }, update)
        .status();
  };
  EXPECT_EQ(train(std::span(global).subspan(1)).code(), absl::StatusCode::kInvalidArgument);
  global[7] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_THAT(std::string(train(global).message()), HasSubstr("not finite"));
}

TEST_F(SelfSupervisedWorkloadTest, NeverGivesAnUpdateThatIsNotFinite) {
  LocalTrainingOptions options = Small();
  options.trainer.head_norm = false;
  options.trainer.encoder.norm = nn::EncoderNorm::kNone;
  std::vector<float> global = Initial(options);
  for (float& value : global) value *= 1e30f;
  std::vector<float> update(global.size());
  const auto outcome = Make(options)->Train(
      0, 4, global, [] { return false; }, update);
  EXPECT_EQ(outcome.status().code(), absl::StatusCode::kOutOfRange) << outcome.status();
}

TEST_F(SelfSupervisedWorkloadTest, RefusesPartsAndImagesThatDoNotFit) {
  EXPECT_FALSE(SelfSupervisedWorkload::Create(images_, {}, Small()).ok());
  EXPECT_FALSE(SelfSupervisedWorkload::Create(images_, {100}, Small()).ok());
  LocalTrainingOptions other = Small();
  other.trainer.encoder.side = 32;
  EXPECT_THAT(std::string(SelfSupervisedWorkload::Create(images_, {0}, other).status().message()),
              HasSubstr("images of 28 x 28, the run's encoder takes 32 x 32"));
}

// μ = min(λ ‖W_g − W_k‖, 1): with a huge λ a round goes on from the node's own parameters, with a tiny one
// from the global ones.
TEST_F(SelfSupervisedWorkloadTest, FedEmaStartsBetweenTheLocalAndTheGlobalModel) {
  LocalTrainingOptions options = Small();
  options.ema_lambda = 1e9;
  const std::vector<float> global = Initial();
  const auto personal = Make(options);
  const std::vector<float> first = Update(*personal, 0, global);
  std::vector<float> local(personal->local().begin(), personal->local().end());
  const std::vector<float> second = Update(*personal, 1, global);
  const std::vector<float> from_local = Update(*Make(), 1, local);
  for (const std::size_t i : Learned(personal->Schema())) {
    // Three roundings of numbers of the models' size.
    const float tolerance =
        4 * 0x1p-24f * (std::abs(local[i]) + std::abs(global[i]) + std::abs(from_local[i]) + 1e-3f);
    ASSERT_NEAR(second[i], local[i] + from_local[i] - global[i], tolerance) << i;
  }

  options.ema_lambda = 1e-30;
  const auto impersonal = Make(options);
  Update(*impersonal, 0, global);
  EXPECT_EQ(Update(*impersonal, 1, global), Update(*Make(), 1, global));
}

TEST_F(SelfSupervisedWorkloadTest, FedEmaComparesWhatIsLearnedAndNotTheStatistics) {
  LocalTrainingOptions options = Small();
  options.ema_lambda = 1e9;
  const std::vector<float> global = Initial();
  const auto workload = Make(options);
  std::vector<float> local = global;
  for (const parameters::StatisticRange& range : parameters::FindStatistics(workload->Schema())) {
    for (std::size_t i = range.first; i < range.first + range.count; ++i) local[i] += 100;
  }
  ASSERT_TRUE(workload->SetLocal(local).ok());
  EXPECT_EQ(Update(*workload, 1, global), Update(*Make(), 1, global));
}

TEST_F(SelfSupervisedWorkloadTest, FedEmaGoesOnFromALocalModelThatWasKept) {
  LocalTrainingOptions options = Small();
  options.ema_lambda = 0.5;
  const std::vector<float> global = Initial();
  const auto first = Make(options), restarted = Make(options);
  Update(*first, 0, global);
  ASSERT_TRUE(restarted->SetLocal(first->local()).ok());
  EXPECT_EQ(Update(*first, 1, global), Update(*restarted, 1, global));
  EXPECT_FALSE(restarted->SetLocal(std::vector<float>(3)).ok());
}

TEST_F(SelfSupervisedWorkloadTest, CarriesByolsTargetOverRoundsAndARestart) {
  LocalTrainingOptions options = Small();
  options.trainer.method = nn::SelfSupervisedMethod::kByol;
  const std::vector<float> global = Initial(options);
  const auto first = Make(options), restarted = Make(options), fresh = Make(options);
  EXPECT_TRUE(first->target().empty());
  Update(*first, 0, global);
  ASSERT_EQ(first->target().size(), global.size());
  ASSERT_TRUE(restarted->SetTarget(first->target()).ok());
  const std::vector<float> second = Update(*first, 1, global);
  EXPECT_EQ(Update(*restarted, 1, global), second);
  EXPECT_NE(Update(*fresh, 1, global), second) << "a target that starts from the global model";
  EXPECT_FALSE(restarted->SetTarget(std::vector<float>(3)).ok());
  EXPECT_FALSE(Make()->SetTarget(global).ok()) << "SimSiam has none";
}

TEST_F(SelfSupervisedWorkloadTest, GoesOnFromABufferThatWasKept) {
  LocalTrainingOptions options = Small();
  options.buffer = 12;
  const std::vector<float> global = Initial();
  const auto first = Make(options), restarted = Make(options), without = Make(options);
  Update(*first, 0, global);
  EXPECT_EQ(first->buffered().size(), 12u);
  for (const images::KeptImage& kept : first->buffered()) {
    EXPECT_GE(kept.index, 10u);
    EXPECT_LT(kept.index, 50u);
  }
  ASSERT_TRUE(restarted->SetBuffered(first->buffered()).ok());
  const std::vector<float> second = Update(*first, 1, global);
  EXPECT_EQ(second, Update(*restarted, 1, global));
  EXPECT_NE(second, Update(*without, 1, global));
  EXPECT_FALSE(Make()->SetBuffered(first->buffered()).ok());
}

// Neither an interrupted round nor one whose update was refused.
TEST_F(SelfSupervisedWorkloadTest, ARoundThatDoesNotEndLeavesNoTrace) {
  LocalTrainingOptions options = Small();
  options.buffer = 12;
  options.ema_lambda = 0.5;
  const std::vector<float> global = Initial();
  const auto disturbed = Make(options), calm = Make(options);
  Update(*disturbed, 0, global);
  Update(*calm, 0, global);
  std::vector<float> update(global.size());
  int asked = 0;
  EXPECT_FALSE(disturbed
                   ->Train(
                       1, 3, global, [&] { return ++asked == 3; }, update)
                   .ok());
  EXPECT_TRUE(disturbed
                  ->Train(
                      1, 3, global, [] { return false; }, update)
                  .ok());
  const std::vector<float> repeated = Update(*disturbed, 1, global);
  EXPECT_EQ(repeated, update);
  EXPECT_EQ(repeated, Update(*calm, 1, global));
}

TEST_F(SelfSupervisedWorkloadTest, RefusesABufferThatABatchDoesNotFit) {
  LocalTrainingOptions options = Small();
  options.buffer = 3;
  EXPECT_THAT(std::string(SelfSupervisedWorkload::Create(images_, {0}, options).status().message()),
              HasSubstr("room for half of it"));
  options.buffer = 4;
  EXPECT_TRUE(SelfSupervisedWorkload::Create(images_, {0}, options).ok());
  options.trainer.batch = 7;
  EXPECT_FALSE(SelfSupervisedWorkload::Create(images_, {0}, options).ok());
}

}  // namespace
}  // namespace tributary::learner
