#include "core/nn/encoder/label_free_evaluation.h"

#include <Eigen/Core>
#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "core/nn/encoder/strong_augmenter.h"

namespace tributary::nn {
namespace {

using Rows = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

constexpr std::uint64_t kFirstViews = 1, kSecondViews = 2;
constexpr float kLeastDeviation = 1e-6f;  // a feature that is the same for all images stays zero

Rows FeaturesOf(SelfSupervisedTrainer& trainer, std::span<const std::uint8_t> images) {
  const std::vector<float> features = trainer.Features(images);
  const auto width = static_cast<Eigen::Index>(trainer.options().encoder.feature_count());
  return Eigen::Map<const Rows>(features.data(), static_cast<Eigen::Index>(features.size()) / width, width);
}

// a · bᵀ
Rows Products(const Rows& a, const Rows& b) { return a * b.transpose(); }

// By the mean and the deviation of the unchanged images.
struct Standard {
  explicit Standard(const Rows& features) : mean(features.cols()), inverse(features.cols()) {
    const auto count = static_cast<float>(features.rows());
    for (Eigen::Index column = 0; column < features.cols(); ++column) {
      float sum = 0, squares = 0;
      for (Eigen::Index row = 0; row < features.rows(); ++row) sum += features(row, column);
      mean[column] = sum / count;
      for (Eigen::Index row = 0; row < features.rows(); ++row) {
        const float apart = features(row, column) - mean[column];
        squares += apart * apart;
      }
      inverse[column] = 1 / std::max(std::sqrt(squares / count), kLeastDeviation);
    }
  }

  Rows Apply(const Rows& features) const {
    Rows applied(features.rows(), features.cols());
    for (Eigen::Index row = 0; row < features.rows(); ++row) {
      for (Eigen::Index column = 0; column < features.cols(); ++column) {
        applied(row, column) = (features(row, column) - mean[column]) * inverse[column];
      }
    }
    return applied;
  }

  Eigen::VectorXf mean, inverse;
};

double EffectiveRank(const Rows& standardised) {
  const Rows columns = standardised.transpose();
  const Eigen::MatrixXf covariance = Products(columns, columns) / static_cast<float>(standardised.rows());
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXf> solver(covariance, Eigen::EigenvaluesOnly);
  std::vector<double> singular;
  for (const float value : solver.eigenvalues()) singular.push_back(std::sqrt(std::max(0.0f, value)));
  const double total = std::accumulate(singular.begin(), singular.end(), 0.0);
  double entropy = 0;
  for (const double value : singular) {
    if (value > 0) entropy -= value / total * std::log(value / total);
  }
  return total > 0 ? std::exp(entropy) : 0.0;
}

double Uniformity(const Rows& units) {
  const Rows cosines = Products(units, units);
  double sum = 0;
  for (Eigen::Index i = 1; i < cosines.rows(); ++i) {
    for (Eigen::Index j = 0; j < i; ++j) sum += std::exp(-4.0 * (1.0 - cosines(i, j)));  // d² = 2 − 2 cos
  }
  const double pairs = static_cast<double>(cosines.rows()) * static_cast<double>(cosines.rows() - 1) / 2;
  return std::log(sum / pairs);
}

double Retrieval(const Rows& first, const Rows& second) {
  const Rows cosines = Products(first, second);
  Eigen::Index found = 0;
  for (Eigen::Index i = 0; i < cosines.rows(); ++i) {
    Eigen::Index nearest = 0;
    cosines.row(i).maxCoeff(&nearest);
    found += nearest == i ? 1 : 0;
  }
  return static_cast<double>(found) / static_cast<double>(cosines.rows());
}

}  // namespace

absl::StatusOr<LabelFreeEvaluation> EvaluateWithoutLabels(SelfSupervisedTrainer& trainer,
                                                          std::span<const std::uint8_t> images) {
  const ImageShape shape = trainer.options().encoder.image();
  const std::size_t pixels = shape.size();
  images = images.first(std::min(images.size() / pixels, kLabelFreeImages) * pixels);
  if (images.size() < 2 * pixels) return absl::InvalidArgumentError("needs two images at least");
  // Shape and light only: a measure that does not change with the settings of the views.
  const auto augmenter = CreateStrongAugmenter({.side = shape.side,
                                                .channels = shape.channels,
                                                .crop = 0.6,
                                                .brightness = 0.1,
                                                .contrast = 0.3,
                                                .saturation = 0,
                                                .hue_deg = 0,
                                                .grey = 0});
  const Rows unchanged = FeaturesOf(trainer, images);
  const Standard standard(unchanged);
  std::vector<std::uint8_t> views(images.size());
  const auto units_of = [&](std::uint64_t key) {
    augmenter->MakeViews(images, key, views);
    Rows units = standard.Apply(FeaturesOf(trainer, views));
    units.rowwise().normalize();
    return units;
  };
  const Rows first = units_of(kFirstViews), second = units_of(kSecondViews);
  return LabelFreeEvaluation{.retrieval = Retrieval(first, second),
                             .alignment = (first - second).rowwise().squaredNorm().mean(),
                             .uniformity = Uniformity(first),
                             .rank = EffectiveRank(standard.Apply(unchanged))};
}

}  // namespace tributary::nn
