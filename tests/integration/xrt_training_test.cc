// Training whose views, convolutions and gradients a board computes through XRT. The board is the software
// device.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

#include "core/images/image_set.h"
#include "core/nn/kernel/random_stream.h"
#include "fpga/device/xclbin/xclbin_writer.h"
#include "node/accelerator/tensor_target.h"
#include "node/learner/self_supervised.h"
#include "node/learner/training_board.h"
#include "tests/support/own_folder.h"

namespace tributary::learner {
namespace {

constexpr std::uint64_t kTrainingSteps = 2;

LocalTrainingOptions QuantisedTraining() {
  LocalTrainingOptions options;
  options.trainer.encoder = {.channels = {4, 8},
                             .norm = nn::EncoderNorm::kNone,
                             .activation = nn::EncoderActivation::kHardClip,
                             .quantised = true};
  options.trainer.batch = 10;  // a group of images and a part of one
  options.trainer.projection = 8;
  options.trainer.bottleneck = 4;
  options.augmentation = "table";
  return options;
}

class XrtTrainingTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ::setenv("XILINX_XRT", TRIBUTARY_XRT_ROOT, 1);
    ::unsetenv("TRIBUTARY_DEVICE_FAULTS");
  }

  // A board whose tensor unit has bfloat16.
  static std::unique_ptr<TrainingBoard> SoftwareDevice() {
    accelerator::XrtOptions options;
    options.xclbin = OwnFolder() + "xrt_training_test.xclbin";
    options.run_timeout = std::chrono::seconds(60);
    std::ofstream(options.xclbin, std::ios::binary)
        << device::WriteXclbin({.kernels = {{"augment_convolve_kernel", 1}, {"tensor_kernel_bfloat", 1}}})
               .value();
    auto board = TrainingBoard::Open(options);
    EXPECT_TRUE(board.ok()) << board.status();
    return *std::move(board);
  }

  // The golden model of that unit. The processor makes the views, with the same bits.
  static TrainingBoard GoldenModel() {
    accelerator::EncoderBoard board;
    board.tensors = std::make_unique<accelerator::TensorModelTarget>(fpga::TensorUnitSize{.bfloat16 = true});
    return {std::move(board), /*fall_back_to_cpu=*/true};
  }

  // What a round on this board adds to a model.
  std::vector<float> Update(TrainingBoard& board) const {
    std::vector<std::uint32_t> part(images_.count());
    std::iota(part.begin(), part.end(), 0U);
    auto workload =
        SelfSupervisedWorkload::Create(images_, std::move(part), QuantisedTraining(), &board).value();
    std::size_t size = 0;
    for (const parameters::TensorShape& tensor : workload->Schema()) size += tensor.size();
    std::vector<float> global(size), update(size);
    nn::RandomStream random(3);
    for (float& value : global) value = static_cast<float>(0.2 * random.Normal());
    const auto outcome = workload->Train(
        0, kTrainingSteps, global, [] { return false; }, update);
    EXPECT_TRUE(outcome.ok()) << outcome.status();
    return update;
  }

  const images::ImageSet images_ = images::DrawGlyphs(40, 1);
};

TEST_F(XrtTrainingTest, GivesTheBitsOfTheGoldenModel) {
  const auto board = SoftwareDevice();
  TrainingBoard golden = GoldenModel();
  ASSERT_TRUE(board->ComputesGradients(QuantisedTraining().trainer.encoder));
  const std::vector<float> update = Update(*board);
  EXPECT_EQ(update, Update(golden));
  EXPECT_GT(std::ranges::count_if(update, [](float value) { return value != 0; }), 100);
  EXPECT_EQ(board->counters().fallbacks, 0u);
  EXPECT_GT(board->counters().cycles, 100'000u);
}

}  // namespace
}  // namespace tributary::learner
