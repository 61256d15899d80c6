#include "core/privacy/gaussian_noise.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <numbers>

namespace tributary::privacy {
namespace {

// In (0, 1]: its logarithm is finite.
double Uniform(std::int32_t high, std::int32_t low) {
  const std::uint64_t bits =
      std::uint64_t{static_cast<std::uint32_t>(high)} << 32 | static_cast<std::uint32_t>(low);
  return (static_cast<double>(bits >> 11) + 1) * 0x1p-53;
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
      if (absl::Status status = AddKeystream(key, pair * kWordsPerPair, false, words); !status.ok())
        return status;
    }
    const double radius = deviation * std::sqrt(-2 * std::log(Uniform(words[place], words[place + 1])));
    const double angle = 2 * std::numbers::pi * Uniform(words[place + 2], words[place + 3]);
    values[2 * pair] += static_cast<float>(radius * std::cos(angle));
    if (2 * pair + 1 < values.size()) values[2 * pair + 1] += static_cast<float>(radius * std::sin(angle));
  }
  return absl::OkStatus();
}

double ClipFactor(double sum_of_squares, double clip_norm) {
  if (clip_norm <= 0 || sum_of_squares <= clip_norm * clip_norm) return 1;
  return clip_norm / std::sqrt(sum_of_squares);
}

}  // namespace tributary::privacy
