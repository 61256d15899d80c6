// How often each class occurs where a classifier is used.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

namespace tributary::nn {

// Logarithms of the classes' frequencies among labels, each below `classes`, as if there were a tenth of a
// label more of each: a class that was not met yet may still come. Logit adjustment [Menon21] adds them to
// the logits.
inline std::vector<float> LogPriors(std::span<const std::uint8_t> labels, std::size_t classes) {
  constexpr double kUnmet = 0.1;
  std::vector<double> counts(classes, kUnmet);
  for (const std::size_t label : labels) counts[label] += 1;
  const double all = std::accumulate(counts.begin(), counts.end(), 0.0);
  std::vector<float> priors;
  priors.reserve(classes);
  for (const double count : counts) priors.push_back(static_cast<float>(std::log(count / all)));
  return priors;
}

}  // namespace tributary::nn
