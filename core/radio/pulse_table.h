// A symbol's pulse, tabulated. Pure; any thread once it is made.
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <vector>

namespace tributary::radio {

// Weights of the symbols around a moment. The table has kSteps moments per symbol. Between two of them it is
// linear: for pulses that are as smooth as a root raised cosine the error is below 2e-5 of the peak.
class PulseTable {
 public:
  static constexpr std::size_t kSteps = 256;
  static constexpr std::size_t kMaxSymbols = 12;

  // `pulse(t)`: the value t symbols after the symbol's own moment. The symbols that matter are those from
  // `latest` symbols after the present one (negative: only earlier ones) back to `latest` - `symbols` + 1.
  // symbols ≤ kMaxSymbols.
  PulseTable(const std::function<double(double)>& pulse, int latest, std::size_t symbols);

  std::size_t symbols() const { return symbols_; }
  int latest() const { return latest_; }

  using Weights = std::array<float, kMaxSymbols>;
  // For a moment that is `fraction` in [0, 1) of a symbol after the present symbol: weight k belongs to the
  // symbol `latest` - k after the present one. Weights from symbols() on are 0.
  void At(double fraction, Weights& weights) const;

 private:
  int latest_;
  std::size_t symbols_;
  std::vector<Weights> rows_;  // kSteps + 1
};

}  // namespace tributary::radio
