// The quality of features where nobody has labels: by these figures the default recipe was chosen.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "absl/status/statusor.h"
#include "core/nn/encoder/self_supervised_trainer.h"

namespace tributary::nn {

// Over two views of each image, of features that are standardised and then brought to unit length.
struct LabelFreeEvaluation {
  // Share of the images whose second view is the nearest of all second views to their first one. Joins the
  // next two: high if views of an image are near and other images are far.
  double retrieval = 0;
  double alignment = 0;   // mean squared distance between the views of an image; 0 is best ([Wang20])
  double uniformity = 0;  // log of the mean exp(−2 d²) between images; −4 is best ([Wang20])
  double rank = 0;        // effective number of features: exp of the entropy of their singular values
};

// Beyond this number of images the rest are not looked at: the cost is the square of it.
inline constexpr std::size_t kLabelFreeImages = 1500;

// For [n × side × side] images, by the running statistics. The views are strong ones, the same for every
// encoder whatever it was trained with: crops down to 40 %, brightness 0.1, contrast 0.3. Errors:
// InvalidArgument for fewer than two images.
absl::StatusOr<LabelFreeEvaluation> EvaluateWithoutLabels(SelfSupervisedTrainer& trainer,
                                                          std::span<const std::uint8_t> images);

}  // namespace tributary::nn
