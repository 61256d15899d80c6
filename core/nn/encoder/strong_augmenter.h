// Views that differ in place, size and light: what contrastive learning needs to see past pixels ([Chen20]).
#pragma once

#include <cstddef>
#include <memory>

#include "absl/status/status.h"
#include "core/nn/encoder/augmenter.h"

namespace tributary::nn {

// Each is 0 for a view that keeps it as it is. The defaults of what grey images have, too, were chosen
// without labels (docs/models.md); those of colour are [Chen20]'s for CIFAR-10.
struct StrongAugmentationOptions {
  std::size_t side = 28;
  std::size_t channels = 1;  // 1: grey; 3: colour
  double crop = 0.7;         // largest part of the image's area that a view leaves out, below 1
  double rotation_deg = 0;   // largest angle, either way
  double brightness = 0.2;   // largest shift, in parts of white
  double contrast = 0.6;     // a factor between 1 / (1 + contrast) and 1 + contrast, evenly in its logarithm
  double blur = 0;           // probability; sigma is 0.1 to 2 pixels
  double cut_out = 0;        // largest side of a square at the image's mean grey, in parts of the side
  double flip = 0;           // probability of left for right: only where a mirrored image means the same
  // Colour images only.
  double saturation = 0.4;  // a factor between 1 / (1 + saturation) and 1 + saturation
  double hue_deg = 36;      // largest turn around the axis of the greys, either way
  double grey = 0.2;        // probability of a view without colour
};

// InvalidArgument, naming the first option at fault (core/nn/encoder/training_limits.h).
absl::Status Validate(const StrongAugmentationOptions& options);

// For valid options. Crop, rotation and flip are one bilinear step. Pixels outside of the image are those of
// its edge: a black border would tell the two views' angle. Owns its buffers.
std::unique_ptr<Augmenter> CreateStrongAugmenter(const StrongAugmentationOptions& options);

}  // namespace tributary::nn
