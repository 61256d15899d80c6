// From a modulation to a waveform. Pure; any thread.
#pragma once

#include <array>
#include <complex>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/radio/draws.h"
#include "core/radio/frequency_modulator.h"
#include "core/radio/modulation.h"
#include "core/radio/pulse_table.h"
#include "core/radio/waveform.h"

namespace tributary::radio {

struct TransmitterOptions {
  double sample_rate_hz = 200e3;
  double roll_off = 0.35;               // of the linear modulations
  double least_samples_per_symbol = 8;  // uniform between these two, drawn per burst
  double most_samples_per_symbol = 8;
};

// Symbols are independent and equally likely, as the bits of a text are after whitening with a random block
// that is longer than a burst. Every burst has its own moment within a symbol, and its own phase: that of the
// channel for the linear modulations and AM-SSB.
class Transmitter {
 public:
  // InvalidArgument, "OPTION: what is allowed".
  static absl::StatusOr<Transmitter> Create(const TransmitterOptions& options);

  // Mean power one over many bursts.
  void Write(Modulation modulation, Draws& draws, Waveform& waveform) const;

 private:
  explicit Transmitter(const TransmitterOptions& options);

  TransmitterOptions options_;
  PulseTable pulse_;
  FrequencyShift cpfsk_ = Cpfsk();
  FrequencyShift gfsk_ = Gfsk();
  std::array<std::vector<std::complex<float>>, kModulations.size()> constellations_;
};

}  // namespace tributary::radio
