// Bursts of any modulation and signal-to-noise ratio, as one or several receivers hear them. Pure.
#pragma once

#include <cstdint>
#include <span>

#include "absl/status/statusor.h"
#include "core/radio/burst.h"
#include "core/radio/channel.h"
#include "core/radio/converter.h"
#include "core/radio/modulation.h"
#include "core/radio/transmitter.h"
#include "core/radio/waveform.h"

namespace tributary::radio {

// How a signal-to-noise ratio in dB sets the power of the noise.
enum class SnrDefinition : std::uint8_t {
  // Per complex sample: the burst's power after the channel, measured, over the noise's.
  kTrue,
  // RadioML 2016.10a's label: the noise has the amplitude 10^(-snr/10), so the power 10^(-snr/5), against a
  // transmitter of power one. The channel's gain and the loudness of speech stay in: the label says less
  // about a burst than the true ratio, and its decibels count twice.
  kLabel,
};

struct BurstOptions {
  SnrDefinition snr = SnrDefinition::kTrue;
  TransmitterOptions transmitter;
  ChannelOptions channel;
  ConverterOptions converter;
};

// RadioML 2016.10a's generation rules [OShea16], with a new channel for every burst.
BurstOptions ReferenceDomain();

// Another radio and another place than ReferenceDomain: roll-off 0.22, 7.2 to 8.8 samples per symbol, four
// Rayleigh paths over 5.6 samples at 10 Hz Doppler, offsets up to 150 Hz and 1500 Hz, a 12-bit converter that
// clips at 2.5 times the root mean square. For tests of what was trained on ReferenceDomain.
BurstOptions ForeignDomain();

// A burst depends on the options, the seed and (modulation, index, receiver) alone, in any order. Another
// signal-to-noise ratio changes only how strong the noise is. Any thread.
class BurstGenerator {
 public:
  // InvalidArgument, "OPTION: what is allowed".
  static absl::StatusOr<BurstGenerator> Create(BurstOptions options, std::uint64_t seed);

  // Writes the burst as receiver 0, 1, … hears it, normalised. Receivers share the transmitted waveform;
  // channels and noise are independent. `snr_db` is finite.
  void Generate(Modulation modulation, double snr_db, std::uint64_t index, std::uint32_t receiver,
                BurstView burst) const;

  // The same for receivers 0 to n - 1 at once: `bursts` has n × kBurstFeatures numbers.
  void GenerateAll(Modulation modulation, double snr_db, std::uint64_t index, std::span<float> bursts) const;

 private:
  BurstGenerator(BurstOptions options, std::uint64_t seed, Transmitter transmitter, Channel channel);

  std::uint64_t KeyOf(Modulation modulation, std::uint64_t index) const;
  void Transmit(Modulation modulation, std::uint64_t key, Waveform& sent) const;
  void Receive(const Waveform& sent, double snr_db, std::uint64_t key, std::uint32_t receiver,
               BurstView burst) const;
  void AddNoise(double snr_db, std::uint64_t key, Received& received) const;

  BurstOptions options_;
  std::uint64_t seed_;
  Transmitter transmitter_;
  Channel channel_;
};

}  // namespace tributary::radio
