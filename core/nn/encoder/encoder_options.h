// The parts of an encoder: stages of convolution 3×3, norm, activation and 2×2 pooling, then the mean of
// areas.
#pragma once

#include <cstddef>
#include <vector>

#include "core/nn/kernel/image_shape.h"

namespace tributary::nn {

// Between convolution and activation. The L1 filter-response norm divides each channel of each image by its
// mean magnitude: it is cheaper than the batch norm ([SSL], 8.2) and needs no other image.
enum class EncoderNorm { kBatch, kFilterResponse, kNone };

// max(x, 0), or x clipped to 0 … 255/256: the range of 8-bit results.
enum class EncoderActivation { kRelu, kHardClip };
inline constexpr float kPixelUnit = 1.0f / 256.0f;  // what one step of 8 bits means
inline constexpr float kHardClipCeiling = 255 * kPixelUnit;

// Images are `side` × `side` pixels of 8 bits for each of the input channels, and mean pixel / 256.
struct EncoderOptions {
  std::size_t side = 28;
  std::size_t input_channels = 1;                    // 1: grey; 3: colour
  std::vector<std::size_t> channels = {16, 32, 64};  // one stage each, which halves the sides, rounding down
  std::size_t grid = 3;  // features: the means of grid × grid areas of each channel
  EncoderNorm norm = EncoderNorm::kBatch;
  EncoderActivation activation = EncoderActivation::kRelu;
  // Forward as the tensor unit computes: 8-bit weights and activations (stage_unit.h), gradients straight
  // through the rounding. Requires EncoderNorm::kNone and EncoderActivation::kHardClip.
  bool quantised = false;

  ImageShape image() const { return {side, input_channels}; }
  std::size_t feature_count() const { return channels.back() * grid * grid; }
};

}  // namespace tributary::nn
