// Rice and Rayleigh fading of one path as a sum of sinusoids [Alimohammad09]. Pure; any thread.
#pragma once

#include <complex>

#include "core/radio/draws.h"

namespace tributary::radio {

struct FadingOptions {
  int sinusoids = 8;      // of the scattered part
  double doppler_hz = 1;  // the largest
  double k_factor = 4;    // power of the line of sight over that of the scattered part
};

// A path's gain at the beginning and at the end of a time that is short against 1 / doppler_hz.
struct PathGain {
  std::complex<double> begin;
  std::complex<double> end;
};

// Draws a path of mean power one. Without a line of sight the path is Rayleigh, and k_factor is not used.
PathGain DrawPath(const FadingOptions& options, bool line_of_sight, double duration_s, Draws& draws);

}  // namespace tributary::radio
