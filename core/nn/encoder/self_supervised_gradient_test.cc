// Every layer and loss between pixels and parameters, against finite differences in double.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "core/nn/encoder/self_supervised_fixture.h"
#include "core/nn/kernel/random_stream.h"

namespace tributary::nn {
namespace {

// The first call copies, the second mirrors, and so on: the test knows both views.
class MirrorAugmenter : public Augmenter {
 public:
  explicit MirrorAugmenter(std::size_t side) : side_(side) {}

  void MakeViews(std::span<const std::uint8_t> images, std::uint64_t /*key*/,
                 std::span<std::uint8_t> views) override {
    for (std::size_t i = 0; i < images.size(); ++i) {
      views[i] = mirrors_ ? images[i / side_ * side_ + (side_ - 1 - i % side_)] : images[i];
    }
    mirrors_ = !mirrors_;
  }

 private:
  std::size_t side_;
  bool mirrors_ = false;
};

struct Variant {
  const char* name;
  SelfSupervisedMethod method;
  EncoderNorm norm;
  EncoderActivation activation;
  bool head_norm;
  std::size_t input_channels = 1;
};

class SelfSupervisedGradientTest : public ::testing::TestWithParam<Variant> {
 protected:
  using Values = SelfSupervisedReference::Values;
  static constexpr std::size_t kSide = 9;  // odd: pooling leaves a row and a column out
  static constexpr std::size_t kBatch = 6;

  static SelfSupervisedOptions Options() {
    SelfSupervisedOptions options;
    options.method = GetParam().method;
    options.encoder.side = kSide;
    options.encoder.input_channels = GetParam().input_channels;
    options.encoder.channels = {3, 4};
    options.encoder.grid = 2;
    options.encoder.norm = GetParam().norm;
    options.encoder.activation = GetParam().activation;
    options.head_norm = GetParam().head_norm;
    options.projection = 5;
    options.bottleneck = 3;
    options.batch = kBatch;
    options.learning_rate = 256.0 / kBatch;  // a rate of 1: parameters fall by the gradient
    options.momentum = 0;
    options.weight_decay = 0;
    options.target_decay = 0.75;
    if (!options.predicts()) options.bottleneck = 0;
    return options;
  }

  static Values Parameters(const SelfSupervisedTrainer& trainer) {
    return {trainer.parameters().begin(), trainer.parameters().end()};
  }

  // One step of the trainer against the slope of the reference, element by element.
  void ExpectStepFollowsTheSlope(SelfSupervisedTrainer& trainer, const Values& target_parameters) {
    const ParameterLayout layout(trainer.Schema());
    const SelfSupervisedReference reference(trainer.options(), layout);
    std::vector<std::uint8_t> images(kBatch * trainer.options().encoder.image().size()),
        mirrored(images.size());
    RandomStream random(11);
    for (auto& pixel : images) pixel = static_cast<std::uint8_t>(random.Below(256));
    MirrorAugmenter mirror(kSide);
    mirror.MakeViews(images, 0, mirrored);
    mirror.MakeViews(images, 0, mirrored);
    const Values target1 = reference.Project(target_parameters, images);
    const Values target2 = reference.Project(target_parameters, mirrored);

    Values x = Parameters(trainer);
    const Values before = x;
    const double loss = trainer.Step(images).loss;
    const Values after = Parameters(trainer);
    EXPECT_NEAR(loss, reference.Loss(x, images, mirrored, target1, target2), 1e-5);

    for (const parameters::TensorShape& tensor : layout.tensors()) {
      if (tensor.name.find(".running_") != std::string::npos) continue;
      const ParameterRange range = layout.Range(tensor.name);
      Values slopes;
      double largest = 0;
      for (std::size_t i = range.offset; i < range.offset + range.size; ++i) {
        constexpr double kStep = 1e-6;  // its square and double's rounding over it are both below 1e-9
        x[i] = before[i] + kStep;
        const double above = reference.Loss(x, images, mirrored, target1, target2);
        x[i] = before[i] - kStep;
        const double below = reference.Loss(x, images, mirrored, target1, target2);
        x[i] = before[i];
        slopes.push_back((above - below) / (2 * kStep));
        largest = std::max(largest, std::abs(slopes.back()));
      }
      // Float sums over 486 pixels pass through four norms: a relative error of 1e-3 of the tensor's largest
      // element is allowed. The subtraction of the parameters leaves 1e-6. A wrong term is of the order of 1.
      for (std::size_t i = 0; i < range.size; ++i) {
        EXPECT_NEAR(before[range.offset + i] - after[range.offset + i], slopes[i], 1e-3 * largest + 1e-6)
            << tensor.name << "[" << i << "]";
      }
    }
  }
};

TEST_P(SelfSupervisedGradientTest, AgreesWithFiniteDifferencesInDouble) {
  const auto trainer = *SelfSupervisedTrainer::Create(Options(), std::make_unique<MirrorAugmenter>(kSide));
  const Values initial = Parameters(*trainer);
  ExpectStepFollowsTheSlope(*trainer, initial);

  // From now on BYOL aims at its moving average, SimSiam at itself.
  const Values second = Parameters(*trainer);
  Values target = second;
  if (GetParam().method == SelfSupervisedMethod::kByol) {
    for (std::size_t i = 0; i < target.size(); ++i) target[i] = initial[i] + 0.25 * (second[i] - initial[i]);
  }
  ExpectStepFollowsTheSlope(*trainer, target);
}

using Method = SelfSupervisedMethod;
using Activation = EncoderActivation;
INSTANTIATE_TEST_SUITE_P(
    EveryVariant, SelfSupervisedGradientTest,
    ::testing::Values(
        Variant{"simsiam_batch_norm_relu", Method::kSimSiam, EncoderNorm::kBatch, Activation::kRelu, true},
        Variant{"simsiam_batch_norm_hard_clip", Method::kSimSiam, EncoderNorm::kBatch, Activation::kHardClip,
                true},
        Variant{"simsiam_filter_response_relu", Method::kSimSiam, EncoderNorm::kFilterResponse,
                Activation::kRelu, true},
        Variant{"simsiam_no_norm_hard_clip", Method::kSimSiam, EncoderNorm::kNone, Activation::kHardClip,
                true},
        Variant{"simsiam_plain_heads", Method::kSimSiam, EncoderNorm::kBatch, Activation::kRelu, false},
        Variant{"simclr_batch_norm_relu", Method::kSimClr, EncoderNorm::kBatch, Activation::kRelu, true},
        Variant{"simclr_colour", Method::kSimClr, EncoderNorm::kBatch, Activation::kRelu, true, 3},
        Variant{"byol_colour_filter_response", Method::kByol, EncoderNorm::kFilterResponse, Activation::kRelu,
                true, 3},
        Variant{"simclr_no_norm_hard_clip", Method::kSimClr, EncoderNorm::kNone, Activation::kHardClip, true},
        Variant{"simclr_plain_heads", Method::kSimClr, EncoderNorm::kFilterResponse, Activation::kRelu,
                false},
        Variant{"byol_batch_norm_relu", Method::kByol, EncoderNorm::kBatch, Activation::kRelu, true},
        Variant{"byol_filter_response_hard_clip", Method::kByol, EncoderNorm::kFilterResponse,
                Activation::kHardClip, true}),
    [](const auto& variant) { return std::string(variant.param.name); });

}  // namespace
}  // namespace tributary::nn
