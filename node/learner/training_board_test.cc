#include "node/learner/training_board.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "core/images/image_set.h"
#include "core/nn/kernel/random_stream.h"
#include "core/runtime/captured_log.h"
#include "fpga/model/augmentation.h"
#include "node/accelerator/tensor_target.h"
#include "node/learner/self_supervised.h"

namespace tributary::learner {
namespace {

using ::testing::HasSubstr;

constexpr std::uint64_t kSteps = 3;

using Fails = std::function<bool(int call)>;

Fails FailsNever() {
  return [](int) { return false; };
}
Fails FailsAt(int failing) {
  return [failing](int call) { return call == failing; };
}

// The kernel's golden model, which may fail.
class ModelViews final : public accelerator::ViewUnit {
 public:
  explicit ModelViews(Fails fails) : fails_(std::move(fails)) {}

  absl::Status MakeViews(std::span<const std::uint8_t> images, std::uint32_t seed,
                         std::span<std::uint8_t> views) override {
    if (fails_(calls_++)) return absl::DeadlineExceededError("a run did not end");
    fpga::AugmentationSequence sequence(seed, {});
    fpga::Image image;
    for (std::size_t at = 0; at < images.size(); at += image.size()) {
      std::ranges::copy(images.subspan(at, image.size()), image.begin());
      std::ranges::copy(fpga::Augment(image, sequence.Next()), &views[at]);
    }
    return absl::OkStatus();
  }

  accelerator::Accelerator::Counters counters() const override {
    return {.runs = static_cast<std::uint64_t>(calls_)};
  }

 private:
  const Fails fails_;
  int calls_ = 0;
};

// The tensor unit's golden model, which may be away when a program is made ready.
class ModelTensors final : public accelerator::TensorModelTarget {
 public:
  ModelTensors(Fails away, bool bfloat16, Fails full)
      : TensorModelTarget({.bfloat16 = bfloat16}), away_(std::move(away)), full_(std::move(full)) {}

  accelerator::Accelerator::Counters counters() const override { return {.reopened = ready_}; }

  absl::StatusOr<std::unique_ptr<accelerator::TensorJob>> MakeJob(std::vector<std::uint64_t> program,
                                                                  const fpga::TensorBuffers& buffers,
                                                                  std::size_t runs) const override {
    if (full_(asked_)) return absl::ResourceExhaustedError("the board has no memory left");
    if (away_(asked_++)) return absl::UnavailableError("the board is away");
    ++ready_;
    return TensorModelTarget::MakeJob(std::move(program), buffers, runs);
  }

 private:
  const Fails away_, full_;
  mutable int asked_ = 0;
  mutable std::uint64_t ready_ = 0;
};

accelerator::EncoderBoard ModelBoard(Fails views_fail = FailsNever(), Fails tensors_away = FailsNever(),
                                     bool bfloat16 = false, Fails full = FailsNever()) {
  return {.views = std::make_unique<ModelViews>(std::move(views_fail)),
          .tensors = std::make_unique<ModelTensors>(std::move(tensors_away), bfloat16, std::move(full))};
}

int Occurrences(const std::string& text, const std::string& part) {
  int found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

LocalTrainingOptions OnTheBoard() {
  LocalTrainingOptions options;
  options.trainer.encoder = {.channels = {4, 8},
                             .norm = nn::EncoderNorm::kNone,
                             .activation = nn::EncoderActivation::kHardClip,
                             .quantised = true};
  options.trainer.batch = 4;
  options.trainer.projection = 8;
  options.trainer.bottleneck = 4;
  options.augmentation = "table";
  return options;
}

class TrainingBoardTest : public ::testing::Test {
 protected:
  std::unique_ptr<SelfSupervisedWorkload> Workload(TrainingBoard* board) {
    std::vector<std::uint32_t> part(images_.count());
    std::iota(part.begin(), part.end(), 0U);
    auto workload = SelfSupervisedWorkload::Create(images_, std::move(part), OnTheBoard(), board);
    EXPECT_TRUE(workload.ok()) << workload.status();
    return *std::move(workload);
  }

  // The update of a round from a model that depends on nothing but its length.
  absl::StatusOr<std::vector<float>> Update(SelfSupervisedWorkload& workload) {
    std::size_t size = 0;
    for (const parameters::TensorShape& tensor : workload.Schema()) size += tensor.size();
    std::vector<float> global(size), update(size);
    nn::RandomStream random(3);
    for (float& value : global) value = static_cast<float>(0.2 * random.Normal());
    const auto outcome = workload.Train(
        0, kSteps, global, [] { return false; }, update);
    if (!outcome.ok()) return outcome.status();
    return update;
  }

  std::vector<float> UpdateOfProcessor() { return *Update(*Workload(nullptr)); }

  const images::ImageSet images_ = images::DrawGlyphs(40, 1);
};

TEST_F(TrainingBoardTest, GivesTheBitsOfTheProcessor) {
  TrainingBoard board(ModelBoard(), /*fall_back_to_cpu=*/false);
  const std::vector<float> update = *Update(*Workload(&board));
  EXPECT_EQ(update, UpdateOfProcessor());
  EXPECT_GT(std::ranges::count_if(update, [](float value) { return value != 0; }), 100);
  EXPECT_EQ(board.counters().runs, 2 * kSteps) << "views";
  EXPECT_EQ(board.counters().reopened, 1u) << "one program of the tensor unit";
  EXPECT_EQ(board.counters().fallbacks, 0u);
}

// Gradients are rounded to bfloat16, and their errors are no trend.
TEST_F(TrainingBoardTest, ComputesTheGradientsOfItsConvolutionsToo) {
  TrainingBoard board(ModelBoard(FailsNever(), FailsNever(), /*bfloat16=*/true), /*fall_back_to_cpu=*/false);
  const std::vector<float> update = *Update(*Workload(&board)), exact = UpdateOfProcessor();
  EXPECT_EQ(board.counters().reopened, 1u + 3u) << "forward, two gradients of weights, one of inputs";
  EXPECT_NE(update, exact);
  double difference = 0, size = 0;
  for (std::size_t i = 0; i < exact.size(); ++i) {
    difference += std::pow(double{update[i]} - double{exact[i]}, 2);
    size += std::pow(double{exact[i]}, 2);
  }
  EXPECT_LT(std::sqrt(difference / size), 0.01);
}

TEST_F(TrainingBoardTest, LeavesGradientsToTheProcessorIfItMay) {
  const auto never_gradients = [](int call) { return call > 0; };
  TrainingBoard board(ModelBoard(FailsNever(), never_gradients, /*bfloat16=*/true),
                      /*fall_back_to_cpu=*/true);
  const runtime::CapturedLog log;
  EXPECT_EQ(*Update(*Workload(&board)), UpdateOfProcessor());
  EXPECT_GT(board.counters().fallbacks, 2 * kSteps) << "each product is counted";
  EXPECT_EQ(Occurrences(log.text(), "the processor computes the gradients"), 1);
}

// As a run that does not fit is declined, instead of round after round.
TEST_F(TrainingBoardTest, ABoardWithoutMemoryForGradientsRefusesTheRunAtOnce) {
  TrainingBoard strict(ModelBoard(FailsNever(), FailsNever(), /*bfloat16=*/true, FailsAt(2)), false);
  EXPECT_EQ(strict.Stages(OnTheBoard().trainer.encoder, 4).status().code(),
            absl::StatusCode::kResourceExhausted);
  TrainingBoard lenient(ModelBoard(FailsNever(), FailsNever(), /*bfloat16=*/true, FailsAt(2)), true);
  EXPECT_EQ(*Update(*Workload(&lenient)), UpdateOfProcessor());
}

TEST_F(TrainingBoardTest, AFailedGradientEndsTheRound) {
  const auto never_gradients = [](int call) { return call > 0; };
  TrainingBoard board(ModelBoard(FailsNever(), never_gradients, /*bfloat16=*/true),
                      /*fall_back_to_cpu=*/false);
  EXPECT_EQ(Update(*Workload(&board)).status().code(), absl::StatusCode::kUnavailable);
}

TEST_F(TrainingBoardTest, EndsTheRoundWhenItFailsAndDoesTheNext) {
  TrainingBoard board(ModelBoard(FailsAt(2)), /*fall_back_to_cpu=*/false);
  const auto workload = Workload(&board);
  EXPECT_EQ(Update(*workload).status().code(), absl::StatusCode::kDeadlineExceeded);
  const auto update = Update(*workload);
  ASSERT_TRUE(update.ok()) << update.status();
  EXPECT_EQ(*update, UpdateOfProcessor());
}

TEST_F(TrainingBoardTest, IsNotAskedAgainInARoundThatItHasEnded) {
  TrainingBoard board(ModelBoard([](int) { return true; }), /*fall_back_to_cpu=*/false);
  EXPECT_FALSE(Update(*Workload(&board)).ok());
  EXPECT_EQ(board.counters().runs, 1u) << "views of the same step would wait for as long";
}

TEST_F(TrainingBoardTest, ABoardThatIsAwayWhenARunBeginsIsAskedAgain) {
  TrainingBoard board(ModelBoard(FailsNever(), [](int call) { return call < 2; }),
                      /*fall_back_to_cpu=*/false);
  const auto workload = Workload(&board);
  EXPECT_EQ(Update(*workload).status().code(), absl::StatusCode::kUnavailable);
  const auto update = Update(*workload);
  ASSERT_TRUE(update.ok()) << update.status();
  EXPECT_EQ(*update, UpdateOfProcessor());
}

TEST_F(TrainingBoardTest, ABoardThatIsAwayWhenARunBeginsReturnsToIt) {
  TrainingBoard board(ModelBoard(FailsNever(), [](int call) { return call < 2; }), /*fall_back_to_cpu=*/true);
  const runtime::CapturedLog log;
  const auto update = Update(*Workload(&board));
  ASSERT_TRUE(update.ok()) << update.status();
  EXPECT_EQ(*update, UpdateOfProcessor());
  EXPECT_EQ(board.counters().fallbacks, 1u) << "the first question is no batch";
  EXPECT_THAT(log.text(), HasSubstr("the board computes the convolutions of this node's training again"));
}

TEST_F(TrainingBoardTest, CountsWhatTheProcessorComputesForKernelsThatAreNotThere) {
  TrainingBoard board(accelerator::EncoderBoard(), /*fall_back_to_cpu=*/true);
  const runtime::CapturedLog log;
  EXPECT_EQ(*Update(*Workload(&board)), UpdateOfProcessor());
  EXPECT_GT(board.counters().fallbacks, 2 * kSteps) << "views and convolutions";
  EXPECT_EQ(Occurrences(log.text(), "offers no augment_convolve_kernel"), 1);
  EXPECT_EQ(Occurrences(log.text(), "offers no tensor_kernel"), 1);
}

TEST_F(TrainingBoardTest, OneKernelThatFailsSaysNothingOfTheOther) {
  TrainingBoard board(ModelBoard([](int) { return true; }), /*fall_back_to_cpu=*/true);
  const runtime::CapturedLog log;
  EXPECT_EQ(*Update(*Workload(&board)), UpdateOfProcessor());
  EXPECT_EQ(board.counters().fallbacks, 2 * kSteps);
  EXPECT_EQ(Occurrences(log.text(), "the processor computes the views"), 1);
  EXPECT_EQ(Occurrences(log.text(), "again"), 0);
}

TEST_F(TrainingBoardTest, LeavesAFailedBatchToTheProcessorIfItMay) {
  TrainingBoard board(ModelBoard(FailsAt(2)), /*fall_back_to_cpu=*/true);
  const runtime::CapturedLog log;
  const auto update = Update(*Workload(&board));
  ASSERT_TRUE(update.ok()) << update.status();
  EXPECT_EQ(*update, UpdateOfProcessor());
  EXPECT_EQ(board.counters().fallbacks, 1u);
  EXPECT_THAT(log.text(), HasSubstr("the processor computes the views of this node's training"));
  EXPECT_THAT(log.text(), HasSubstr("the board computes the views of this node's training again"));
}

TEST_F(TrainingBoardTest, SaysWhatOfARunItCannotDo) {
  nn::EncoderOptions quantised = OnTheBoard().trainer.encoder, floats = quantised;
  floats.quantised = false;
  const auto why = [](const TrainingBoard& board, const nn::EncoderOptions& encoder, const char* views) {
    return std::string(board.Check(encoder, views).message());
  };
  const TrainingBoard whole(ModelBoard(), false);
  EXPECT_TRUE(whole.Check(quantised, "strong").ok());
  EXPECT_TRUE(whole.Check(floats, "table").ok());
  EXPECT_THAT(why(whole, floats, "strong"), HasSubstr("has nothing to compute in such a run"));
  accelerator::EncoderBoard parts = ModelBoard();
  parts.tensors.reset();
  const TrainingBoard views(std::move(parts), false);
  EXPECT_TRUE(views.Check(floats, "table").ok());
  EXPECT_THAT(why(views, quantised, "table"), HasSubstr("no tensor_kernel"));
  parts = ModelBoard();
  parts.views.reset();
  const TrainingBoard tensors(std::move(parts), false);
  EXPECT_TRUE(tensors.Check(quantised, "strong").ok());
  EXPECT_THAT(why(tensors, quantised, "table"), HasSubstr("no augment_convolve_kernel"));
  nn::EncoderOptions wide = quantised;
  wide.side = 64;
  wide.channels = {128};
  EXPECT_THAT(why(whole, wide, "strong"), HasSubstr("conv1 does not fit the tensor unit"));
  const TrainingBoard neither(accelerator::EncoderBoard(), true);
  EXPECT_TRUE(neither.Check(floats, "strong").ok()) << "the processor may";
}

TEST_F(TrainingBoardTest, NeedsMemoryForTheConvolutionsOnly) {
  const TrainingBoard board(ModelBoard(), false);
  nn::EncoderOptions encoder = OnTheBoard().trainer.encoder;
  EXPECT_GT(board.Bytes(encoder, 4), 4u * 28 * 28 * (1 + 4));
  EXPECT_LT(board.Bytes(encoder, 4), 2u << 20) << "most of it the model's activation memory";
  encoder.quantised = false;
  EXPECT_EQ(board.Bytes(encoder, 4), 0u);
}

}  // namespace
}  // namespace tributary::learner
