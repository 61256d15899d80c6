// Digital frequency modulations of continuous phase. Pure; any thread.
#pragma once

#include "core/radio/draws.h"
#include "core/radio/pulse_table.h"
#include "core/radio/waveform.h"

namespace tributary::radio {

// How a bit turns the phase: by ±`turn_rad` in all, along `turn`, which rises from 0 to 1.
struct FrequencyShift {
  double turn_rad;
  PulseTable turn;  // latest() is 0 or negative
};

// Modulation index 0.5, rectangular: the phase turns by π/2 in one symbol.
FrequencyShift Cpfsk();

// The Gaussian filter of bandwidth × symbol time 0.35, four symbols long, and 0.1 rad per sample at the full
// deviation of eight samples per symbol: 0.8 rad per symbol.
FrequencyShift Gfsk();

// Draws independent, equally likely bits, the first phase, and the moment within a symbol at which the
// waveform begins. Its magnitude is one.
void ModulateFrequency(const FrequencyShift& shift, double samples_per_symbol, Draws& draws,
                       Waveform& waveform);

}  // namespace tributary::radio
