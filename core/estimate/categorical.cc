#include "core/estimate/categorical.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"

namespace tributary::estimate {
namespace {

constexpr double kImpossible = -std::numeric_limits<double>::infinity();

absl::StatusOr<std::vector<double>> NormaliseAndFloor(std::span<const double> values, double floor) {
  absl::StatusOr<std::vector<double>> normalised = NormaliseLogProbabilities(values);
  if (!normalised.ok()) return normalised.status();
  for (double& value : *normalised) value = std::max(value, floor);
  return normalised;
}

}  // namespace

double LogSumExp(std::span<const double> values) {
  double largest = kImpossible;
  for (double value : values) largest = std::max(largest, value);
  if (largest == kImpossible) return kImpossible;
  double sum = 0;
  for (double value : values) sum += std::exp(value - largest);
  return largest + std::log(sum);
}

absl::StatusOr<std::vector<double>> NormaliseLogProbabilities(std::span<const double> values) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (std::isnan(values[i]) || values[i] == -kImpossible) {
      return absl::InvalidArgumentError(absl::StrCat("log-probability ", i, " is ", values[i]));
    }
  }
  const double total = LogSumExp(values);
  if (total == kImpossible) return absl::InvalidArgumentError("no class has a probability above 0");
  std::vector<double> normalised(values.begin(), values.end());
  for (double& value : normalised) value -= total;
  return normalised;
}

absl::StatusOr<std::vector<double>> ConflateCategorical(std::span<const std::vector<double>> sources,
                                                        std::span<const double> log_prior, double floor) {
  if (sources.empty()) return absl::InvalidArgumentError("no source to conflate");
  std::vector<double> prior(sources.front().size(), 0.0);
  if (!log_prior.empty()) prior.assign(log_prior.begin(), log_prior.end());
  const absl::StatusOr<std::vector<double>> shared = NormaliseAndFloor(prior, floor);
  if (!shared.ok()) return absl::InvalidArgumentError(absl::StrCat("prior: ", shared.status().message()));

  std::vector<double> product = *shared;
  for (std::size_t i = 0; i < sources.size(); ++i) {
    if (sources[i].size() != product.size()) {
      return absl::InvalidArgumentError(
          absl::StrCat("source ", i, " has ", sources[i].size(), " classes, expected ", product.size()));
    }
    const absl::StatusOr<std::vector<double>> posterior = NormaliseAndFloor(sources[i], floor);
    if (!posterior.ok()) {
      return absl::InvalidArgumentError(absl::StrCat("source ", i, ": ", posterior.status().message()));
    }
    for (std::size_t c = 0; c < product.size(); ++c) product[c] += (*posterior)[c] - (*shared)[c];
  }
  return NormaliseLogProbabilities(product);
}

}  // namespace tributary::estimate
