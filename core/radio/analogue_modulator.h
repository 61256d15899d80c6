// The analogue modulations of speech. Pure; any thread.
#pragma once

#include "core/radio/draws.h"
#include "core/radio/waveform.h"

namespace tributary::radio {

// AM-SSB: the upper side band without a carrier, by the Hilbert transform. Its power is one over many
// bursts: a loud sound has more, a pause 40 dB less.
void ModulateSingleSideBand(double sample_rate_hz, Draws& draws, Waveform& waveform);

// WBFM as in broadcasting: pre-emphasis of 75 µs, a limiter, a deviation of 75 kHz at the limit. Speech of
// power one has a fifth of the limit before the pre-emphasis. Its magnitude is one.
void ModulateWideBandFm(double sample_rate_hz, Draws& draws, Waveform& waveform);

}  // namespace tributary::radio
