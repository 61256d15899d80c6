// What lies between a transmitter and one receiver: its clock, its oscillator, the paths. Pure; any thread.
#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include "absl/status/statusor.h"
#include "core/radio/draws.h"
#include "core/radio/fading.h"
#include "core/radio/waveform.h"

namespace tributary::radio {

// The defaults are those of RadioML 2016.10a [OShea16].
struct ChannelOptions {
  double sample_rate_hz = 200e3;
  double max_sample_rate_offset_hz = 50;
  double max_carrier_offset_hz = 500;
  double offset_step_hz = 0.01;  // standard deviation of both offsets' steps from sample to sample
  FadingOptions fading;
  bool line_of_sight = true;  // of the first path
  std::vector<double> delays_samples = {0, 0.9, 1.7};
  std::vector<double> magnitudes = {1, 0.8, 0.3};
  std::size_t taps = 8;
};

using Received = Signal<kBurstSamples>;

// Draws a channel for every burst. Each offset is a random walk between its limits, met in its stationary
// state: it starts uniformly between them. The receiver's sampling moment is uniform within a sample.
class Channel {
 public:
  static constexpr std::size_t kMaxTaps = 16;

  // InvalidArgument, "OPTION: what is allowed".
  static absl::StatusOr<Channel> Create(ChannelOptions options);

  // Resamples, turns by the carrier offset, fades. `key` also seeds the walks.
  void Pass(const Waveform& sent, std::uint64_t key, Received& received) const;

 private:
  // What enters the paths: the burst, and the samples before it that their delays reach back to.
  static constexpr std::size_t kMemory = kMaxTaps - 1;
  using Sampled = Signal<kMemory + kBurstSamples>;
  using Walk = std::array<float, Sampled::size()>;

  explicit Channel(ChannelOptions options);

  static void DrawWalk(double limit, double step, Draws& draws, Walk& walk);
  void Sample(const Waveform& sent, const Walk& rate_offset_hz, double moment, Sampled& sampled) const;
  void TurnCarrier(const Walk& carrier_offset_hz, Sampled& sampled) const;
  void Fade(const Sampled& sampled, Draws& draws, Received& received) const;

  ChannelOptions options_;
  std::vector<std::array<double, kMaxTaps>> path_taps_;  // one row per path: its delay as a filter
};

}  // namespace tributary::radio
