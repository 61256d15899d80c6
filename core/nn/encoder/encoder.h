// The convolutional encoder: forward by batch or running statistics, and backward.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "core/nn/encoder/encoder_options.h"
#include "core/nn/encoder/stage_unit.h"
#include "core/nn/kernel/activate_pool.h"
#include "core/nn/kernel/convolution_3x3.h"
#include "core/nn/kernel/parameter_layout.h"
#include "core/nn/kernel/planes.h"
#include "core/nn/kernel/winograd_3x3.h"

namespace tributary::nn {

// InvalidArgument, naming the first option at fault.
absl::Status Validate(const EncoderOptions& options);

inline constexpr float kEncoderNormEpsilon = 1e-5f;
// Weight of a batch in the running statistics while training, as PyTorch's default.
inline constexpr float kEncoderNormMomentum = 0.1f;

// Its tensors: encoder.conv<i>.weight [outputs × inputs × 3 × 3]; with a norm encoder.norm<i>.weight and
// .bias; with batch norm also .running_mean and .running_variance; i from 1.
std::vector<parameters::TensorShape> EncoderTensors(const EncoderOptions& options);

// What one step of a weight of 8 bits means.
inline constexpr float kKernelUnit = 1.0f / 128.0f;

// Nearest multiples of kKernelUnit (ties to even), saturated where a word exceeds 127 or a sum of 255 ·
// |word| over all taps of `inputs` channels could exceed 2^24: up to there float32 holds every integer, so
// float arithmetic equals the hardware's bit for bit. Equal lengths.
void QuantiseKernels(std::span<const float> weights, std::size_t inputs, std::span<std::int8_t> words);

// The activations that a forward pass keeps for the backward one.
struct EncoderPass {
  EncoderPass(const EncoderOptions& options, std::size_t batch);

  struct Stage {
    NormCoefficients Norm(std::size_t channel) const {
      const std::size_t at = channel * raw.shape().lanes();
      return {factor.data() + at, term.data() + at};
    }

    Planes raw;                         // what the convolution gave; quantised: rounded and clipped
    std::vector<float> factor, term;    // the norm's, [channels × lanes], zero behind the batch
    std::vector<float> mean, variance;  // [channels] of this batch, for batch norm; variance unbiased
    std::vector<float> inverse;         // 1 / deviation [channels], or 1 / mean magnitude [channels × batch]
    Planes pooled;
    Planes peak;  // the pixel of `raw` behind each pooled pixel
  };
  Planes input;
  std::vector<Stage> stages;
};

// Bytes that a pass and an encoder hold, for valid options.
std::uint64_t EncoderPassBytes(const EncoderOptions& options, std::uint64_t batch);
std::uint64_t EncoderBytes(const EncoderOptions& options, std::uint64_t batch);

// What a batch norm divides by: the batch to train, the running statistics to infer.
enum class EncoderStatistics { kBatch, kRunning };

// Owns packed weights and the gradients' buffers; the parameters are the caller's flat vector. One thread at
// a time; nothing is allocated after the constructor.
class Encoder {
 public:
  Encoder(const EncoderOptions& options, const ParameterLayout& layout, std::size_t batch);

  // Who computes the convolutions of a quantised encoder and their gradients from now on; null: the
  // processor.
  void SetUnit(std::unique_ptr<StageUnit> unit) { unit_ = std::move(unit); }

  // Images [batch × input_channels × side × side] to feature-major features [feature_count × batch].
  void Forward(EncoderStatistics statistics, std::span<const float> parameters,
               std::span<const std::uint8_t> images, EncoderPass& pass, std::span<float> features);

  // Mixes the statistics of `pass`'s batch into the running ones with this weight.
  void MixStatistics(const EncoderPass& pass, float weight, std::span<float> parameters) const;

  // gradient += that of the parameters, given that of the features. Right after Forward by the batch or with
  // the same parameters.
  void Backward(std::span<const float> parameters, const EncoderPass& pass,
                std::span<const float> feature_gradient, std::span<float> gradient);

 private:
  struct StageRanges {
    ParameterRange weight, scale, shift, mean, variance;
  };
  void NormByBatch(std::span<const float> parameters, std::size_t stage, std::size_t channel,
                   EncoderPass::Stage& s);
  void NormByStatistics(std::span<const float> parameters, std::size_t stage, std::size_t channel,
                        EncoderPass::Stage& s) const;
  void NormByResponse(std::span<const float> parameters, std::size_t stage, std::size_t channel,
                      EncoderPass::Stage& s);
  ImageSums SumChannel(const Planes& raw, std::size_t channel);
  void SetNorm(EncoderPass::Stage& s, std::size_t channel, float factor, float term) const;
  void BackwardChannel(std::size_t stage, std::size_t channel, const EncoderPass::Stage& s,
                       std::span<float> gradient, float* raw_gradient);
  void AddFirstGradient(const Planes& x, std::size_t first, std::span<float> weight_gradient);
  void AddGradient(std::span<const float> parameters, std::size_t stage, const Planes& x,
                   std::span<float> weight_gradient);
  std::span<const float> Weights(std::span<const float> parameters, std::size_t stage);
  std::span<std::int8_t> Quantise(std::span<const float> parameters, std::size_t stage);
  bool ComputeOnUnit(std::span<const float> parameters, std::span<const std::uint8_t> images);
  void TakeFromUnit(std::size_t stage, Planes& raw) const;

  EncoderOptions options_;
  std::size_t batch_;
  ClipActivation activation_;
  std::vector<StageRanges> ranges_;
  std::vector<Convolution3x3> convolutions_;  // the first stage's, and where the forward sums must be exact
  std::vector<Winograd3x3> winograds_;        // from the second stage on
  std::vector<std::int8_t> kernels_;          // quantised: of all stages
  std::vector<float> quantised_weights_;      // of one
  std::unique_ptr<StageUnit> unit_;
  std::vector<Planes> raw_gradient_;     // per stage; of the first stage a group of channels
  std::vector<Planes> pooled_gradient_;  // per stage
  // The channel under way; [lanes] each, zero behind the batch.
  struct {
    std::vector<float> sum, squares, magnitude;
    std::vector<float> gradient_sum, gradient_product;
    std::vector<float> direct, slope, sign, term;
  } lanes_;
};

}  // namespace tributary::nn
