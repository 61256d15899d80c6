#include "core/nn/positioning/phase_alignment.h"

#include <array>
#include <cmath>

namespace tributary::nn {
namespace {

constexpr std::size_t kHalf = PositioningNetwork::kInputs / 2;
constexpr std::size_t kSide = 8;  // rows, columns and subcarriers
static_assert(PositioningNetwork::kSubcarriers == kSide && PositioningNetwork::kAntennas == kSide * kSide);

// std::complex multiplies by a function that looks for infinities.
struct Phasor {
  float re = 0, im = 0;

  Phasor operator*(Phasor other) const {
    return {re * other.re - im * other.im, re * other.im + im * other.re};
  }
  Phasor Conjugate() const { return {re, -im}; }
  void Add(Phasor other) {
    re += other.re;
    im += other.im;
  }
};

// One for each row, column or subcarrier: real and imaginary parts apart, so that loops become vectors.
struct Phasors {
  std::array<float, kSide> re = {}, im = {};

  Phasor operator[](std::size_t i) const { return {re[i], im[i]}; }
};

// What turns a wave whose phase rises by that of `step` from place to place into one of the phase at place 4.
Phasors Unwinding(Phasor step) {
  const float magnitude = std::sqrt(step.re * step.re + step.im * step.im);
  const Phasor unit = magnitude == 0.0f ? Phasor{1, 0} : Phasor{step.re / magnitude, step.im / magnitude};
  constexpr std::size_t kMiddle = kSide / 2;
  std::array<Phasor, kSide> turns;
  turns[kMiddle] = {1, 0};
  for (std::size_t i = kMiddle + 1; i < kSide; ++i) turns[i] = turns[i - 1] * unit.Conjugate();
  for (std::size_t i = kMiddle; i > 0; --i) turns[i - 1] = turns[i] * unit;
  Phasors phasors;
  for (std::size_t i = 0; i < kSide; ++i) {
    phasors.re[i] = turns[i].re;
    phasors.im[i] = turns[i].im;
  }
  return phasors;
}

float Sum(const std::array<float, kSide>& v) {
  return ((v[0] + v[4]) + (v[2] + v[6])) + ((v[1] + v[5]) + (v[3] + v[7]));
}

// Σ a · b over the eight places.
Phasor Product(const float* re, const float* im, const Phasors& b) {
  Phasors product;
  for (std::size_t k = 0; k < kSide; ++k) {
    product.re[k] = re[k] * b.re[k] - im[k] * b.im[k];
    product.im[k] = re[k] * b.im[k] + im[k] * b.re[k];
  }
  return {Sum(product.re), Sum(product.im)};
}

// Σ next · conj(place) over `rows` of eight: the step from each place to the one `distance` behind it, as far
// as there is one.
Phasor StepWithin(const float* re, const float* im, std::size_t rows) {
  Phasors sums;
  for (std::size_t row = 0; row < rows; ++row, re += kSide, im += kSide) {
    for (std::size_t k = 0; k + 1 < kSide; ++k) {
      sums.re[k] += re[k + 1] * re[k] + im[k + 1] * im[k];
      sums.im[k] += im[k + 1] * re[k] - re[k + 1] * im[k];
    }
  }
  return {Sum(sums.re), Sum(sums.im)};
}

Phasor StepBetween(const float* re, const float* im) {
  Phasors sums;
  for (std::size_t row = 0; row + 1 < kSide; ++row, re += kSide, im += kSide) {
    for (std::size_t k = 0; k < kSide; ++k) {
      sums.re[k] += re[k + kSide] * re[k] + im[k + kSide] * im[k];
      sums.im[k] += im[k + kSide] * re[k] - re[k + kSide] * im[k];
    }
  }
  return {Sum(sums.re), Sum(sums.im)};
}

Phasor PlaneWave(const float* re, const float* im) {
  const Phasors subcarriers = Unwinding(StepWithin(re, im, PositioningNetwork::kAntennas));
  std::array<float, PositioningNetwork::kAntennas> antenna_re, antenna_im;
  for (std::size_t antenna = 0; antenna < antenna_re.size(); ++antenna) {
    const Phasor sum = Product(re + kSide * antenna, im + kSide * antenna, subcarriers);
    antenna_re[antenna] = sum.re;
    antenna_im[antenna] = sum.im;
  }
  const Phasors columns = Unwinding(StepWithin(antenna_re.data(), antenna_im.data(), kSide));
  const Phasors rows = Unwinding(StepBetween(antenna_re.data(), antenna_im.data()));
  Phasor reference;
  for (std::size_t row = 0; row < kSide; ++row) {
    reference.Add(Product(antenna_re.data() + kSide * row, antenna_im.data() + kSide * row, columns) *
                  rows[row]);
  }
  return reference;
}

}  // namespace

std::complex<float> PhaseReference(PhaseAlignment alignment, ConstFeatureSpan features) {
  if (alignment == PhaseAlignment::kFirstAntenna) return {features[0], features[kHalf]};
  const Phasor reference = PlaneWave(features.data(), features.data() + kHalf);
  return {reference.re, reference.im};
}

void AlignPhase(PhaseAlignment alignment, FeatureSpan features) {
  float* real = features.data();
  float* imaginary = real + kHalf;
  const std::complex<float> reference = PhaseReference(alignment, features);
  const float magnitude = std::hypot(reference.real(), reference.imag());
  if (!(magnitude > 0.0f)) return;
  const float cosine = reference.real() / magnitude;
  const float sine = -reference.imag() / magnitude;
  for (std::size_t i = 0; i < kHalf; ++i) {
    const float rotated = real[i] * cosine - imaginary[i] * sine;
    imaginary[i] = real[i] * sine + imaginary[i] * cosine;
    real[i] = rotated;
  }
  if (alignment != PhaseAlignment::kFirstAntenna) return;
  // Exactly real, so that aligning again changes nothing.
  real[0] = magnitude;
  imaginary[0] = 0.0f;
}

}  // namespace tributary::nn
