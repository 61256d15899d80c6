// Views and convolutions of training on the software device.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include "core/nn/encoder/encoder.h"
#include "core/nn/kernel/random_stream.h"
#include "fpga/device/xclbin/xclbin_writer.h"
#include "fpga/model/augmentation.h"
#include "node/accelerator/create.h"
#include "node/accelerator/encoder_gradients.h"
#include "node/accelerator/encoder_stages.h"
#include "node/accelerator/tensor_target.h"
#include "tests/support/own_folder.h"

namespace tributary::accelerator {
namespace {

using testing::HasSubstr;

constexpr std::size_t kViewsOfBatch = 11;
constexpr std::uint32_t kViewsSeed = 0x2bcd'ef01;

class XrtEncoderTest : public testing::Test {
 protected:
  void SetUp() override {
    ::setenv("XILINX_XRT", TRIBUTARY_XRT_ROOT, 1);
    ::unsetenv("TRIBUTARY_DEVICE_FAULTS");
    options_.xclbin = OwnFolder() + "xrt_encoder_test.xclbin";
    WriteXclbinOf({{"augment_convolve_kernel", 2}, {"tensor_kernel", 2}});
    options_.frames_per_run = 4;
    options_.reopen_interval = std::chrono::milliseconds(0);
    options_.run_timeout = std::chrono::milliseconds(30'000);  // a run takes some 10 ms
    nn::RandomStream random(3);
    for (std::uint8_t& pixel : images_) pixel = static_cast<std::uint8_t>(random.Below(256));
    for (std::int8_t& word : kernels_)
      word = static_cast<std::int8_t>(static_cast<int>(random.Below(80)) - 40);
  }

  void WriteXclbinOf(std::vector<device::XclbinContents::Kernel> kernels) const {
    std::ofstream(options_.xclbin, std::ios::binary)
        << device::WriteXclbin({.kernels = std::move(kernels)}).value();
  }

  static void Inject(const char* faults) { ::setenv("TRIBUTARY_DEVICE_FAULTS", faults, 1); }

  EncoderBoard OpenBoard() const {
    auto board = OpenXrtEncoderBoard(options_);
    EXPECT_TRUE(board.ok()) << board.status();
    return board.ok() ? *std::move(board) : EncoderBoard();
  }

  std::vector<std::uint8_t> ExpectedViews() const {
    fpga::AugmentationSequence sequence(kViewsSeed, {});
    std::vector<std::uint8_t> views(images_.size());
    fpga::Image image;
    for (std::size_t at = 0; at < images_.size(); at += image.size()) {
      std::copy_n(&images_[at], image.size(), image.begin());
      std::ranges::copy(fpga::Augment(image, sequence.Next()), &views[at]);
    }
    return views;
  }

  XrtOptions options_;
  std::vector<std::uint8_t> images_ = std::vector<std::uint8_t>(kViewsOfBatch * fpga::kImagePixels);
  std::vector<std::uint8_t> views_ = std::vector<std::uint8_t>(images_.size());
  const nn::EncoderOptions encoder_ = {.channels = {6, 20},
                                       .norm = nn::EncoderNorm::kNone,
                                       .activation = nn::EncoderActivation::kHardClip,
                                       .quantised = true};
  std::vector<std::int8_t> kernels_ = std::vector<std::int8_t>((6 + 6 * 20) * 9);
};

// The last run of a batch is shorter, and runs are spread over the units.
TEST_F(XrtEncoderTest, ViewsAreThoseOfOneSequence) {
  for (const std::size_t units : {1, 2}) {
    options_.compute_units = units;
    const EncoderBoard board = OpenBoard();
    ASSERT_NE(board.views, nullptr);
    std::ranges::fill(views_, std::uint8_t{0});
    ASSERT_TRUE(board.views->MakeViews(images_, kViewsSeed, views_).ok());
    EXPECT_EQ(views_, ExpectedViews()) << units << " units";
    EXPECT_EQ(board.views->counters().runs, 3u);
  }
}

TEST_F(XrtEncoderTest, ConvolutionsAreThoseOfTheGoldenModelAndFollowTheWeights) {
  const EncoderBoard board = OpenBoard();
  ASSERT_NE(board.tensors, nullptr);
  const TensorModelTarget golden{fpga::TensorUnitSize()};
  const auto expected = *EncoderStages::Create(encoder_, kViewsOfBatch, golden);
  const auto stages = EncoderStages::Create(encoder_, kViewsOfBatch, *board.tensors);
  ASSERT_TRUE(stages.ok()) << stages.status();
  for (int step = 0; step < 2; ++step) {
    ASSERT_TRUE(expected->Compute(images_, kernels_).ok());
    const absl::Status status = (*stages)->Compute(images_, kernels_);
    ASSERT_TRUE(status.ok()) << status;
    for (std::size_t stage = 0; stage < 2; ++stage) {
      EXPECT_TRUE(std::ranges::equal((*stages)->Result(stage), expected->Result(stage))) << stage;
    }
    std::ranges::reverse(kernels_);
  }
  const auto planned = static_cast<double>(kViewsOfBatch * (*stages)->cycles());
  EXPECT_NEAR(static_cast<double>((*stages)->counted_cycles()), planned, 0.03 * planned);
}

TEST_F(XrtEncoderTest, GradientsAreThoseOfTheGoldenModel) {
  WriteXclbinOf({{"tensor_kernel_bfloat", 2}});
  const EncoderBoard board = OpenBoard();
  ASSERT_NE(board.tensors, nullptr);
  constexpr std::size_t kImages = 10, kSide = 9;
  nn::EncoderOptions encoder = encoder_;
  encoder.side = kSide;
  const TensorModelTarget golden{{.bfloat16 = true}};
  const auto expected = *EncoderGradients::Create(encoder, kImages, golden);
  const auto gradients = EncoderGradients::Create(encoder, kImages, *board.tensors);
  ASSERT_TRUE(gradients.ok()) << gradients.status();
  nn::RandomStream random(11);
  // The second stage, with half the first one's side.
  constexpr nn::PlaneShape kShape{kImages, kSide / 2};
  nn::Planes x(6, kShape), y_gradient(20, kShape), x_gradient(6, kShape), expected_x(6, kShape);
  for (nn::Planes* planes : {&x, &y_gradient}) {
    for (std::size_t c = 0; c < planes->channels(); ++c) {
      for (std::size_t i = 0; i < kShape.side * kShape.side; ++i) {
        float* const pixel =
            planes->channel(c) + i / kShape.side * kShape.pitch() + i % kShape.side * kShape.lanes();
        for (std::size_t n = 0; n < kImages; ++n) pixel[n] = static_cast<float>(random.Normal());
      }
    }
  }
  std::vector<float> weights(20 * 6 * 9);
  for (int step = 0; step < 2; ++step) {
    for (float& weight : weights) weight = static_cast<float>(random.Normal());
    std::vector<float> found(weights.size()), expected_weights(weights.size());
    ASSERT_EQ(expected->AddWeights(1, x, y_gradient, expected_weights), absl::OkStatus());
    ASSERT_EQ((*gradients)->AddWeights(1, x, y_gradient, found), absl::OkStatus());
    EXPECT_EQ(found, expected_weights);
    ASSERT_EQ(expected->ComputeInputs(1, weights, y_gradient, expected_x), absl::OkStatus());
    ASSERT_EQ((*gradients)->ComputeInputs(1, weights, y_gradient, x_gradient), absl::OkStatus());
    for (std::size_t c = 0; c < 6; ++c) {
      EXPECT_TRUE(
          std::equal(x_gradient.channel(c), x_gradient.channel(c) + kShape.size(), expected_x.channel(c)))
          << c;
    }
  }
  // The model counts no start and no end of a run; there are two.
  constexpr std::uint64_t kRunCycles = 2 * 350;
  EXPECT_GE((*gradients)->weight_cycles(1), expected->weight_cycles(1));
  EXPECT_LE((*gradients)->weight_cycles(1), expected->weight_cycles(1) + kRunCycles);
  EXPECT_GE((*gradients)->input_cycles(1), expected->input_cycles(1));
  EXPECT_LE((*gradients)->input_cycles(1), expected->input_cycles(1) + kRunCycles);
}

TEST_F(XrtEncoderTest, AHungRunFailsTheBatchAndTheNextOneIsComputed) {
  Inject("hang=1");
  options_.run_timeout = std::chrono::milliseconds(1000);
  const EncoderBoard board = OpenBoard();
  ASSERT_NE(board.views, nullptr);
  EXPECT_EQ(board.views->MakeViews(images_, kViewsSeed, views_).code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_EQ(board.views->counters().timeouts, 1u);
  Inject("");
  ASSERT_TRUE(board.views->MakeViews(images_, kViewsSeed, views_).ok());
  EXPECT_EQ(views_, ExpectedViews());
}

TEST_F(XrtEncoderTest, OpensThePartsThatTheXclbinHas) {
  WriteXclbinOf({{"tensor_kernel", 1}});
  EncoderBoard board = OpenBoard();
  EXPECT_EQ(board.views, nullptr);
  EXPECT_NE(board.tensors, nullptr);
  board = {};
  WriteXclbinOf({{"loopback_kernel", 1}});
  const auto none = OpenXrtEncoderBoard(options_);
  EXPECT_THAT(std::string(none.status().message()),
              HasSubstr("no compute unit of augment_convolve_kernel or tensor_kernel"));
}

}  // namespace
}  // namespace tributary::accelerator
