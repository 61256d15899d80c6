#include "core/estimate/consistency.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace tributary::estimate {

// Closed forms of the regularised upper gamma function Q(degrees / 2, x / 2).
double ChiSquareSurvival(int degrees, double x) {
  switch (degrees) {
    case 1:
      return std::erfc(std::sqrt(x / 2));
    case 2:
      return std::exp(-x / 2);
    default:
      return std::erfc(std::sqrt(x / 2)) + std::sqrt(2 * x / std::numbers::pi) * std::exp(-x / 2);
  }
}

double ChiSquareQuantile(int degrees, double probability) {
  double low = 0;
  double high = 1;
  while (high < 1e4 && ChiSquareSurvival(degrees, high) > 1 - probability) high *= 2;
  for (int i = 0; i < 100; ++i) {  // until no double lies between
    const double middle = (low + high) / 2;
    (ChiSquareSurvival(degrees, middle) > 1 - probability ? low : high) = middle;
  }
  return high;
}

ConsistencyBand ConsistencyBandOf(std::uint32_t dimension, double tuples) {
  constexpr double kNormalQuantile = 3.2905267315;  // of 0.9995
  const double variance = 2 / (9 * dimension * tuples);
  const double reach = kNormalQuantile * std::sqrt(variance);
  const auto cube = [](double root) { return root * root * root; };
  return {cube(std::max(0.0, 1 - variance - reach)), cube(1 - variance + reach), tuples};
}

}  // namespace tributary::estimate
