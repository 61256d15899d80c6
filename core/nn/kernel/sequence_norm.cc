#include "core/nn/kernel/sequence_norm.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace tributary::nn {
namespace {

// Lanes are summed side by side in single precision over one channel of a pass, then in double.
using LaneSums = std::array<float, kSequenceLanes>;

double Sum(const LaneSums& lanes, std::size_t used) {
  double sum = 0;
  for (std::size_t n = 0; n < used; ++n) sum += lanes[n];
  return sum;
}

// Calls visit(offset of the channel, lanes that are used) for each pass.
template <class Visit>
void ForEachPass(SequenceShape shape, std::size_t sequences, std::size_t channel, Visit visit) {
  std::size_t offset = channel * shape.length * kSequenceLanes;
  for (std::size_t first = 0; first < sequences; first += kSequenceLanes) {
    visit(offset, std::min(kSequenceLanes, sequences - first));
    offset += shape.size() * kSequenceLanes;
  }
}

// Calls visit(lane, index) for each value of one channel of a pass.
template <class Visit>
void ForEachValue(std::size_t length, std::size_t offset, Visit visit) {
  for (std::size_t t = 0; t < length; ++t, offset += kSequenceLanes) {
    for (std::size_t n = 0; n < kSequenceLanes; ++n) visit(n, offset + n);
  }
}

void ClearUnusedLanes(std::size_t length, std::size_t used, float* channel) {
  if (used == kSequenceLanes) return;
  for (std::size_t t = 0; t < length; ++t, channel += kSequenceLanes) {
    std::fill(channel + used, channel + kSequenceLanes, 0.0f);
  }
}

}  // namespace

SequenceNorm::SequenceNorm(SequenceShape shape)
    : shape_(shape),
      mean_(shape.channels),
      inverse_deviation_(shape.channels),
      running_mean_(shape.channels),
      running_variance_(shape.channels) {}

void SequenceNorm::Forward(std::size_t sequences, const float* x, std::span<const float> scale,
                           std::span<const float> shift, float* y) {
  const auto count = static_cast<double>(sequences * shape_.length);
  // The mean of all batches so far in the beginning, later an exponential one.
  const double weight = std::max(kMomentum, 1 / (running_weight_ += 1));
  for (std::size_t c = 0; c < shape_.channels; ++c) {
    double sum = 0;
    ForEachPass(shape_, sequences, c, [&](std::size_t offset, std::size_t used) {
      LaneSums lanes{};
      ForEachValue(shape_.length, offset, [&](std::size_t n, std::size_t i) { lanes[n] += x[i]; });
      sum += Sum(lanes, used);
    });
    const double mean = sum / count;
    const auto centre = static_cast<float>(mean);
    double squares = 0;
    ForEachPass(shape_, sequences, c, [&](std::size_t offset, std::size_t used) {
      LaneSums lanes{};
      ForEachValue(shape_.length, offset, [&](std::size_t n, std::size_t i) {
        const float distance = x[i] - centre;
        lanes[n] += distance * distance;
      });
      squares += Sum(lanes, used);
    });
    mean_[c] = mean;
    inverse_deviation_[c] = 1 / std::sqrt(squares / count + kEpsilon);
    running_mean_[c] += weight * (mean - running_mean_[c]);
    running_variance_[c] += weight * (squares / std::max(count - 1, 1.0) - running_variance_[c]);

    const auto factor = static_cast<float>(scale[c] * inverse_deviation_[c]);
    const float level = shift[c];
    ForEachPass(shape_, sequences, c, [&](std::size_t offset, std::size_t used) {
      ForEachValue(shape_.length, offset,
                   [&](std::size_t, std::size_t i) { y[i] = (x[i] - centre) * factor + level; });
      ClearUnusedLanes(shape_.length, used, y + offset);
    });
  }
}

void SequenceNorm::Backward(std::size_t sequences, const float* x, std::span<const float> scale,
                            float* gradient, std::span<float> scale_gradient,
                            std::span<float> shift_gradient) const {
  const auto count = static_cast<double>(sequences * shape_.length);
  for (std::size_t c = 0; c < shape_.channels; ++c) {
    const auto centre = static_cast<float>(mean_[c]);
    double sum = 0, product = 0;
    ForEachPass(shape_, sequences, c, [&](std::size_t offset, std::size_t used) {
      LaneSums sums{}, products{};
      ForEachValue(shape_.length, offset, [&](std::size_t n, std::size_t i) {
        sums[n] += gradient[i];
        products[n] += gradient[i] * (x[i] - centre);
      });
      sum += Sum(sums, used);
      product += Sum(products, used);
    });
    const double inverse = inverse_deviation_[c];
    shift_gradient[c] += static_cast<float>(sum);
    scale_gradient[c] += static_cast<float>(product * inverse);

    const auto factor = static_cast<float>(scale[c] * inverse);
    const auto mean = static_cast<float>(sum / count);
    const auto slope = static_cast<float>(product * inverse * inverse / count);
    ForEachPass(shape_, sequences, c, [&](std::size_t offset, std::size_t used) {
      ForEachValue(shape_.length, offset, [&](std::size_t, std::size_t i) {
        gradient[i] = factor * (gradient[i] - mean - (x[i] - centre) * slope);
      });
      ClearUnusedLanes(shape_.length, used, gradient + offset);
    });
  }
}

void SequenceNorm::Fold(std::span<const float> scale, std::span<const float> shift, std::span<float> factor,
                        std::span<float> offset) const {
  for (std::size_t c = 0; c < shape_.channels; ++c) {
    const double gain = scale[c] / std::sqrt(running_variance_[c] + kEpsilon);
    factor[c] = static_cast<float>(gain);
    offset[c] = static_cast<float>(shift[c] - running_mean_[c] * gain);
  }
}

}  // namespace tributary::nn
