// What a node may be asked to train: one definition for the run's file, the task on the wire and the trainer.
#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace tributary::nn {

// Inclusive.
struct TrainingLimit {
  double least;
  double most;

  // False for NaN.
  constexpr bool Admits(double value) const { return value >= least && value <= most; }
  // The message for a value out of range. ASCII: it crosses the wire.
  std::string Refusal(std::string_view name, double value) const {
    return fmt::format("{} must be from {} to {}, found {}", name, least, most, value);
  }
  // InvalidArgument with that message.
  template <class Number>
  absl::Status Check(std::string_view name, Number number) const {
    const auto value = static_cast<double>(number);
    return Admits(value) ? absl::OkStatus() : absl::InvalidArgumentError(Refusal(name, value));
  }
};

inline constexpr TrainingLimit kLocalStepsLimit = {1, 10'000'000};
inline constexpr TrainingLimit kBatchLimit = {2, 4096};  // a batch norm of one image has no variance
inline constexpr TrainingLimit kLearningRateLimit = {0, 100};
inline constexpr TrainingLimit kMomentumLimit = {0, 0.9999};
inline constexpr TrainingLimit kWeightDecayLimit = {0, 1};
inline constexpr TrainingLimit kProximalLimit = {0, 1e6};
inline constexpr TrainingLimit kEmaLambdaLimit = {0, 1e12};
inline constexpr TrainingLimit kTargetDecayLimit = {0, 1};
// 0 means that nothing is contrasted; simclr needs more.
inline constexpr TrainingLimit kTemperatureLimit = {0, 10};
inline constexpr TrainingLimit kClipNormLimit = {0, 1e12};
// The bound of an update's largest |element|: fixed point then holds a sum of any weight that nodes can
// declare.
inline constexpr TrainingLimit kMaxElementLimit = {1e-6, 1e6};

// Limits of the strong views (core/nn/encoder/strong_augmenter.h). A view keeps a twentieth of the image at
// least.
inline constexpr TrainingLimit kCropLimit = {0, 0.95};
inline constexpr TrainingLimit kRotationLimit = {0, 180};
inline constexpr TrainingLimit kBrightnessLimit = {0, 1};
inline constexpr TrainingLimit kContrastLimit = {0, 10};
inline constexpr TrainingLimit kCutOutLimit = {0, 0.9};
inline constexpr TrainingLimit kSaturationLimit = {0, 10};
inline constexpr TrainingLimit kHueLimit = {0, 180};
inline constexpr TrainingLimit kProbabilityLimit = {0, 1};

inline constexpr TrainingLimit kClassesLimit = {2, 256};  // a label is a byte
inline constexpr TrainingLimit kImageSideLimit = {4, 256};
inline constexpr TrainingLimit kInputChannelsLimit = {1, 3};  // grey or colour: 2 is neither
inline constexpr TrainingLimit kStagesLimit = {1, 6};
inline constexpr TrainingLimit kChannelsLimit = {1, 512};
inline constexpr TrainingLimit kProjectionLimit = {2, 4096};
inline constexpr TrainingLimit kBottleneckLimit = {0, 4096};

}  // namespace tributary::nn
