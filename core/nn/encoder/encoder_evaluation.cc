#include "core/nn/encoder/encoder_evaluation.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "core/nn/kernel/gemm.h"
#include "core/nn/kernel/random_stream.h"
#include "core/nn/optimise/cosine_loss.h"
#include "core/nn/optimise/gradient_descent.h"
#include "core/status/macros.h"

namespace tributary::nn {
namespace {

constexpr std::size_t kNeighbours = 20;
constexpr double kTemperature = 0.07;  // of the neighbours' weights (Wu et al., 2018)
constexpr std::size_t kProbeBatch = 256;
constexpr std::size_t kProbeSteps = 3000;
constexpr double kProbeRate = 1e-2;

absl::Status Check(const LabelledFeatures& set, std::size_t width) {
  if (set.labels.empty()) return absl::InvalidArgumentError("a labelled set is empty");
  if (width == 0 || set.features.size() != set.labels.size() * width) {
    return absl::InvalidArgumentError("features and labels of a set do not fit each other");
  }
  if (!std::ranges::all_of(set.features, [](float v) { return std::isfinite(v); })) {
    return absl::InvalidArgumentError("a feature is not finite");
  }
  return absl::OkStatus();
}

struct Standardiser {
  std::vector<float> mean, inverse;

  Standardiser(std::span<const float> features, std::size_t width) : mean(width), inverse(width) {
    const std::size_t count = features.size() / width;
    for (std::size_t f = 0; f < width; ++f) {
      double sum = 0, squares = 0;
      for (std::size_t n = 0; n < count; ++n) {
        const double value = features[n * width + f];
        sum += value;
        squares += value * value;
      }
      const double centre = sum / static_cast<double>(count);
      const double variance = std::max(squares / static_cast<double>(count) - centre * centre, 0.0);
      mean[f] = static_cast<float>(centre);
      inverse[f] = variance > 1e-12 ? static_cast<float>(1.0 / std::sqrt(variance)) : 0.0f;
    }
  }

  std::vector<float> Apply(std::span<const float> features) const {
    std::vector<float> result(features.begin(), features.end());
    for (std::size_t i = 0; i < result.size(); ++i) {
      const std::size_t f = i % mean.size();
      result[i] = (result[i] - mean[f]) * inverse[f];
    }
    return result;
  }
};

// Turns logits [count × classes] into (softmax − one-hot) / count.
void SoftmaxGradient(std::span<float> logits, std::span<const std::uint8_t> labels, std::size_t classes) {
  for (std::size_t n = 0; n < labels.size(); ++n) {
    const std::span<float> row = logits.subspan(n * classes, classes);
    const float top = *std::ranges::max_element(row);
    float total = 0;
    for (float& value : row) total += value = std::exp(value - top);
    for (float& value : row) value /= total * static_cast<float>(labels.size());
    row[labels[n]] -= 1.0f / static_cast<float>(labels.size());
  }
}

// The class with the highest score.
template <class Scores>
std::size_t Choice(const Scores& scores) {
  return static_cast<std::size_t>(std::ranges::max_element(scores) - scores.begin());
}

double LinearAccuracy(const LabelledFeatures& train, const LabelledFeatures& test, std::size_t width,
                      std::size_t classes) {
  Gemm gemm;
  const std::size_t count = train.labels.size(), batch = std::min(kProbeBatch, count);
  std::vector<float> weights(classes * (width + 1), 0.0f), gradient(weights.size());  // the bias behind
  std::vector<float> rows(batch * width), logits(batch * classes);
  std::vector<std::uint8_t> labels(batch);
  Adam adam(weights.size());
  const CosineSchedule schedule{kProbeRate, kProbeSteps};
  RandomStream random(1);
  const std::size_t bias = classes * width;
  const auto add_bias = [&](std::span<float> values) {
    for (std::size_t i = 0; i < values.size(); ++i) values[i] += weights[bias + i % classes];
  };
  for (std::size_t step = 0; step < kProbeSteps; ++step) {
    for (std::size_t n = 0; n < batch; ++n) {
      const std::size_t pick = random.Below(count);
      std::copy_n(train.features.begin() + static_cast<std::ptrdiff_t>(pick * width), width,
                  rows.begin() + static_cast<std::ptrdiff_t>(n * width));
      labels[n] = train.labels[pick];
    }
    gemm.Multiply(RowMajor(rows.data(), batch, width), Transposed(RowMajor(weights.data(), classes, width)),
                  logits.data());
    add_bias(logits);
    SoftmaxGradient(logits, labels, classes);
    gemm.Multiply(Transposed(RowMajor(logits.data(), batch, classes)), RowMajor(rows.data(), batch, width),
                  gradient.data());
    std::fill(gradient.begin() + static_cast<std::ptrdiff_t>(bias), gradient.end(), 0.0f);
    for (std::size_t i = 0; i < logits.size(); ++i) gradient[bias + i % classes] += logits[i];
    adam.Step(weights, gradient, schedule.Rate(step));
  }

  std::vector<float> scores(test.labels.size() * classes);
  gemm.Multiply(RowMajor(test.features.data(), test.labels.size(), width),
                Transposed(RowMajor(weights.data(), classes, width)), scores.data());
  add_bias(scores);
  std::size_t right = 0;
  for (std::size_t n = 0; n < test.labels.size(); ++n) {
    right += Choice(std::span(scores).subspan(n * classes, classes)) == test.labels[n];
  }
  return static_cast<double>(right) / static_cast<double>(test.labels.size());
}

void ToUnitLength(std::span<float> rows, std::size_t width) {
  for (std::size_t n = 0; n < rows.size(); n += width) {
    const std::span<float> row = rows.subspan(n, width);
    double squares = 0;
    for (const float v : row) squares += double{v} * v;
    const float inverse = squares > 0 ? static_cast<float>(1.0 / std::sqrt(squares)) : 0.0f;
    for (float& v : row) v *= inverse;
  }
}

double NeighbourAccuracy(const LabelledFeatures& train, const LabelledFeatures& test, std::size_t width,
                         std::size_t classes) {
  Gemm gemm;
  const std::size_t count = train.labels.size(), neighbours = std::min(kNeighbours, count);
  constexpr std::size_t kBlock = 64;
  std::vector<float> cosines(kBlock * count);
  std::vector<std::uint32_t> order(count);
  std::size_t right = 0;
  for (std::size_t first = 0; first < test.labels.size(); first += kBlock) {
    const std::size_t block = std::min(kBlock, test.labels.size() - first);
    gemm.Multiply(RowMajor(test.features.data() + first * width, block, width),
                  Transposed(RowMajor(train.features.data(), count, width)), cosines.data());
    for (std::size_t n = 0; n < block; ++n) {
      const float* row = cosines.data() + n * count;
      std::iota(order.begin(), order.end(), 0U);
      std::nth_element(
          order.begin(), order.begin() + static_cast<std::ptrdiff_t>(neighbours - 1), order.end(),
          [row](std::uint32_t a, std::uint32_t b) { return row[a] > row[b] || (row[a] == row[b] && a < b); });
      std::vector<double> votes(classes, 0.0);
      for (std::size_t k = 0; k < neighbours; ++k) {
        votes[train.labels[order[k]]] += std::exp((double{row[order[k]]} - 1.0) / kTemperature);
      }
      right += Choice(votes) == test.labels[first + n];
    }
  }
  return static_cast<double>(right) / static_cast<double>(test.labels.size());
}

}  // namespace

absl::StatusOr<EncoderEvaluation> EvaluateFeatures(const LabelledFeatures& train,
                                                   const LabelledFeatures& test, std::size_t width) {
  for (const LabelledFeatures* set : {&train, &test}) {
    RETURN_IF_ERROR(Check(*set, width));
  }
  const std::size_t classes =
      std::max<std::size_t>(*std::ranges::max_element(train.labels), *std::ranges::max_element(test.labels)) +
      1;
  if (std::ranges::adjacent_find(train.labels, std::ranges::not_equal_to()) == train.labels.end()) {
    return absl::InvalidArgumentError("the training labels are all of one class");
  }
  const Standardiser standardiser(train.features, width);
  std::vector<float> train_rows = standardiser.Apply(train.features);
  std::vector<float> test_rows = standardiser.Apply(test.features);
  EncoderEvaluation result;
  result.linear_accuracy =
      LinearAccuracy({train_rows, train.labels}, {test_rows, test.labels}, width, classes);
  ToUnitLength(train_rows, width);
  ToUnitLength(test_rows, width);
  result.knn_accuracy =
      NeighbourAccuracy({train_rows, train.labels}, {test_rows, test.labels}, width, classes);
  std::vector<float> by_feature(test.features.size());
  const std::size_t count = test.labels.size();
  for (std::size_t i = 0; i < by_feature.size(); ++i)
    by_feature[i % width * count + i / width] = test.features[i];
  std::vector<double> norms(count);
  result.spread = Spread(by_feature, count, norms);
  return result;
}

}  // namespace tributary::nn
