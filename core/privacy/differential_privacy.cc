#include "core/privacy/differential_privacy.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>

#include "core/status/macros.h"

namespace tributary::privacy {
namespace {

// In (0, 1]: its logarithm is finite.
double Uniform(std::int32_t high, std::int32_t low) {
  const std::uint64_t bits =
      std::uint64_t{static_cast<std::uint32_t>(high)} << 32 | static_cast<std::uint32_t>(low);
  return (static_cast<double>(bits >> 11) + 1) * 0x1p-53;
}

double LogBinomial(int n, int k) { return std::lgamma(n + 1) - std::lgamma(k + 1) - std::lgamma(n - k + 1); }

// log(e^a + e^b); b is finite.
double LogAdd(double a, double b) {
  return std::max(a, b) + std::log1p(std::exp(std::min(a, b) - std::max(a, b)));
}

}  // namespace

absl::StatusOr<Key32> NoiseKey(std::uint64_t seed, std::uint32_t round) {
  if (seed == 0) return RandomKey();
  Key32 secret{};
  for (std::size_t byte = 0; byte < sizeof(seed); ++byte)
    secret[byte] = static_cast<std::byte>(seed >> 8 * byte);
  return DeriveKey(secret, fmt::format("noise of round {}", round));
}

absl::Status AddGaussianNoise(const Key32& key, double deviation, std::span<float> values) {
  if (!(deviation > 0) || !std::isfinite(deviation)) {
    return absl::InvalidArgumentError(fmt::format("deviation {}, expected a positive number", deviation));
  }
  constexpr std::size_t kWordsPerPair = 4;
  std::array<std::int32_t, 1024 * kWordsPerPair> words;
  for (std::size_t pair = 0; 2 * pair < values.size(); ++pair) {
    const std::size_t place = pair * kWordsPerPair % words.size();
    if (place == 0) {
      words.fill(0);
      RETURN_IF_ERROR(AddKeystream(key, pair * kWordsPerPair, false, words));
    }
    const double radius = deviation * std::sqrt(-2 * std::log(Uniform(words[place], words[place + 1])));
    const double angle = 2 * std::numbers::pi * Uniform(words[place + 2], words[place + 3]);
    values[2 * pair] += static_cast<float>(radius * std::cos(angle));
    if (2 * pair + 1 < values.size()) values[2 * pair + 1] += static_cast<float>(radius * std::sin(angle));
  }
  return absl::OkStatus();
}

double SampledGaussianRdp(double noise_multiplier, double sample_fraction, int order) {
  const double twice_variance = 2 * noise_multiplier * noise_multiplier;
  if (sample_fraction >= 1) return order / twice_variance;
  // [Mironov19], section 3.3: log E[(1 − q + q e^((2z − 1) / 2σ²))^α] for z ~ N(0, σ²).
  double sum = -std::numeric_limits<double>::infinity();
  for (int k = 0; k <= order; ++k) {
    const double term = LogBinomial(order, k) + (order - k) * std::log1p(-sample_fraction) +
                        k * std::log(sample_fraction) + (static_cast<double>(k) * k - k) / twice_variance;
    sum = LogAdd(sum, term);
  }
  return std::max(sum, 0.0) / (order - 1);
}

absl::StatusOr<double> EpsilonAfter(std::size_t rounds, double noise_multiplier, double sample_fraction,
                                    double delta) {
  if (!(noise_multiplier > 0) || !std::isfinite(noise_multiplier)) {
    return absl::InvalidArgumentError(
        fmt::format("noise multiplier {}, expected a positive number", noise_multiplier));
  }
  if (!(sample_fraction > 0 && sample_fraction <= 1)) {
    return absl::InvalidArgumentError(
        fmt::format("sample fraction {}, expected above 0 and at most 1", sample_fraction));
  }
  if (rounds == 0) return 0;
  double best = std::numeric_limits<double>::infinity();
  for (int order = 2; order <= 256; ++order) {
    const double spent =
        static_cast<double>(rounds) * SampledGaussianRdp(noise_multiplier, sample_fraction, order);
    const double conversion = std::log1p(-1.0 / order) - (std::log(delta) + std::log(order)) / (order - 1);
    best = std::min(best, spent + conversion);
  }
  return std::max(best, 0.0);
}

}  // namespace tributary::privacy
