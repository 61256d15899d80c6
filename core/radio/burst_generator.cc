#include "core/radio/burst_generator.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <span>
#include <utility>

#include "core/radio/draws.h"
#include "core/scene/gaussian_noise.h"
#include "core/status/macros.h"

namespace tributary::radio {
namespace {

double PowerOf(const Received& received) {
  double energy = 0;
  for (std::size_t n = 0; n < kBurstSamples; ++n) {
    energy += static_cast<double>(received.i[n]) * received.i[n] +
              static_cast<double>(received.q[n]) * received.q[n];
  }
  return energy / kBurstSamples;
}

absl::Status CheckConverter(const ConverterOptions& options) {
  if (options.bits == 0) return absl::OkStatus();
  if (options.bits < 2 || options.bits > 24) {
    return absl::InvalidArgumentError(fmt::format("bits: {}, allowed are 0 and 2 to 24", options.bits));
  }
  if (!(options.full_scale >= 0.5 && options.full_scale <= 1000)) {
    return absl::InvalidArgumentError(
        fmt::format("full_scale: {}, allowed are 0.5 to 1000", options.full_scale));
  }
  return absl::OkStatus();
}

}  // namespace

BurstOptions ReferenceDomain() { return {}; }

BurstOptions ForeignDomain() {
  BurstOptions options;
  options.transmitter.roll_off = 0.22;
  options.transmitter.least_samples_per_symbol = 7.2;
  options.transmitter.most_samples_per_symbol = 8.8;
  options.channel.max_sample_rate_offset_hz = 150;
  options.channel.max_carrier_offset_hz = 1500;
  options.channel.fading.doppler_hz = 10;
  options.channel.line_of_sight = false;
  options.channel.delays_samples = {0, 1.3, 3.1, 5.6};
  options.channel.magnitudes = {1, 0.7, 0.5, 0.2};
  options.channel.taps = 12;
  options.converter = {.bits = 12, .full_scale = 2.5};
  return options;
}

absl::StatusOr<BurstGenerator> BurstGenerator::Create(BurstOptions options, std::uint64_t seed) {
  if (options.transmitter.sample_rate_hz != options.channel.sample_rate_hz) {
    return absl::InvalidArgumentError(
        fmt::format("sample_rate_hz: {} at the transmitter, {} in the channel; both must be equal",
                    options.transmitter.sample_rate_hz, options.channel.sample_rate_hz));
  }
  RETURN_IF_ERROR(CheckConverter(options.converter));
  ASSIGN_OR_RETURN(Transmitter transmitter, Transmitter::Create(options.transmitter));
  ASSIGN_OR_RETURN(Channel channel, Channel::Create(options.channel));
  return BurstGenerator(std::move(options), seed, std::move(transmitter), std::move(channel));
}

BurstGenerator::BurstGenerator(BurstOptions options, std::uint64_t seed, Transmitter transmitter,
                               Channel channel)
    : options_(std::move(options)),
      seed_(seed),
      transmitter_(std::move(transmitter)),
      channel_(std::move(channel)) {}

void BurstGenerator::Generate(Modulation modulation, double snr_db, std::uint64_t index,
                              std::uint32_t receiver, BurstView burst) const {
  const std::uint64_t key = KeyOf(modulation, index);
  Waveform sent;
  Transmit(modulation, key, sent);
  Receive(sent, snr_db, key, receiver, burst);
}

void BurstGenerator::GenerateAll(Modulation modulation, double snr_db, std::uint64_t index,
                                 std::span<float> bursts) const {
  const std::uint64_t key = KeyOf(modulation, index);
  Waveform sent;
  Transmit(modulation, key, sent);
  for (std::uint32_t receiver = 0; (receiver + 1) * kBurstFeatures <= bursts.size(); ++receiver) {
    Receive(sent, snr_db, key, receiver, bursts.subspan(receiver * kBurstFeatures).first<kBurstFeatures>());
  }
}

std::uint64_t BurstGenerator::KeyOf(Modulation modulation, std::uint64_t index) const {
  return scene::MixBits(scene::MixBits(seed_, static_cast<std::uint64_t>(modulation)), index);
}

void BurstGenerator::Transmit(Modulation modulation, std::uint64_t key, Waveform& sent) const {
  Draws draws(key);
  transmitter_.Write(modulation, draws, sent);
}

void BurstGenerator::Receive(const Waveform& sent, double snr_db, std::uint64_t key, std::uint32_t receiver,
                             BurstView burst) const {
  // Not among the transmitter's own draws, which mix the key with small numbers.
  const std::uint64_t receiver_key = scene::MixBits(~key, receiver);
  Received received;
  channel_.Pass(sent, receiver_key, received);
  AddNoise(snr_db, receiver_key, received);
  Convert(options_.converter, received);
  std::ranges::copy(received.i, burst.begin());
  std::ranges::copy(received.q, burst.begin() + kBurstSamples);
  NormaliseBurst(burst);
}

void BurstGenerator::AddNoise(double snr_db, std::uint64_t key, Received& received) const {
  const double power = options_.snr == SnrDefinition::kTrue ? PowerOf(received) * std::pow(10, -snr_db / 10)
                                                            : std::pow(10, -snr_db / 5);
  const auto deviation = static_cast<float>(std::sqrt(power / 2));  // of each component
  std::array<float, 2 * kBurstSamples> noise;
  scene::FillGaussianNoise(~key, 1, noise);
  for (std::size_t n = 0; n < kBurstSamples; ++n) {
    received.i[n] += deviation * noise[n];
    received.q[n] += deviation * noise[kBurstSamples + n];
  }
}

}  // namespace tributary::radio
