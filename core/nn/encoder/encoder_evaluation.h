// The quality of features, by a linear classifier and by the nearest neighbours.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "absl/status/statusor.h"

namespace tributary::nn {

struct EncoderEvaluation {
  double linear_accuracy = 0;  // of one softmax layer on standardised features, 0 … 1
  double knn_accuracy = 0;     // of the 20 nearest by cosine, weighted by it
  double spread = 0;           // collapse check over the test features (core/nn/optimise/cosine_loss.h)
};

// Row-major features [n × width].
struct LabelledFeatures {
  std::span<const float> features;
  std::span<const std::uint8_t> labels;  // [n]
};

// Features are standardised by the training set's mean and deviation. Deterministic. Errors: InvalidArgument
// for empty sets, sizes that do not fit, fewer than two classes or a feature that is not finite.
absl::StatusOr<EncoderEvaluation> EvaluateFeatures(const LabelledFeatures& train,
                                                   const LabelledFeatures& test, std::size_t width);

}  // namespace tributary::nn
