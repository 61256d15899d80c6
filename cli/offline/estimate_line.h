// One estimate as a line of JSON, as `tributary conflate` reads it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace tributary::cli {

// A Gaussian estimate has mean and scale_tril, a categorical one log_probabilities; the others are empty.
struct EstimateLine {
  std::string site;
  std::uint64_t epoch = 0;
  std::uint32_t subject = 0;
  std::string source;

  std::vector<double> mean;        // [d], m; d is 1, 2 or 3
  std::vector<double> scale_tril;  // [d(d+1)/2], m: rows of the lower Cholesky factor

  std::vector<double> log_probabilities;  // [c], natural logarithms; c is 2 to 256
  std::vector<std::string> classes;       // [c], or empty: the line does not name them

  bool categorical() const { return !log_probabilities.empty(); }
};

// InvalidArgument: not a JSON object, or a field that is missing, of the wrong type, of the wrong length, not
// finite, not positive on the diagonal or not normalised; the message names it, and what is allowed. Other
// fields are ignored.
absl::StatusOr<EstimateLine> ParseEstimateLine(std::string_view text);

}  // namespace tributary::cli
