#include "core/radio/speech.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace tributary::radio {
namespace {

constexpr double kVoiced = 0.65;
constexpr double kUnvoiced = 0.23;
constexpr double kUnvoicedPower = 0.1;
constexpr double kPausePower = 1e-4;

constexpr double kLoudnessDb = 6;
constexpr double kNeperPerDb = std::numbers::ln10 / 10;  // of power
constexpr double kHighestHarmonicHz = 5000;
constexpr std::size_t kNoisePartials = 48;

// The mean of a lognormal power is exp(σ²/2).
double MeanPower() {
  const double sigma = kLoudnessDb * kNeperPerDb;
  return (kVoiced + kUnvoiced * kUnvoicedPower + (1 - kVoiced - kUnvoiced) * kPausePower) *
         std::exp(sigma * sigma / 2);
}

// The magnitude of a resonance, one at 0 Hz.
double Resonance(double hz, double centre_hz, double bandwidth_hz) {
  const std::complex<double> pole(-bandwidth_hz / 2, centre_hz);
  const std::complex<double> at(0, hz);
  return std::norm(pole) / std::abs((at - pole) * (at - std::conj(pole)));
}

// A complex exponential of each partial, stepped from sample to sample, in lanes that a compiler vectorises.
struct Oscillators {
  static constexpr std::size_t kLanes = 8;

  std::array<float, Speech::kMaxPartials> i{};
  std::array<float, Speech::kMaxPartials> q{};
  std::array<float, Speech::kMaxPartials> step_i{};
  std::array<float, Speech::kMaxPartials> step_q{};

  // Returns the sum over the first `count` (a multiple of kLanes) and steps them.
  std::complex<float> Next(std::size_t count) {
    std::array<float, kLanes> sum_i{};
    std::array<float, kLanes> sum_q{};
    for (std::size_t first = 0; first < count; first += kLanes) {
      for (std::size_t lane = 0; lane < kLanes; ++lane) {
        const std::size_t k = first + lane;
        sum_i[lane] += i[k];
        sum_q[lane] += q[k];
        const float next_i = i[k] * step_i[k] - q[k] * step_q[k];
        q[k] = i[k] * step_q[k] + q[k] * step_i[k];
        i[k] = next_i;
      }
    }
    std::complex<float> sum;
    for (std::size_t lane = 0; lane < kLanes; ++lane) sum += std::complex<float>(sum_i[lane], sum_q[lane]);
    return sum;
  }
};

}  // namespace

Speech Speech::Draw(Draws& draws) {
  Speech speech;
  const double sound = draws.Uniform();
  double power = std::exp(kLoudnessDb * kNeperPerDb * draws.Normal()) / MeanPower();
  if (sound < kVoiced) {
    speech.DrawVoiced(draws);
  } else if (sound < kVoiced + kUnvoiced) {
    speech.DrawNoise(draws, 1000, 6000);
    power *= kUnvoicedPower;
  } else {
    speech.DrawNoise(draws, 50, 6000);
    power *= kPausePower;
  }
  speech.ScaleTo(power);
  return speech;
}

void Speech::DrawVoiced(Draws& draws) {
  const double median_hz = draws.Uniform() < 0.5 ? 115 : 205;
  const double pitch_hz = median_hz * std::exp(0.2 * std::clamp(draws.Normal(), -3.0, 3.0));
  const double first_hz = draws.Between(300, 800);
  const double second_hz = draws.Between(900, 2200);
  const double third_hz = draws.Between(2200, 3000);
  count_ = std::min(kMaxPartials, static_cast<std::size_t>(kHighestHarmonicHz / pitch_hz));
  for (std::size_t k = 0; k < count_; ++k) {
    const double hz = pitch_hz * static_cast<double>(k + 1);
    const double amplitude = Resonance(hz, first_hz, 80) * Resonance(hz, second_hz, 110) *
                             Resonance(hz, third_hz, 160) / static_cast<double>(k + 1);
    hz_[k] = static_cast<float>(hz);
    amplitude_[k] = std::polar(static_cast<float>(amplitude), static_cast<float>(draws.Phase()));
  }
}

void Speech::DrawNoise(Draws& draws, double lowest_hz, double highest_hz) {
  count_ = kNoisePartials;
  for (std::size_t k = 0; k < count_; ++k) {
    hz_[k] = static_cast<float>(draws.Between(lowest_hz, highest_hz));
    amplitude_[k] = std::polar(1.0f, static_cast<float>(draws.Phase()));
  }
}

double Speech::power() const {
  double sum = 0;
  for (std::size_t k = 0; k < count_; ++k) sum += std::norm(amplitude_[k]);
  return sum;
}

void Speech::ScaleTo(double wanted) {
  const auto gain = static_cast<float>(std::sqrt(wanted / power()));
  for (std::size_t k = 0; k < count_; ++k) amplitude_[k] *= gain;
}

void Speech::WriteAnalytic(double sample_rate_hz, std::span<float> i, std::span<float> q) const {
  Oscillators oscillators;
  for (std::size_t k = 0; k < count_; ++k) {
    const auto angle = static_cast<float>(2 * std::numbers::pi * hz_[k] / sample_rate_hz);
    oscillators.i[k] = amplitude_[k].real();
    oscillators.q[k] = amplitude_[k].imag();
    oscillators.step_i[k] = std::cos(angle);
    oscillators.step_q[k] = std::sin(angle);
  }
  constexpr std::size_t kLanes = Oscillators::kLanes;
  const std::size_t lanes = (count_ + kLanes - 1) / kLanes * kLanes;
  for (std::size_t n = 0; n < i.size(); ++n) {
    const std::complex<float> sum = oscillators.Next(lanes);
    i[n] = sum.real();
    q[n] = sum.imag();
  }
}

}  // namespace tributary::radio
