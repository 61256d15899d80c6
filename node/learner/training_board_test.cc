#include "node/learner/training_board.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
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

// The kernel's golden model, which may fail once.
class ModelViews final : public accelerator::ViewUnit {
 public:
  explicit ModelViews(std::optional<int> failing) : failing_(failing) {}

  absl::Status MakeViews(std::span<const std::uint8_t> images, std::uint32_t seed,
                         std::span<std::uint8_t> views) override {
    if (failing_ == calls_++) return absl::DeadlineExceededError("a run did not end");
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
  const std::optional<int> failing_;
  int calls_ = 0;
};

accelerator::EncoderBoard ModelBoard(std::optional<int> failing = std::nullopt) {
  return {.views = std::make_unique<ModelViews>(failing),
          .tensors = std::make_unique<accelerator::TensorModelTarget>(fpga::TensorUnitSize())};
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
  EXPECT_EQ(board.counters().fallbacks, 0u);
}

TEST_F(TrainingBoardTest, EndsTheRoundWhenItFailsAndDoesTheNext) {
  TrainingBoard board(ModelBoard(2), /*fall_back_to_cpu=*/false);
  const auto workload = Workload(&board);
  EXPECT_EQ(Update(*workload).status().code(), absl::StatusCode::kDeadlineExceeded);
  const auto update = Update(*workload);
  ASSERT_TRUE(update.ok()) << update.status();
  EXPECT_EQ(*update, UpdateOfProcessor());
}

TEST_F(TrainingBoardTest, LeavesAFailedBatchToTheProcessorIfItMay) {
  TrainingBoard board(ModelBoard(2), /*fall_back_to_cpu=*/true);
  const runtime::CapturedLog log;
  const auto update = Update(*Workload(&board));
  ASSERT_TRUE(update.ok()) << update.status();
  EXPECT_EQ(*update, UpdateOfProcessor());
  EXPECT_EQ(board.counters().fallbacks, 1u);
  EXPECT_THAT(log.text(), HasSubstr("the processor trains instead"));
  EXPECT_THAT(log.text(), HasSubstr("computes this node's training again"));
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
  EXPECT_THAT(why(whole, floats, "strong"), HasSubstr("computes nothing of such a run"));
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
  const TrainingBoard neither(accelerator::EncoderBoard(), true);
  EXPECT_TRUE(neither.Check(floats, "strong").ok()) << "the processor may";
}

TEST_F(TrainingBoardTest, NeedsMemoryForTheConvolutionsOnly) {
  const TrainingBoard board(ModelBoard(), false);
  nn::EncoderOptions encoder = OnTheBoard().trainer.encoder;
  EXPECT_GT(board.Bytes(encoder, 4), 4u * 28 * 28 * (1 + 4));
  encoder.quantised = false;
  EXPECT_EQ(board.Bytes(encoder, 4), 0u);
}

}  // namespace
}  // namespace tributary::learner
