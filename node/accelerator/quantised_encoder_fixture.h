// Encoders that the tensor unit can compute, for tests.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "core/nn/encoder/encoder_options.h"

namespace tributary::accelerator {

inline nn::EncoderOptions QuantisedEncoder(std::size_t side, std::size_t inputs,
                                           std::vector<std::size_t> channels) {
  return {.side = side,
          .input_channels = inputs,
          .channels = std::move(channels),
          .grid = 1,
          .norm = nn::EncoderNorm::kNone,
          .activation = nn::EncoderActivation::kHardClip,
          .quantised = true};
}

}  // namespace tributary::accelerator
