#include "core/radio/pulse_table.h"

namespace tributary::radio {

PulseTable::PulseTable(const std::function<double(double)>& pulse, int latest, std::size_t symbols)
    : latest_(latest), symbols_(symbols), rows_(kSteps + 1) {
  for (std::size_t step = 0; step <= kSteps; ++step) {
    const double fraction = static_cast<double>(step) / kSteps;
    rows_[step] = {};
    for (std::size_t k = 0; k < symbols; ++k) {
      rows_[step][k] = static_cast<float>(pulse(fraction - latest + static_cast<double>(k)));
    }
  }
}

void PulseTable::At(double fraction, Weights& weights) const {
  const double place = fraction * kSteps;
  const auto row = static_cast<std::size_t>(place);
  const auto part = static_cast<float>(place - static_cast<double>(row));
  const Weights& before = rows_[row];
  const Weights& after = rows_[row + 1];
  for (std::size_t k = 0; k < kMaxSymbols; ++k) weights[k] = before[k] + part * (after[k] - before[k]);
}

}  // namespace tributary::radio
