#include "core/radio/transmitter.h"

#include <fmt/format.h>

#include <cstddef>

#include "core/radio/analogue_modulator.h"
#include "core/radio/symbol_clock.h"
#include "core/radio/symbol_modulator.h"
#include "core/status/macros.h"

namespace tributary::radio {
namespace {

constexpr double kMostSamplesPerSymbol = 64;

// False for NaN, too.
bool Within(double value, double least, double most) { return value >= least && value <= most; }

absl::Status CheckTransmitter(const TransmitterOptions& options) {
  if (!Within(options.sample_rate_hz, 160e3, 1e9)) {
    return absl::InvalidArgumentError(
        fmt::format("sample_rate_hz: {}, allowed are 160 kHz (broadcast FM's bandwidth) to 1 GHz",
                    options.sample_rate_hz));
  }
  if (!Within(options.roll_off, 0.05, 1)) {
    return absl::InvalidArgumentError(fmt::format("roll_off: {}, allowed are 0.05 to 1", options.roll_off));
  }
  if (!Within(options.least_samples_per_symbol, kLeastSamplesPerSymbol, kMostSamplesPerSymbol) ||
      !Within(options.most_samples_per_symbol, options.least_samples_per_symbol, kMostSamplesPerSymbol)) {
    return absl::InvalidArgumentError(
        fmt::format("samples_per_symbol: {} to {}, allowed are {} to {}", options.least_samples_per_symbol,
                    options.most_samples_per_symbol, kLeastSamplesPerSymbol, kMostSamplesPerSymbol));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Transmitter> Transmitter::Create(const TransmitterOptions& options) {
  RETURN_IF_ERROR(CheckTransmitter(options));
  return Transmitter(options);
}

Transmitter::Transmitter(const TransmitterOptions& options)
    : options_(options), pulse_(RootRaisedCosine(options.roll_off)) {
  for (std::size_t m = 0; m < kModulations.size(); ++m) {
    constellations_[m] = ConstellationOf(static_cast<Modulation>(m));
  }
}

void Transmitter::Write(Modulation modulation, Draws& draws, Waveform& waveform) const {
  const double samples_per_symbol =
      draws.Between(options_.least_samples_per_symbol, options_.most_samples_per_symbol);
  switch (modulation) {
    case Modulation::kCpfsk:
      return ModulateFrequency(cpfsk_, samples_per_symbol, draws, waveform);
    case Modulation::kGfsk:
      return ModulateFrequency(gfsk_, samples_per_symbol, draws, waveform);
    case Modulation::kAmSsb:
      return ModulateSingleSideBand(options_.sample_rate_hz, draws, waveform);
    case Modulation::kWbfm:
      return ModulateWideBandFm(options_.sample_rate_hz, draws, waveform);
    default:
      return ModulateSymbols(constellations_[static_cast<std::size_t>(modulation)], pulse_,
                             samples_per_symbol, draws, waveform);
  }
}

}  // namespace tributary::radio
