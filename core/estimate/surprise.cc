#include "core/estimate/surprise.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace tributary::estimate {

double LogSurprise(std::span<const float> evidence, std::span<const double> log_prior,
                   std::span<const double> log_others) {
  // Three sums of exponentials: prior·likelihood is at most 1; the other two are shifted by their maxima, so
  // the largest term is 1. Single precision is enough for a ratio of them, and twice as fast.
  double most_of_others = log_others[0];
  double most_together = log_others[0] + double{evidence[0]};
  for (std::size_t c = 1; c < evidence.size(); ++c) {
    most_of_others = std::max(most_of_others, log_others[c]);
    most_together = std::max(most_together, log_others[c] + double{evidence[c]});
  }
  double alone = 0;
  double others = 0;
  double together = 0;
  for (std::size_t c = 0; c < evidence.size(); ++c) {
    alone += std::exp(static_cast<float>(log_prior[c]) + evidence[c]);
    others += std::exp(static_cast<float>(log_others[c] - most_of_others));
    together += std::exp(static_cast<float>(log_others[c] + double{evidence[c]} - most_together));
  }
  return std::log(alone * others / together) + most_of_others - most_together;
}

double LogSurpriseGate(double probability) { return -std::log1p(-probability); }

}  // namespace tributary::estimate
