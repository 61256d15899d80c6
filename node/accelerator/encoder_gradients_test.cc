// The tensor unit must give a convolution's gradients: exactly where nothing is rounded, else within
// bfloat16's error.
#include "node/accelerator/encoder_gradients.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/nn/encoder/encoder.h"
#include "core/nn/kernel/convolution_3x3.h"
#include "core/nn/kernel/random_stream.h"
#include "node/accelerator/quantised_encoder_fixture.h"
#include "node/accelerator/tensor_target.h"

namespace tributary::accelerator {
namespace {

using ::testing::HasSubstr;

constexpr std::size_t kGradientBatch = 19;  // whole groups of images and a part of one, whatever the lanes

// A golden model that counts what its jobs hold, and whose jobs fail when they are told to.
class CountingTarget final : public TensorModelTarget {
 public:
  explicit CountingTarget(const fpga::TensorUnitSize& size) : TensorModelTarget(size) {}

  absl::StatusOr<std::unique_ptr<TensorJob>> MakeJob(std::vector<std::uint64_t> program,
                                                     const fpga::TensorBuffers& buffers,
                                                     std::size_t runs) const override {
    held_ += 8 * (program.size() + buffers.input_words + buffers.output_words) +
             std::uint64_t{size().activations} * size().lanes;
    auto job = TensorModelTarget::MakeJob(std::move(program), buffers, runs);
    if (!job.ok()) return job.status();
    return std::make_unique<Job>(*std::move(job), loads_left_);
  }

  void FailAfterLoads(int loads) { loads_left_ = loads; }
  std::uint64_t held() const { return held_; }

 private:
  class Job final : public TensorJob {
   public:
    Job(std::unique_ptr<TensorJob> job, int& loads_left) : job_(std::move(job)), loads_left_(loads_left) {}
    absl::Status Load(std::vector<std::uint64_t> words) override {
      if (loads_left_-- == 0) return absl::UnavailableError("the board is away");
      return job_->Load(std::move(words));
    }
    absl::StatusOr<std::uint64_t> Run(std::size_t runs, Fill fill, Take take) override {
      return job_->Run(runs, fill, take);
    }

   private:
    const std::unique_ptr<TensorJob> job_;
    int& loads_left_;
  };

  mutable std::uint64_t held_ = 0;
  mutable int loads_left_ = -1;  // endless
};

struct GradientCase {
  std::uint32_t lanes;
  ConvolutionShape shape;
};

// A convolution with random inputs, weights and gradients of its outputs.
class EncoderGradientTest : public ::testing::TestWithParam<GradientCase> {
 protected:
  using Draw = double (*)(nn::RandomStream&);

  static double Byte(nn::RandomStream& random) { return static_cast<double>(random.Below(256)) / 256; }
  static double Word(nn::RandomStream& random) {
    return (static_cast<double>(random.Below(255)) - 127) / 128;
  }
  static double Integer(nn::RandomStream& random) { return static_cast<double>(random.Below(9)) - 4; }
  static double Real(nn::RandomStream& random) { return 0.01 * random.Normal(); }

  void DrawPlanes(nn::Planes& planes, Draw draw) {
    const nn::PlaneShape& shape = planes.shape();
    for (std::size_t c = 0; c < planes.channels(); ++c) {
      for (std::size_t i = 0; i < side() * side(); ++i) {
        float* const pixel = planes.channel(c) + i / side() * shape.pitch() + i % side() * shape.lanes();
        for (std::size_t n = 0; n < kGradientBatch; ++n) pixel[n] = static_cast<float>(draw(random_));
      }
    }
  }

  void DrawAll(Draw gradients) {
    DrawPlanes(x_, &Byte);
    DrawPlanes(y_gradient_, gradients);
    for (float& weight : weights_) weight = static_cast<float>(Word(random_));
  }

  std::size_t side() const { return shape_.side; }

  // Calls found(o, c, tap, n, y, x) for every product of the convolution: pixel (y, x) of output o meets
  // input c at the tap's place.
  template <typename Found>
  void ForProducts(Found found) const {
    const int s = static_cast<int>(side());
    for (std::size_t o = 0; o < shape_.outputs; ++o) {
      for (std::size_t c = 0; c < shape_.inputs; ++c) {
        for (int tap = 0; tap < 9; ++tap) {
          for (int y = 0; y < s; ++y) {
            for (int x = 0; x < s; ++x) {
              const int row = y + tap / 3 - 1, column = x + tap % 3 - 1;
              if (row < 0 || row >= s || column < 0 || column >= s) continue;
              for (std::size_t n = 0; n < kGradientBatch; ++n)
                found((o * shape_.inputs + c) * 9 + static_cast<std::size_t>(tap),
                      At(y_gradient_, o, y, x, n), At(x_, c, row, column, n), Place(c, row, column, n));
            }
          }
        }
      }
    }
  }
  std::size_t Place(std::size_t c, int y, int x, std::size_t n) const {
    const nn::PlaneShape& shape = x_.shape();
    return c * shape.size() + static_cast<std::size_t>(y) * shape.pitch() +
           static_cast<std::size_t>(x) * shape.lanes() + n;
  }
  static double At(const nn::Planes& planes, std::size_t c, int y, int x, std::size_t n) {
    const nn::PlaneShape& shape = planes.shape();
    return planes.channel(
        c)[static_cast<std::size_t>(y) * shape.pitch() + static_cast<std::size_t>(x) * shape.lanes() + n];
  }

  // By the definition, in double, with the sum of all sizes.
  struct Expected {
    std::vector<double> weights, weight_sizes;
    std::vector<double> inputs, input_sizes;  // as Place has them
  };
  Expected ByDefinition() const {
    const std::size_t places = shape_.inputs * x_.shape().size();
    Expected expected{std::vector<double>(weights_.size()), std::vector<double>(weights_.size()),
                      std::vector<double>(places), std::vector<double>(places)};
    ForProducts([&](std::size_t weight, double dy, double x, std::size_t place) {
      expected.weights[weight] += dy * x;
      expected.weight_sizes[weight] += std::abs(dy * x);
      expected.inputs[place] += dy * static_cast<double>(weights_[weight]);
      expected.input_sizes[place] += std::abs(dy * static_cast<double>(weights_[weight]));
    });
    return expected;
  }

  std::vector<float> WeightGradient(float before) {
    std::vector<float> gradient(weights_.size(), before);
    const auto unit = EncoderWeightGradient::Create(shape_, target_);
    EXPECT_TRUE(unit.ok()) << unit.status();
    if (!unit.ok()) return {};
    EXPECT_EQ((*unit)->Add(x_, y_gradient_, gradient), absl::OkStatus());
    return gradient;
  }
  void ComputeInputGradient() {
    const auto unit = EncoderInputGradient::Create(shape_, kGradientBatch, target_);
    ASSERT_TRUE(unit.ok()) << unit.status();
    ASSERT_EQ((*unit)->Compute(weights_, y_gradient_, x_gradient_), absl::OkStatus());
  }

  const ConvolutionShape shape_ = GetParam().shape;
  CountingTarget target_{
      {.lanes = GetParam().lanes, .activations = 1 << 11, .pixels = 300, .bfloat16 = true}};
  nn::RandomStream random_{7};
  nn::Planes x_{shape_.inputs, {kGradientBatch, shape_.side}};
  nn::Planes x_gradient_{shape_.inputs, {kGradientBatch, shape_.side}};
  nn::Planes y_gradient_{shape_.outputs, {kGradientBatch, shape_.side}};
  std::vector<float> weights_ = std::vector<float>(shape_.outputs * shape_.inputs * 9);
};

TEST_P(EncoderGradientTest, IsExactWhereNothingIsRounded) {
  DrawAll(&Integer);
  const Expected expected = ByDefinition();
  const std::vector<float> found = WeightGradient(/*before=*/2);
  for (std::size_t i = 0; i < found.size(); ++i) ASSERT_EQ(found[i], 2 + expected.weights[i]) << i;
  ComputeInputGradient();
  for (std::size_t c = 0; c < shape_.inputs; ++c) {
    for (std::size_t i = 0; i < x_.shape().size(); ++i)
      ASSERT_EQ(x_gradient_.channel(c)[i], expected.inputs[c * x_.shape().size() + i]) << c << ' ' << i;
  }
}

// A gradient of 8 significant bits is off by at most 2^-8 of its size; what sums add is far below.
TEST_P(EncoderGradientTest, IsWithinTheErrorOfBfloat16) {
  DrawAll(&Real);
  const Expected expected = ByDefinition();
  constexpr double kRounding = 0x1p-8 + 0x1p-18;
  std::size_t rounded = 0;
  const auto check = [&](double found, double exact, double size) {
    ASSERT_NEAR(found, exact, kRounding * size);
    rounded += std::abs(found - exact) > 0x1p-20 * size ? 1 : 0;
  };
  const std::vector<float> found = WeightGradient(/*before=*/0);
  for (std::size_t i = 0; i < found.size(); ++i)
    ASSERT_NO_FATAL_FAILURE(check(found[i], expected.weights[i], expected.weight_sizes[i]));
  ComputeInputGradient();
  for (std::size_t c = 0; c < shape_.inputs; ++c) {
    for (std::size_t i = 0; i < x_.shape().size(); ++i) {
      const std::size_t at = c * x_.shape().size() + i;
      ASSERT_NO_FATAL_FAILURE(
          check(x_gradient_.channel(c)[i], expected.inputs[at], expected.input_sizes[at]));
    }
  }
  EXPECT_GT(rounded, weights_.size() / 2) << "gradients are bfloat16 here";
}

TEST_P(EncoderGradientTest, FollowsTheWeightsAndTheirGradient) {
  const auto weights = *EncoderWeightGradient::Create(shape_, target_);
  const auto inputs = *EncoderInputGradient::Create(shape_, kGradientBatch, target_);
  for (int step = 0; step < 2; ++step) {
    DrawAll(&Integer);
    std::vector<float> found(weights_.size());
    ASSERT_EQ(weights->Add(x_, y_gradient_, found), absl::OkStatus());
    ASSERT_EQ(inputs->Compute(weights_, y_gradient_, x_gradient_), absl::OkStatus());
    const Expected expected = ByDefinition();
    for (std::size_t i = 0; i < found.size(); ++i) ASSERT_EQ(found[i], expected.weights[i]) << i;
    ASSERT_EQ(x_gradient_.channel(0)[0], expected.inputs[0]);
  }
}

TEST_P(EncoderGradientTest, AFailureAddsNothing) {
  DrawAll(&Integer);
  const auto weights = *EncoderWeightGradient::Create(shape_, target_);
  target_.FailAfterLoads(1);
  std::vector<float> found(weights_.size(), 3.0f);
  EXPECT_EQ(weights->Add(x_, y_gradient_, found).code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(found, ::testing::Each(3.0f));
  ASSERT_EQ(weights->Add(x_, y_gradient_, found), absl::OkStatus());
  EXPECT_EQ(found[0], 3 + ByDefinition().weights[0]);
}

TEST_P(EncoderGradientTest, TakesNoMoreThanItsBytes) {
  const auto weights = *EncoderWeightGradient::Create(shape_, target_);
  const std::uint64_t weight_bytes = EncoderWeightGradient::Bytes(shape_, target_);
  const std::uint64_t held = target_.held();
  EXPECT_GE(weight_bytes, held);
  EXPECT_LT(weight_bytes, 4 * held);
  const auto inputs = *EncoderInputGradient::Create(shape_, kGradientBatch, target_);
  const std::uint64_t input_bytes = EncoderInputGradient::Bytes(shape_, kGradientBatch, target_);
  EXPECT_GE(input_bytes, target_.held() - held);
  EXPECT_LT(input_bytes, 4 * (target_.held() - held));
}

// In the second case the inputs need two runs, in the third an image is more than the accumulators hold.
INSTANTIATE_TEST_SUITE_P(Shapes, EncoderGradientTest,
                         ::testing::Values(GradientCase{16, {7, 5, 12}}, GradientCase{16, {10, 20, 9}},
                                           GradientCase{8, {18, 3, 6}}, GradientCase{32, {5, 17, 20}},
                                           GradientCase{16, {4, 1, 1}}),
                         [](const auto& shown) {
                           const ConvolutionShape& shape = shown.param.shape;
                           return fmt::format("{}lanes{}x{}x{}", shown.param.lanes, shape.side, shape.inputs,
                                              shape.outputs);
                         });

class EncoderGradientsTest : public ::testing::Test {
 protected:
  static std::string WhyNot(const nn::EncoderOptions& options, bool bfloat16 = true) {
    return EncoderGradients::WhyNot(options, TensorModelTarget({.bfloat16 = bfloat16}));
  }
};

TEST_F(EncoderGradientsTest, SayWhatTheUnitCannotCompute) {
  nn::EncoderOptions options = QuantisedEncoder(28, 1, {16, 32, 64});
  EXPECT_EQ(WhyNot(options), "");
  EXPECT_EQ(WhyNot(QuantisedEncoder(32, 3, {16, 32, 64})), "");
  EXPECT_THAT(WhyNot(options, /*bfloat16=*/false), HasSubstr("conv1: the unit has no bfloat16"));
  options.quantised = false;
  EXPECT_THAT(WhyNot(options), HasSubstr("not quantised"));
  EXPECT_THAT(WhyNot(QuantisedEncoder(128, 3, {4, 8})), HasSubstr("activation memory"));
  EXPECT_EQ(EncoderGradients::Create(options, 2, TensorModelTarget({.bfloat16 = true})).status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST_F(EncoderGradientsTest, NeedNoMemoryWhereTheProcessorComputesThem) {
  const nn::EncoderOptions options = QuantisedEncoder(28, 1, {4, 8});
  EXPECT_EQ(EncoderGradients::Bytes(options, 4, TensorModelTarget({.bfloat16 = false})), 0u);
  EXPECT_GT(EncoderGradients::Bytes(options, 4, TensorModelTarget({.bfloat16 = true})), 100'000u);
}

}  // namespace
}  // namespace tributary::accelerator
