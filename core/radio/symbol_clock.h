// The symbols' clock as samples pass. Pure.
#pragma once

#include <cstddef>

#include "core/radio/draws.h"
#include "core/radio/pulse_table.h"
#include "core/radio/waveform.h"

namespace tributary::radio {

// A symbol has at least this many samples; SymbolModulator's buffers rely on it.
inline constexpr double kLeastSamplesPerSymbol = 4;

// Symbols that have a weight in a waveform.
inline constexpr std::size_t kMaxWaveformSymbols =
    static_cast<std::size_t>(Waveform::size() / kLeastSamplesPerSymbol) + 2 + PulseTable::kMaxSymbols;

// Begins at a random moment of symbol 0.
class SymbolClock {
 public:
  SymbolClock(double samples_per_symbol, Draws& draws)
      : step_(1 / samples_per_symbol), fraction_(draws.Uniform()) {}

  void Advance() {
    fraction_ += step_;
    if (fraction_ < 1) return;
    fraction_ -= 1;
    ++symbol_;
  }

  std::size_t symbol() const { return symbol_; }
  double fraction() const { return fraction_; }  // of a symbol, in [0, 1)

 private:
  double step_;
  double fraction_;
  std::size_t symbol_ = 0;
};

}  // namespace tributary::radio
