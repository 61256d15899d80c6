#include "core/recordings/snapshot_augmentation.h"

#include <array>
#include <cmath>
#include <complex>
#include <numbers>

#include "core/nn/positioning/positioning_network.h"
#include "core/scene/gaussian_noise.h"
#include "core/scene/room.h"

namespace tributary::recordings {
namespace {

constexpr std::size_t kHalfOfInputs = nn::PositioningNetwork::kInputs / 2;
constexpr double kNepersPerDb = std::numbers::ln10 / 20;

}  // namespace

void AugmentSnapshot(const SnapshotAugmentation& augmentation, nn::RandomStream& random,
                     nn::FeatureSpan features) {
  const double gain = augmentation.gain_db * kNepersPerDb * random.Uniform();
  const double phase = augmentation.phase_deg * std::numbers::pi / 180 * random.Uniform();
  const double turn_per_subcarrier =
      2 * std::numbers::pi * scene::kSubcarrierSpacingHz * 1e-9 * augmentation.clock_ns * random.Normal();
  const double loudness = augmentation.loudness_db * kNepersPerDb * random.Normal();
  double energy = 0;
  for (const float v : features) energy += static_cast<double>(v) * v;
  const auto noise = static_cast<float>(augmentation.noise * random.Uniform() *
                                        std::sqrt(energy / nn::PositioningNetwork::kInputs));
  std::array<std::complex<float>, nn::PositioningNetwork::kSubcarriers> clock;
  for (std::size_t k = 0; k < clock.size(); ++k) {
    clock[k] = std::polar(1.0f, static_cast<float>(turn_per_subcarrier * static_cast<double>(k)));
  }
  std::array<float, nn::PositioningNetwork::kInputs> normal;
  scene::FillGaussianNoise(random.Bits(), 0, normal);
  for (std::size_t antenna = 0; antenna < nn::PositioningNetwork::kAntennas; ++antenna) {
    const auto receiver =
        std::complex<float>(std::polar(std::exp(loudness + gain * random.Normal()), phase * random.Normal()));
    for (std::size_t k = 0; k < clock.size(); ++k) {
      const std::size_t i = antenna * clock.size() + k;
      // By hand: std::complex multiplies by a function that looks for infinities.
      const float turn_re = receiver.real() * clock[k].real() - receiver.imag() * clock[k].imag();
      const float turn_im = receiver.real() * clock[k].imag() + receiver.imag() * clock[k].real();
      const float re = features[i], im = features[i + kHalfOfInputs];
      features[i] = re * turn_re - im * turn_im + noise * normal[i];
      features[i + kHalfOfInputs] = re * turn_im + im * turn_re + noise * normal[i + kHalfOfInputs];
    }
  }
}

}  // namespace tributary::recordings
