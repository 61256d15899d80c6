// Linear modulations: symbols of a constellation, shaped by a root raised cosine. Pure; any thread.
#pragma once

#include <complex>
#include <vector>

#include "absl/status/statusor.h"
#include "core/radio/draws.h"
#include "core/radio/modulation.h"
#include "core/radio/pulse_table.h"
#include "core/radio/waveform.h"

namespace tributary::radio {

// The constellation's points, of mean power one, as liquid-dsp maps them. `modulation` is one of BPSK, QPSK,
// 8PSK, PAM4, QAM16 and QAM64; empty for the others.
std::vector<std::complex<float>> ConstellationOf(Modulation modulation);

// The pulse of energy one per symbol, cut to the twelve symbols around it, so that a waveform's mean power is
// that of its constellation. 0 < roll_off ≤ 1.
PulseTable RootRaisedCosine(double roll_off);

// Draws independent, equally likely symbols and the moment within a symbol at which the waveform begins.
void ModulateSymbols(const std::vector<std::complex<float>>& constellation, const PulseTable& pulse,
                     double samples_per_symbol, Draws& draws, Waveform& waveform);

}  // namespace tributary::radio
