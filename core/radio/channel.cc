#include "core/radio/channel.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <numbers>
#include <utility>

#include "core/radio/resampler.h"
#include "core/scene/gaussian_noise.h"
#include "core/status/macros.h"

namespace tributary::radio {
namespace {

// Beyond this a path's gain bends within a burst: halfway a straight line is 46 dB off.
constexpr double kMostTurnsPerBurst = 0.032;
constexpr double kMostRateOffset = 0.01;  // of the sample rate: a sample or so per burst
constexpr double kMostCarrierOffset = 0.1;
constexpr std::size_t kMostPaths = 16;

absl::Status CheckPaths(const ChannelOptions& options) {
  if (options.taps < 1 || options.taps > Channel::kMaxTaps) {
    return absl::InvalidArgumentError(
        fmt::format("taps: {}, allowed are 1 to {}", options.taps, Channel::kMaxTaps));
  }
  if (options.delays_samples.empty() || options.delays_samples.size() > kMostPaths ||
      options.delays_samples.size() != options.magnitudes.size()) {
    return absl::InvalidArgumentError(
        fmt::format("delays_samples: {} and {} magnitudes, allowed are 1 to {} of each",
                    options.delays_samples.size(), options.magnitudes.size(), kMostPaths));
  }
  for (const double delay : options.delays_samples) {
    if (!(delay >= 0 && delay <= static_cast<double>(options.taps - 1))) {
      return absl::InvalidArgumentError(fmt::format("delays_samples: {}, allowed are 0 to {} with {} taps",
                                                    delay, options.taps - 1, options.taps));
    }
  }
  double power = 0;
  for (const double magnitude : options.magnitudes) power += magnitude * magnitude;
  if (!std::isfinite(power) || power == 0) {
    return absl::InvalidArgumentError("magnitudes: allowed are finite numbers, not all 0");
  }
  return absl::OkStatus();
}

absl::Status CheckChannel(const ChannelOptions& options) {
  const auto within = [&](const char* name, double value, double most) {
    if (value >= 0 && value <= most) return absl::OkStatus();
    return absl::Status(
        absl::InvalidArgumentError(fmt::format("{}: {}, allowed are 0 to {}", name, value, most)));
  };
  if (!(options.sample_rate_hz > 0) || !std::isfinite(options.sample_rate_hz)) {
    return absl::InvalidArgumentError(fmt::format("sample_rate_hz: {}", options.sample_rate_hz));
  }
  const double rate = options.sample_rate_hz;
  RETURN_IF_ERROR(
      within("max_sample_rate_offset_hz", options.max_sample_rate_offset_hz, kMostRateOffset * rate));
  RETURN_IF_ERROR(within("max_carrier_offset_hz", options.max_carrier_offset_hz, kMostCarrierOffset * rate));
  RETURN_IF_ERROR(within("offset_step_hz", options.offset_step_hz, rate));
  RETURN_IF_ERROR(within("doppler_hz", options.fading.doppler_hz, kMostTurnsPerBurst * rate / kBurstSamples));
  RETURN_IF_ERROR(within("k_factor", options.fading.k_factor, 1e6));
  if (options.fading.sinusoids < 1 || options.fading.sinusoids > 64) {
    return absl::InvalidArgumentError(
        fmt::format("sinusoids: {}, allowed are 1 to 64", options.fading.sinusoids));
  }
  return CheckPaths(options);
}

}  // namespace

absl::StatusOr<Channel> Channel::Create(ChannelOptions options) {
  RETURN_IF_ERROR(CheckChannel(options));
  return Channel(std::move(options));
}

Channel::Channel(ChannelOptions options)
    : options_(std::move(options)), path_taps_(options_.delays_samples.size()) {
  for (std::size_t path = 0; path < path_taps_.size(); ++path) {
    path_taps_[path].fill(0);
    for (std::size_t k = 0; k < options_.taps; ++k) {
      path_taps_[path][k] =
          options_.magnitudes[path] * Sinc(static_cast<double>(k) - options_.delays_samples[path]);
    }
  }
}

void Channel::Pass(const Waveform& sent, std::uint64_t key, Received& received) const {
  Draws draws(key);
  Walk rate_offset_hz;
  Walk carrier_offset_hz;
  DrawWalk(options_.max_sample_rate_offset_hz, options_.offset_step_hz, draws, rate_offset_hz);
  DrawWalk(options_.max_carrier_offset_hz, options_.offset_step_hz, draws, carrier_offset_hz);
  Sampled sampled;
  Sample(sent, rate_offset_hz, draws.Uniform(), sampled);
  TurnCarrier(carrier_offset_hz, sampled);
  Fade(sampled, draws, received);
}

void Channel::DrawWalk(double limit, double step, Draws& draws, Walk& walk) {
  scene::FillGaussianNoise(draws.Bits(), 0, walk);
  double offset = draws.Between(-limit, limit);
  for (float& place : walk) {
    offset = std::clamp(offset + step * place, -limit, limit);
    place = static_cast<float>(offset);
  }
}

void Channel::Sample(const Waveform& sent, const Walk& rate_offset_hz, double moment,
                     Sampled& sampled) const {
  static_assert(kLeadSamples >= kMemory + Resampler::kBefore + 2);
  static_assert(kTailSamples >= Resampler::kAfter + 3);
  const Resampler& resampler = Resampler::Get();
  // kMostRateOffset moves the last place by less than two samples.
  double place = static_cast<double>(kLeadSamples - kMemory) + moment;
  for (std::size_t n = 0; n < Sampled::size(); ++n) {
    const auto whole = static_cast<std::size_t>(place);
    const Resampler::Taps& taps = resampler.At(place - static_cast<double>(whole));
    const std::size_t first = whole - Resampler::kBefore;
    float sum_i = 0;
    float sum_q = 0;
    for (std::size_t k = 0; k < Resampler::kTaps; ++k) {
      sum_i += taps[k] * sent.i[first + k];
      sum_q += taps[k] * sent.q[first + k];
    }
    sampled.i[n] = sum_i;
    sampled.q[n] = sum_q;
    place += 1 + rate_offset_hz[n] / options_.sample_rate_hz;
  }
}

void Channel::TurnCarrier(const Walk& carrier_offset_hz, Sampled& sampled) const {
  const double radians_per_hz = 2 * std::numbers::pi / options_.sample_rate_hz;
  double phase = 0;
  for (std::size_t n = 0; n < Sampled::size(); ++n) {
    phase += radians_per_hz * carrier_offset_hz[n];
    const float cosine = std::cos(static_cast<float>(phase));
    const float sine = std::sin(static_cast<float>(phase));
    const float i = sampled.i[n];
    sampled.i[n] = i * cosine - sampled.q[n] * sine;
    sampled.q[n] = i * sine + sampled.q[n] * cosine;
  }
}

void Channel::Fade(const Sampled& sampled, Draws& draws, Received& received) const {
  const double duration_s = kBurstSamples / options_.sample_rate_hz;
  std::array<std::complex<double>, kMaxTaps> begin{};
  std::array<std::complex<double>, kMaxTaps> end{};
  for (std::size_t path = 0; path < path_taps_.size(); ++path) {
    const PathGain gain = DrawPath(options_.fading, options_.line_of_sight && path == 0, duration_s, draws);
    for (std::size_t k = 0; k < options_.taps; ++k) {
      begin[k] += gain.begin * path_taps_[path][k];
      end[k] += gain.end * path_taps_[path][k];
    }
  }
  // y[n] = Σ begin[k] x[n - k] + (n / 128) Σ (end - begin)[k] x[n - k].
  received.i.fill(0);
  received.q.fill(0);
  Received change{};
  for (std::size_t k = 0; k < options_.taps; ++k) {
    const std::complex<float> tap(begin[k]);
    const std::complex<float> slope(end[k] - begin[k]);
    const float* i = sampled.i.data() + kMemory - k;
    const float* q = sampled.q.data() + kMemory - k;
    for (std::size_t n = 0; n < kBurstSamples; ++n) {
      received.i[n] += tap.real() * i[n] - tap.imag() * q[n];
      received.q[n] += tap.real() * q[n] + tap.imag() * i[n];
      change.i[n] += slope.real() * i[n] - slope.imag() * q[n];
      change.q[n] += slope.real() * q[n] + slope.imag() * i[n];
    }
  }
  for (std::size_t n = 0; n < kBurstSamples; ++n) {
    const float part = static_cast<float>(n) / kBurstSamples;
    received.i[n] += part * change.i[n];
    received.q[n] += part * change.q[n];
  }
}

}  // namespace tributary::radio
